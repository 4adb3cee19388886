// Package token makes and verifies the tokens of the authentication service: JSON
// Web Tokens (RFC 7519) signed with HS256 or EdDSA, and opaque tokens for programs.
//
// docs/spec/auth.md, sections "Tokens" and "Keys", has the rules that it obeys, which
// include those of RFC 8725 (best current practices); docs/rfc/0026-auth.md says why
// they are so.
package token

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// A Config says what tokens an issuer makes and takes.
type Config struct {
	// Keys sign and verify. There is no default.
	Keys *Keys
	// Legacy is the secret of tokens as the published services made them: HS256
	// without a key's id. They are verified with it; without Keys they are also
	// made, if Compat is set.
	Legacy []byte
	// Compat allows a Legacy secret of fewer than 32 bytes, with a warning to the
	// log, and tokens that are made with it.
	Compat bool
	// Issuer and Audience are what tokens carry as iss and aud, and must carry.
	// Legacy tokens may lack them.
	Issuer, Audience string
	// TTL is how long a token is valid (default 1 h), and MaxTTL how long one may be
	// that Make is asked for (default ten years).
	TTL, MaxTTL time.Duration
	// Leeway is how far the clocks of those who share the keys may differ (default
	// 10 s): a token is taken so much earlier and later. Negative is none.
	Leeway time.Duration
	// MaxSize is the length of the longest token that is looked at (default 8 KiB).
	MaxSize int
	// Register keeps revocations and API tokens (default one in memory).
	Register *Register
	// Now is the clock (default time.Now).
	Now func() time.Time
	// Logger is told of weak secrets and of broken files (default slog.Default()).
	Logger *slog.Logger
}

// An Issuer makes and verifies tokens. Its methods may be called by any number of
// goroutines.
type Issuer struct {
	config Config
	legacy *Key // nil: none
}

// NewIssuer makes an issuer. One without keys is an error.
func NewIssuer(c Config) (*Issuer, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	i := &Issuer{config: c}
	if c.Legacy != nil {
		if i.legacy, err = legacyKey(c); err != nil {
			return nil, err
		}
	}
	if c.Keys != nil {
		if set := c.Keys.set.Load(); set == nil || set.active == nil {
			return nil, errors.New("token: there is no key yet to sign with")
		}
		return i, nil
	}
	switch {
	case i.legacy == nil:
		return nil, errors.New("token: an issuer needs keys, and there are no default ones")
	case !c.Compat:
		return nil, errors.New("token: a legacy secret only verifies: an issuer needs keys to sign with")
	}
	return i, nil
}

func legacyKey(c Config) (*Key, error) {
	if len(c.Legacy) == 0 {
		return nil, errors.New("token: the legacy secret is empty")
	}
	if n := len(c.Legacy); n < minSecret {
		if !c.Compat {
			return nil, fmt.Errorf("token: the legacy secret has %d bytes, and must have %d: one this short can be guessed from any token", n, minSecret)
		}
		c.Logger.Warn("the legacy secret is so short that it can be guessed from any token", slog.Int("bytes", n), slog.Int("least", minSecret))
	}
	key, err := newKey("", HS256, c.Legacy)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	return key, nil
}

func (c Config) withDefaults() (Config, error) {
	if c.TTL == 0 {
		c.TTL = time.Hour
	}
	if c.MaxTTL == 0 {
		c.MaxTTL = 10 * 365 * 24 * time.Hour
	}
	switch {
	case c.Leeway == 0:
		c.Leeway = 10 * time.Second
	case c.Leeway < 0:
		c.Leeway = 0
	}
	if c.MaxSize == 0 {
		c.MaxSize = 8 << 10
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.TTL < time.Second || c.MaxTTL < c.TTL {
		return c, fmt.Errorf("token: tokens that are valid for %v, and at most for %v: the first must be 1 s or more, the second no less", c.TTL, c.MaxTTL)
	}
	if c.MaxSize < 256 || c.MaxSize > 1<<20 {
		return c, fmt.Errorf("token: tokens of at most %d bytes: it must be 256 to %d", c.MaxSize, 1<<20)
	}
	if c.Register == nil {
		c.Register = NewRegister()
	}
	return c, nil
}

// signer is the key that signs now.
func (i *Issuer) signer() *Key {
	if i.config.Keys == nil {
		return i.legacy
	}
	return i.config.Keys.current(i.config.Logger).active
}
