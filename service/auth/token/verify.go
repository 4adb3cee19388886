package token

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"
)

var encoding = base64.RawURLEncoding.Strict()

// Errors without anything of the token in them, made once.
var (
	errTooLarge = &Error{TooLarge, "longer than the limit"}
	errParts    = &Error{Malformed, "not three parts with dots between them"}
	errBase64   = &Error{Malformed, "a part is not base64url"}
	errHeader   = &Error{Malformed, "a header that no token of ours has"}
	errNoKey    = &Error{UnknownKey, "a key that is not there"}
	errKeyOver  = &Error{UnknownKey, "a retired key whose time is over"}
	errAlg      = &Error{BadSignature, "another algorithm than its key's"}
	errSum      = &Error{BadSignature, "the signature is not that of the text"}
	errClaims   = &Error{Malformed, "claims that no token of ours has"}
	errExpired  = &Error{Expired, "exp is over"}
	errTooEarly = &Error{NotYetValid, "nbf or iat has not come"}
	errIssuer   = &Error{WrongIssuer, "another iss"}
	errAudience = &Error{WrongAudience, "another aud"}
	errRevoked  = &Error{Revoked, "taken back"}
)

// Verify returns what a token says, if it is one of the issuer's and its time is
// now. An error is an [*Error].
func (i *Issuer) Verify(text string) (Claims, error) {
	if len(text) > i.config.MaxSize {
		return Claims{}, errTooLarge
	}
	if strings.HasPrefix(text, apiPrefix) {
		return i.verifyAPI(text)
	}
	head, payload, sum, err := split(text)
	if err != nil {
		return Claims{}, err
	}
	key, err := i.keyOf(head)
	if err != nil {
		return Claims{}, err
	}
	signature, err := decode(sum)
	if err != nil {
		return Claims{}, err
	}
	// The signature comes before all else: what it does not cover is not parsed.
	if key.method.Verify(text[:len(head)+1+len(payload)], signature, key.verify) != nil {
		return Claims{}, errSum
	}
	data, err := decode(payload)
	if err != nil {
		return Claims{}, err
	}
	c, err := parseClaims(data)
	if err != nil {
		return Claims{}, err
	}
	c.KeyID, c.Alg = key.ID, key.Alg
	if err := i.check(&c, key == i.legacy); err != nil {
		return Claims{}, err
	}
	return c, nil
}

func split(text string) (head, payload, sum string, err error) {
	head, rest, ok1 := strings.Cut(text, ".")
	payload, sum, ok2 := strings.Cut(rest, ".")
	if !ok1 || !ok2 || head == "" || payload == "" || sum == "" || strings.Contains(sum, ".") {
		return "", "", "", errParts
	}
	return head, payload, sum, nil
}

// decode decodes a part. Package base64 skips line ends, which would make several
// texts of one token: so the length is looked at.
func decode(part string) ([]byte, error) {
	data, err := encoding.DecodeString(part)
	if err != nil || len(data) != encoding.DecodedLen(len(part)) {
		return nil, errBase64
	}
	return data, nil
}

// keyOf finds the key that a header names. Ours have one text a key; others are
// read, and must name the same algorithm as the key was made for: what a token
// says of its algorithm decides nothing.
func (i *Issuer) keyOf(head string) (*Key, error) {
	if i.legacy != nil && head == i.legacy.header {
		return i.legacy, nil
	}
	if i.config.Keys != nil {
		if key := i.config.Keys.current(i.config.Logger).byHeader[head]; key != nil {
			return key, i.alive(key)
		}
	}
	data, err := decode(head)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	key := i.find(h)
	switch {
	case key == nil:
		return nil, errNoKey
	case string(key.Alg) != h.alg:
		return nil, errAlg
	}
	return key, i.alive(key)
}

func (i *Issuer) find(h header) *Key {
	if !h.named {
		return i.legacy
	}
	if i.config.Keys == nil {
		return nil
	}
	key := i.config.Keys.set.Load().byID[h.kid]
	if key == nil && i.config.Keys.watch != nil && i.config.Keys.watch.Differs() {
		// Another process may just have rotated, and signed this one.
		i.config.Keys.reload(i.config.Logger)
		key = i.config.Keys.set.Load().byID[h.kid]
	}
	return key
}

func (i *Issuer) alive(key *Key) error {
	if key.State == Retired && i.config.Now().After(key.Until.Add(i.config.Leeway)) {
		return errKeyOver
	}
	return nil
}

// check compares claims with the clock, the configuration and the revocations.
func (i *Issuer) check(c *Claims, legacy bool) error {
	now := i.config.Now()
	switch early := now.Add(i.config.Leeway); {
	case !now.Add(-i.config.Leeway).Before(c.Expires): // RFC 7519, section 4.1.4: on or after
		return errExpired
	case early.Before(c.NotBefore), early.Before(c.IssuedAt):
		return errTooEarly
	}
	if want := i.config.Issuer; want != "" && c.Issuer != want && (!legacy || c.Issuer != "") {
		return errIssuer
	}
	if want := i.config.Audience; want != "" && !slices.Contains(c.Audience, want) && (!legacy || c.Audience != nil) {
		return errAudience
	}
	if i.config.Register.revoked(c.ID) {
		return errRevoked
	}
	return nil
}

// Revoke takes a token back that Verify or Decode has shown. It is remembered until
// the token's time is over.
func (i *Issuer) Revoke(c Claims) error { return i.RevokeID(c.ID, c.Expires) }

// RevokeID takes back the token with an id. If expires is zero, which is right if
// it is not known, it is remembered for as long as any token may live.
func (i *Issuer) RevokeID(id string, expires time.Time) error {
	now := i.config.Now()
	if expires.IsZero() {
		expires = now.Add(i.config.MaxTTL)
	}
	return i.config.Register.revoke(id, expires.Add(i.config.Leeway), now)
}
