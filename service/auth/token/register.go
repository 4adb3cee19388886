package token

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// ErrFull is for a revocation or an API token that the register has no room for.
var ErrFull = errors.New("token: the register is full")

// maxRegister bounds the revocations that are remembered, and the API tokens: each
// takes some 200 bytes of memory.
const maxRegister = 1 << 20

// spare is how many entries may be over before any is forgotten.
const spare = 1024

// usedEvery is how often the last use of an API token is noted.
const usedEvery = time.Minute

// A Register remembers which tokens were taken back, until their time is over, and
// which API tokens there are; in a file or in memory. One register may have one
// issuer or several.
type Register struct {
	file *registerFile // nil: in memory

	mu     sync.RWMutex
	gone   map[string]int64                // revoked ids, and until when to remember them
	tokens map[[sha256.Size]byte]*apiEntry // by their hash
	byID   map[string]*apiEntry
	prune  int   // how many may be there until they are pruned again
	most   int   // how many of either there may be
	spare  int   // how many that are over are kept until it is worth to look for them
	first  int64 // when the time of the first that are left is over, if it was full

	writing sync.Mutex // changes come one at a time
}

type apiEntry struct {
	APIToken
	hash [sha256.Size]byte
}

// NewRegister makes a register in memory.
func NewRegister() *Register {
	r := &Register{}
	r.reset()
	return r
}

func (r *Register) reset() {
	r.gone, r.tokens, r.byID = map[string]int64{}, map[[sha256.Size]byte]*apiEntry{}, map[string]*apiEntry{}
	r.prune, r.most, r.spare = spare, maxRegister, spare
}

// revoked is asked at each Verify.
func (r *Register) revoked(id string) bool {
	r.refresh()
	r.mu.RLock()
	_, gone := r.gone[id]
	r.mu.RUnlock()
	return gone
}

func (r *Register) revoke(id string, until, now time.Time) error {
	if id == "" || len(id) > 256 {
		return fmt.Errorf("%w: the id of a token that is to be revoked has %d bytes", ErrInvalid, len(id))
	}
	if !until.After(now) {
		return nil // its time is over anyway
	}
	return r.change(now, func() (entry, error) {
		if len(r.gone) >= r.most {
			return entry{}, ErrFull
		}
		return entry{Revoke: id, Until: until.Unix()}, nil
	})
}

func (r *Register) add(t APIToken, hash [sha256.Size]byte, now time.Time) error {
	return r.change(now, func() (entry, error) {
		if len(r.tokens) >= r.most {
			return entry{}, ErrFull
		}
		return newEntry(&apiEntry{t, hash}), nil
	})
}

func (r *Register) remove(id string, now time.Time) error {
	return r.change(now, func() (entry, error) {
		if r.byID[id] == nil {
			return entry{}, ErrNotFound
		}
		return entry{Delete: id}, nil
	})
}

// change makes an entry, after what others have written, and applies it once it is
// kept.
func (r *Register) change(now time.Time, next func() (entry, error)) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.file != nil {
		unlock, err := r.file.begin(r)
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		defer unlock()
	}
	r.mu.Lock()
	r.pruneTo(now)
	r.mu.Unlock()
	e, err := next()
	if err != nil {
		return err
	}
	if r.file != nil {
		if err := r.file.append(r, e, now); err != nil {
			return fmt.Errorf("token: %w", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.apply(e)
}

// pruneTo forgets revocations and API tokens whose time is over, each time that
// their number has doubled, so it costs each of them little; and when there is no room
// left, if one can be over by now.
func (r *Register) pruneTo(now time.Time) {
	full := len(r.gone) >= r.most || len(r.tokens) >= r.most
	if len(r.gone)+len(r.tokens) < r.prune && (!full || r.first >= now.Unix()) {
		return
	}
	r.forget(now)
	r.prune = 2*(len(r.gone)+len(r.tokens)) + r.spare
	r.first = now.Unix()
	if full {
		r.first = r.nextOver()
	}
}

// nextOver is when the next time is over.
func (r *Register) nextOver() int64 {
	next := int64(math.MaxInt64)
	for _, until := range r.gone {
		next = min(next, until)
	}
	for _, t := range r.tokens {
		next = min(next, t.Expires.Unix())
	}
	return next
}

func (r *Register) forget(now time.Time) {
	for id, until := range r.gone {
		if until < now.Unix() {
			delete(r.gone, id)
		}
	}
	for hash, t := range r.tokens {
		if t.Expires.Before(now) {
			delete(r.tokens, hash)
			delete(r.byID, t.ID)
		}
	}
}

// find returns an API token by its hash, and notes that it was used.
func (r *Register) find(hash [sha256.Size]byte, now time.Time) (APIToken, bool) {
	r.refresh()
	r.mu.RLock()
	e := r.tokens[hash]
	var t APIToken
	if e != nil {
		t = e.APIToken
	}
	r.mu.RUnlock()
	if e != nil && now.Sub(t.LastUsed) >= usedEvery {
		// That it was used is no reason to refuse it if it cannot be noted.
		_ = r.change(now, func() (entry, error) {
			if r.byID[t.ID] == nil {
				return entry{}, ErrNotFound
			}
			return entry{Used: t.ID, At: now.Unix()}, nil
		})
	}
	return t, e != nil
}

func (r *Register) list(now time.Time) []APIToken {
	r.refresh()
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []APIToken
	for _, t := range r.byID {
		if now.Before(t.Expires) {
			one := t.APIToken
			one.Roles = slices.Clone(one.Roles)
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b APIToken) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.ID), []byte(b.ID))
	})
	return all
}

// refresh takes over what others have written.
func (r *Register) refresh() {
	if r.file != nil && r.file.watch.Changed() && r.writing.TryLock() {
		r.file.reload(r)
		r.writing.Unlock()
	}
}
