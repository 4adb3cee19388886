package auth

import (
	"sync/atomic"
	"time"

	"github.com/everywire/everywire/service/auth/token"
)

// A LoginResult is how a login ended.
type LoginResult uint8

// The results of a login.
const (
	LoginOK         LoginResult = iota
	LoginRefused                // a wrong name, password or claim, or a user who is disabled
	LoginLimited                // too many have failed, so it was not tried
	LoginTooBusy                // too many are being tried, so it was not
	LoginFailed                 // something of the server's is broken, or the caller went away
	numLoginResults = iota
)

func (r LoginResult) String() string {
	return [...]string{"ok", "refused", "limited", "too_busy", "failed"}[r]
}

// A VerifyResult is what was found of a token. Those beyond the named ones are the
// reasons of package token.
type VerifyResult uint8

// The results of a verification that are no reasons of package token.
const (
	VerifyOK        VerifyResult = iota
	VerifyForbidden              // the token is good and lacks the role
	VerifyMissing                // there is none
	verifyReasons
)

const numVerifyResults = int(verifyReasons) + int(token.Revoked)

// refusedFor is the result of a token that was refused.
func refusedFor(err error) VerifyResult {
	r := min(max(token.ReasonOf(err), token.Malformed), token.Revoked)
	return verifyReasons + VerifyResult(r) - 1
}

func (r VerifyResult) String() string {
	if r < verifyReasons {
		return [...]string{"ok", "forbidden", "missing"}[r]
	}
	return token.Reason(r - verifyReasons + 1).String()
}

// Bounds are the upper bounds of the buckets that durations are counted in, in
// seconds. There is one bucket more, without a bound.
var Bounds = [...]float64{0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// A Durations counts how often something took how long.
type Durations struct {
	// Counts are those of the buckets, each without the ones below; the last is of
	// what is over all of [Bounds].
	Counts [len(Bounds) + 1]uint64
	Sum    time.Duration
}

// Count is how many there are.
func (d *Durations) Count() (n uint64) {
	for _, c := range d.Counts {
		n += c
	}
	return n
}

// A Snapshot is what a service has done since it was made.
type Snapshot struct {
	Started time.Time
	// Logins and Verifies are by result.
	Logins   [numLoginResults]Durations
	Verifies [numVerifyResults]Durations
	// InFlight is how many logins are being tried, or wait for that.
	InFlight int64
	// Revoked is how many tokens have been revoked.
	Revoked uint64
	// Hashes is how many hashes of passwords have been computed.
	Hashes uint64
}

// counts are a snapshot that grows.
type counts struct {
	started  time.Time
	logins   [numLoginResults]durations
	verifies [numVerifyResults]durations
	inFlight atomic.Int64
	revoked  atomic.Uint64
}

type durations struct {
	counts [len(Bounds) + 1]atomic.Uint64
	sum    atomic.Int64
}

func (d *durations) add(took time.Duration) {
	i := 0
	for i < len(Bounds) && took.Seconds() > Bounds[i] {
		i++
	}
	d.counts[i].Add(1)
	d.sum.Add(int64(took))
}

func (d *durations) read() (out Durations) {
	for i := range d.counts {
		out.Counts[i] = d.counts[i].Load()
	}
	out.Sum = time.Duration(d.sum.Load())
	return out
}

func (c *counts) read() Snapshot {
	s := Snapshot{Started: c.started, InFlight: c.inFlight.Load(), Revoked: c.revoked.Load()}
	for i := range c.logins {
		s.Logins[i] = c.logins[i].read()
	}
	for i := range c.verifies {
		s.Verifies[i] = c.verifies[i].read()
	}
	return s
}
