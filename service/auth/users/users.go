// Package users keeps the accounts of the authentication service: names, hashes of
// passwords, roles and claims; in a CSV file as the published services had it, in
// an embedded database, or in memory.
//
// docs/spec/auth.md, sections "Users" and "Passwords", has the rules that it obeys;
// docs/rfc/0026-auth.md says why they are so.
package users

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A User is an account, without its password.
type User struct {
	Name string
	// Enabled is false for an account that nobody can log in to.
	Enabled bool
	Roles   []string
	// Claims are other words than the password that LoginByClaims takes: one that
	// matches suffices, so each is as good as a password.
	Claims []string
	// HasPassword is false for an account that has none, and is logged in to by
	// claims alone.
	HasPassword bool
	// Hash is the form that the password is kept in.
	Hash Hash
}

// ErrDenied is in every error that refuses a login. What an outsider is told must
// be the same for all of them; the errors below are for logs and metrics, and for
// the distinct texts of the published services.
var ErrDenied = errors.New("users: the login is refused")

// Why a login was refused. Each is also [ErrDenied].
var (
	ErrUnknown  = fmt.Errorf("%w: there is no such user", ErrDenied)
	ErrDisabled = fmt.Errorf("%w: the user is disabled", ErrDenied)
	ErrPassword = fmt.Errorf("%w: the password is wrong", ErrDenied)
	ErrClaims   = fmt.Errorf("%w: no claim matches", ErrDenied)
)

var (
	// ErrTooLong refuses a name, a password or claims beyond the limits, before any
	// work is done. It is [ErrDenied] too.
	ErrTooLong = fmt.Errorf("%w: the name, the password or the claims are longer than allowed", ErrDenied)
	// ErrBusy refuses a login because as many wait for a hash as may.
	ErrBusy = errors.New("users: too many logins at once")
	// ErrNotFound is for changes of a user that is not there.
	ErrNotFound = errors.New("users: there is no such user")
	// ErrInUse is Open's if another process has the database open.
	ErrInUse = errors.New("is in use by another process")
	// ErrDamaged is Open's if the database is not what this package has written.
	ErrDamaged = errors.New("is damaged")
	// ErrInvalid is in every error about a user or a password that cannot be kept.
	ErrInvalid = errors.New("users: not valid")
)

// Limits of what is kept. A password's are in [Options].
const (
	MaxName   = 256 // bytes of a name, a role or a claim
	MaxRoles  = 64
	MaxClaims = 32
)

// validate says what of a user cannot be kept, in any store: the CSV file's rules
// hold for all, so that an account can move.
func validate(u *User) error {
	if err := word("name", u.Name); err != nil {
		return err
	}
	if len(u.Roles) > MaxRoles || len(u.Claims) > MaxClaims {
		return fmt.Errorf("%w: user %q has %d roles and %d claims, and may have %d and %d",
			ErrInvalid, u.Name, len(u.Roles), len(u.Claims), MaxRoles, MaxClaims)
	}
	for _, r := range u.Roles {
		if err := word("role", r); err != nil {
			return err
		}
		if strings.Contains(r, rolesSeparator) {
			return fmt.Errorf("%w: the role %q has a %q in it, which stands between roles", ErrInvalid, r, rolesSeparator)
		}
	}
	for i, c := range u.Claims {
		if word("claim", c) != nil { // whose error would show it
			return fmt.Errorf("%w: claim %d is empty, too long, or has characters that cannot be printed", ErrInvalid, i+1)
		}
	}
	return nil
}

// rolesSeparator stands between roles in the file.
const rolesSeparator = ":"

func word(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: a %s is empty", ErrInvalid, what)
	case len(s) > MaxName:
		return fmt.Errorf("%w: a %s has %d bytes, and may have %d", ErrInvalid, what, len(s), MaxName)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%w: the %s %q has characters that cannot be printed", ErrInvalid, what, s)
	case strings.TrimSpace(s) != s:
		return fmt.Errorf("%w: the %s %q begins or ends with a space", ErrInvalid, what, s)
	}
	return nil
}
