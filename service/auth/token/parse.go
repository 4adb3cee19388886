package token

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A header is what is read of a token's header.
type header struct {
	alg, kid string
	named    bool // there is a kid
}

// parseHeader reads a header. Only alg, kid and typ may be in it: a header that says
// where its key is found (jwk, jku, x5u, x5c), or that something must be understood
// (crit), is not one of ours.
func parseHeader(data []byte) (h header, err error) {
	err = members(data, func(name string, d *jsontext.Decoder) error {
		value, err := text(d)
		switch name {
		case "alg":
			h.alg = value
		case "kid":
			h.kid, h.named = value, true
		case "typ":
			if !strings.EqualFold(value, "JWT") { // RFC 7519, section 5.1: case is a recommendation
				err = errHeader
			}
		default:
			err = errHeader
		}
		return err
	})
	if err != nil || h.alg == "" {
		return header{}, errHeader
	}
	return h, nil
}

// members reads an object and nothing beside it. Package jsontext refuses members
// of the same name, in this object and in all within it, and text that is not UTF-8.
func members(data []byte, each func(name string, d *jsontext.Decoder) error) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return errHeader
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := each(name.String(), d); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errHeader
	}
	return nil
}

func text(d *jsontext.Decoder) (string, error) {
	t, err := d.ReadToken()
	if err != nil || t.Kind() != '"' {
		return "", errHeader
	}
	return t.String(), nil
}

// payload are the claims that are read; others are passed over. Names are compared
// with their case.
type payload struct {
	Subject   string      `json:"sub"`
	Expires   numericDate `json:"exp"`
	JID       string      `json:"jid"`
	JTI       string      `json:"jti"`
	Roles     []string    `json:"roles"`
	IssuedAt  numericDate `json:"iat"`
	NotBefore numericDate `json:"nbf"`
	Issuer    string      `json:"iss"`
	Audience  audience    `json:"aud"`
}

func parseClaims(data []byte) (Claims, error) {
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return Claims{}, errClaims
	}
	id := p.JTI
	if id == "" {
		id = p.JID
	}
	// What has two names must be the same thing, and what cannot be revoked or never
	// ends is none of ours.
	if p.Subject == "" || p.Expires == 0 || id == "" || p.JID != "" && p.JID != id {
		return Claims{}, errClaims
	}
	return Claims{
		ID: id, Subject: p.Subject, Roles: p.Roles, Issuer: p.Issuer, Audience: p.Audience,
		IssuedAt: p.IssuedAt.time(), NotBefore: p.NotBefore.time(), Expires: p.Expires.time(),
	}, nil
}

// A numericDate is a time in seconds since 1970, 0 if there is none. A fraction may
// be there (RFC 7519, section 2) and is cut off.
type numericDate int64

// maxDate is the end of the year 9999, beyond which a time.Time cannot be written.
const maxDate = 253402300799

var errDate = errors.New("not a time")

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (n *numericDate) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	// A sign or an exponent leaves no digits before it, or none that parse.
	whole, fraction, _ := bytes.Cut(value, []byte("."))
	seconds, err := strconv.ParseUint(string(whole), 10, 63)
	if err != nil || seconds == 0 || seconds > maxDate || bytes.ContainsAny(fraction, "eE") {
		return errDate
	}
	*n = numericDate(seconds) //nolint:gosec // bounded above
	return nil
}

func (n numericDate) time() time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
}

// An audience is one string or several (RFC 7519, section 4.1.3).
type audience []string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (a *audience) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '[' {
		return json.UnmarshalDecode(d, (*[]string)(a))
	}
	var one string
	if err := json.UnmarshalDecode(d, &one); err != nil {
		return err
	}
	*a = audience{one}
	return nil
}
