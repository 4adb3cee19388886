package token

import (
	"bytes"
	"encoding/json"
)

// Unverified is what a token says of itself. Anybody can write such a text: nothing
// in it may be relied upon.
type Unverified struct {
	Header json.RawMessage // as it stands in the token
	Body   json.RawMessage // as it stands in the token
	Claims Claims          // what is read of the body
}

// Decode reads a JSON Web Token without verifying it: for people who want to see
// what is in one. It obeys the limits and the form that Verify demands.
func Decode(text string) (Unverified, error) {
	if len(text) > 8<<10 {
		return Unverified{}, errTooLarge
	}
	head, body, _, err := split(text)
	if err != nil {
		return Unverified{}, err
	}
	var u Unverified
	if u.Header, err = decode(head); err != nil {
		return Unverified{}, err
	}
	if u.Body, err = decode(body); err != nil {
		return Unverified{}, err
	}
	h, err := parseHeader(u.Header)
	if err != nil {
		return Unverified{}, err
	}
	if u.Claims, err = parseClaims(u.Body); err != nil {
		return Unverified{}, err
	}
	u.Claims.Alg, u.Claims.KeyID = Alg(h.alg), h.kid
	u.Header, u.Body = bytes.TrimSpace(u.Header), bytes.TrimSpace(u.Body)
	return u, nil
}
