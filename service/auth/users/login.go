package users

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
)

// Verify checks a password. It does the same work whether or not there is such a
// user, whatever its password is kept as, and whether or not it is enabled; so
// neither the answer nor the time that it takes tells an outsider which it was.
// A hash in an old form, or with weaker parameters, is made anew after a good
// login. An error is [ErrDenied], [ErrBusy], or the context's.
func (s *Store) Verify(ctx context.Context, name, password string) (User, error) {
	if len(name) > MaxName || len(password) > s.options.MaxPassword {
		return User{}, ErrTooLong
	}
	if err := s.gate.enter(ctx); err != nil {
		return User{}, err
	}
	a, fresh, good := s.compute(name, password)
	s.gate.leave()
	switch {
	case a == nil:
		return User{}, ErrUnknown
	case !good:
		return User{}, ErrPassword
	case !a.enabled: // whoever is told so has shown the password
		return User{}, ErrDisabled
	}
	if fresh != nil {
		s.upgrade(ctx, a, fresh)
	}
	return a.user(), nil
}

// compute hashes the password once in every form that the store has a hash of, and
// in the form of new ones. One of them is the account's, the others are not
// looked at: they make the work the same for every name. That in the form of new
// ones is fresh: what the account's hash is to become.
func (s *Store) compute(name, password string) (a *account, fresh *digest, good bool) {
	t := s.current()
	a = t.get(name)
	var d *digest
	if a != nil {
		d = a.digest
	}
	wanted := s.wanted()
	done, checked := false, d == nil
	for _, f := range *t.forms.Load() {
		if d != nil && f == d.form {
			good, checked = d.equal(s.hash(f, name, password, d.salt)), true
		} else if f == wanted {
			fresh = s.newDigest(f, name, password)
		} else {
			_ = s.hash(f, name, password, nobodysSalt)
		}
		done = done || f == wanted
	}
	if !done {
		fresh = s.newDigest(wanted, name, password)
	}
	if !checked { // the last hash of its form is just being exchanged
		good = d.equal(s.hash(d.form, name, password, d.salt))
	}
	if d == nil || s.options.Hash == PBKDF2 {
		fresh = nil
	}
	return a, fresh, good
}

// hash computes and counts a hash.
func (s *Store) hash(f form, name, password string, salt []byte) []byte {
	s.note(f)
	return f.compute(name, password, salt)
}

func (s *Store) newDigest(f form, name, password string) *digest {
	s.note(f)
	return f.newDigest(name, password)
}

func (s *Store) note(f form) {
	s.hashes.Add(1)
	if s.trace != nil {
		s.trace(f)
	}
}

// Hashes is how many hashes have been computed: what the logins have cost.
func (s *Store) Hashes() uint64 { return s.hashes.Load() }

// nobodysSalt is for hashes that are thrown away.
var nobodysSalt = make([]byte, saltLen)

// wanted is the form of new hashes.
func (s *Store) wanted() form {
	if s.options.Hash == PBKDF2 {
		return form{hash: PBKDF2}
	}
	return form{hash: Argon2id, argon2: s.options.Argon2}
}

// upgrade exchanges the hash of an account, unless the account was changed since.
func (s *Store) upgrade(ctx context.Context, old *account, fresh *digest) {
	if !weaker(old.digest.form, fresh.form) {
		return
	}
	err := s.change(old.name, func(now *account) (*account, error) {
		if now == nil || now.digest == nil || now.digest.String() != old.digest.String() {
			return nil, errNoChange
		}
		next := *now
		next.digest = fresh
		return &next, nil
	})
	if err != nil && !errors.Is(err, errNoChange) {
		s.options.Logger.LogAttrs(ctx, slog.LevelWarn, "a password's old hash could not be exchanged for a new one", slog.Any("error", err))
	}
}

// weaker reports whether a hash in the old form is to be exchanged. OWASP's equally
// strong settings have more memory or more passes: what counts is the product.
func weaker(old, wanted form) bool {
	return old.hash == PBKDF2 || old.argon2.cost() < wanted.argon2.cost()
}

func (a Argon2) cost() uint64 { return uint64(a.Memory) * uint64(a.Time) }

// LoginByClaims lets an enabled user log in by a claim instead of a password: one
// of those given that is one of its own suffices. All are compared with all, in a
// time that does not depend on what they are. An error is [ErrDenied].
func (s *Store) LoginByClaims(_ context.Context, name string, claims []string) (User, error) {
	if len(name) > MaxName || len(claims) > MaxClaims {
		return User{}, ErrTooLong
	}
	given := make([][sha256.Size]byte, len(claims))
	for i, c := range claims {
		if len(c) > MaxName {
			return User{}, ErrTooLong
		}
		given[i] = sha256.Sum256([]byte(c))
	}
	a := s.current().get(name)
	var own [MaxClaims][sha256.Size]byte // of the same number, whoever it is
	n := 0
	for i := range own {
		text := ""
		if a != nil && i < len(a.claims) {
			text, n = a.claims[i], i+1
		}
		own[i] = sha256.Sum256([]byte(text))
	}
	match := 0
	for _, g := range given {
		for i := range own {
			match |= subtle.ConstantTimeCompare(g[:], own[i][:]) & subtle.ConstantTimeLessOrEq(i+1, n)
		}
	}
	switch {
	case a == nil:
		return User{}, ErrUnknown
	case match == 0:
		return User{}, ErrClaims
	case !a.enabled:
		return User{}, ErrDisabled
	}
	return a.user(), nil
}
