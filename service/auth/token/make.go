package token

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Claims are what a token says.
type Claims struct {
	ID        string // jti, and jid as the published services called it
	Subject   string // the user's name
	Roles     []string
	Issuer    string
	Audience  []string
	IssuedAt  time.Time // zero: it does not say
	NotBefore time.Time // zero: it does not say
	Expires   time.Time
	KeyID     string // "" in a legacy token, and in an API token
	Alg       Alg    // "" in an API token
	API       bool   // an opaque token, whose claims are in the register
	Name      string // of an API token
}

// A Spec says what token is wanted.
type Spec struct {
	Subject string
	Roles   []string
	TTL     time.Duration // 0: the issuer's
}

// wireClaims are the claims as a token carries them. Those of the published
// services come first; the others follow if there are keys.
type wireClaims struct {
	Subject   string   `json:"sub"`
	Expires   int64    `json:"exp"`
	JID       string   `json:"jid"`
	Roles     []string `json:"roles"`
	JTI       string   `json:"jti,omitempty"`
	IssuedAt  int64    `json:"iat,omitempty"`
	NotBefore int64    `json:"nbf,omitempty"`
	Issuer    string   `json:"iss,omitempty"`
	Audience  string   `json:"aud,omitempty"`
}

// Issue makes a token for a user who has logged in.
func (i *Issuer) Issue(subject string, roles []string) (string, Claims, error) {
	return i.Make(Spec{Subject: subject, Roles: roles})
}

// Make makes a token, which may live longer than those of a login.
func (i *Issuer) Make(s Spec) (string, Claims, error) {
	ttl := s.TTL
	if ttl == 0 {
		ttl = i.config.TTL
	}
	if ttl < time.Second || ttl > i.config.MaxTTL {
		return "", Claims{}, fmt.Errorf("%w: it is to be valid for %v, and must be so for 1s to %v", ErrInvalid, ttl, i.config.MaxTTL)
	}
	if s.Subject == "" || !utf8.ValidString(s.Subject) {
		return "", Claims{}, fmt.Errorf("%w: the user's name is empty or not UTF-8", ErrInvalid)
	}
	key := i.signer()
	now := i.config.Now().UTC().Truncate(time.Second)
	id := uuid.NewString()
	c := Claims{ID: id, Subject: s.Subject, Roles: s.Roles, Expires: now.Add(ttl), KeyID: key.ID, Alg: key.Alg}
	w := wireClaims{Subject: s.Subject, Expires: c.Expires.Unix(), JID: id, Roles: s.Roles}
	if w.Roles == nil {
		w.Roles = []string{} // an array, as readers of the published services expect
	}
	if key != i.legacy {
		c.IssuedAt, c.NotBefore, c.Issuer = now, now, i.config.Issuer
		w.JTI, w.IssuedAt, w.NotBefore, w.Issuer, w.Audience = id, now.Unix(), now.Unix(), i.config.Issuer, i.config.Audience
		if w.Audience != "" {
			c.Audience = []string{w.Audience}
		}
		if ttl > i.config.TTL {
			if err := i.config.Keys.outlive(key.ID, c.Expires); err != nil {
				return "", Claims{}, err
			}
		}
	}
	text, err := key.signed(w)
	if err == nil && len(text) > i.config.MaxSize {
		err = fmt.Errorf("%w: it would have %d bytes, and may have %d", ErrInvalid, len(text), i.config.MaxSize)
	}
	if err != nil {
		return "", Claims{}, err
	}
	return text, c, nil
}

func (k *Key) signed(w wireClaims) (string, error) {
	payload, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	text := k.header + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum, err := k.method.Sign(text, k.sign)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sum), nil
}
