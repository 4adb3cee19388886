package users

import (
	"fmt"
	"log/slog"
	"runtime"
)

// Options are how a store works. The zero value is right for a service.
type Options struct {
	// Hash is the form of new hashes. With Argon2id, hashes in another form or with
	// other parameters are made anew at the next good login. With PBKDF2 none is: a
	// login then costs what it did in the published services.
	Hash Hash
	// Argon2 are the parameters of new argon2id hashes (default [DefaultArgon2]).
	Argon2 Argon2
	// MinPassword and MaxPassword bound the bytes of a new password (default 8 and
	// 1024); MaxPassword also bounds what Verify looks at.
	MinPassword, MaxPassword int
	// Hashes is how many hashes are computed at the same time (default GOMAXPROCS),
	// and Queue how many logins may wait for their turn (default 256); more are
	// refused with ErrBusy.
	Hashes, Queue int
	// Logger is told of broken files and of hashes that could not be made anew
	// (default slog.Default()).
	Logger *slog.Logger
}

// Argon2 are the parameters of argon2id (RFC 9106).
type Argon2 struct {
	Memory  uint32 // KiB
	Time    uint32 // passes over the memory
	Threads uint8
}

// DefaultArgon2 is one of the settings that OWASP's Password Storage Cheat Sheet
// calls equally strong: 19 MiB and two passes. It is the one with little memory,
// so that the logins that are hashed at the same time fit into any server; one
// thread, because the cores are for other logins.
var DefaultArgon2 = Argon2{Memory: 19 * 1024, Time: 2, Threads: 1}

func (o Options) withDefaults() (Options, error) {
	if o.Argon2 == (Argon2{}) {
		o.Argon2 = DefaultArgon2
	}
	if o.MinPassword == 0 {
		o.MinPassword = 8
	}
	if o.MaxPassword == 0 {
		o.MaxPassword = 1024
	}
	if o.Hashes == 0 {
		o.Hashes = runtime.GOMAXPROCS(0)
	}
	if o.Queue == 0 {
		o.Queue = 256
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Hash > PBKDF2 {
		return o, fmt.Errorf("users: there is no hash %d", o.Hash)
	}
	if o.MinPassword < 1 || o.MaxPassword < o.MinPassword || o.MaxPassword > 1<<16 {
		return o, fmt.Errorf("users: a password of %d to %d bytes: the least must be 1 or more, the most at least that, and at most %d", o.MinPassword, o.MaxPassword, 1<<16)
	}
	if o.Hashes < 1 || o.Queue < 1 {
		return o, fmt.Errorf("users: %d hashes at the same time and %d waiting: both must be 1 or more", o.Hashes, o.Queue)
	}
	return o, o.Argon2.check()
}
