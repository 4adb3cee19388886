package rest

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// What a server remembers of calls that had an Idempotency-Key.
const (
	maxAnswers     = 10_000
	maxAnswerBytes = 64 << 20
	// maxAnswer is the longest answer that is remembered: a few long ones must
	// not push all others out.
	maxAnswer = maxAnswerBytes / 8
	// answerTTL is how long an answer is remembered, if there is room.
	answerTTL = 24 * time.Hour
	// answerOverhead stands for what an answer takes beside its bytes.
	answerOverhead = 512
)

// A digest names a client and its key, or is the fingerprint of a request.
type digest = [sha256.Size]byte

// A ledger remembers what calls came to, by client and key. What has come first
// is forgotten first. Its zero value is ready for use.
type ledger struct {
	mu     sync.Mutex
	byName map[digest]*entry
	done   list.List // of *entry, the oldest first; calls that run are not in it
	bytes  int
}

// An entry is what one call came to, or stands for it while it runs.
type entry struct {
	of      *ledger
	name    digest
	request digest
	result  result
	size    int
	until   time.Time
	place   *list.Element // nil while the call runs
}

// A claim is what came of a key.
type claim uint8

const (
	fresh   claim = iota // the call may run, and must be kept or dropped
	known                // the answer has come
	running              // the first call with the key still runs
	reused               // the key was another request's
	full                 // too many calls with keys run
)

// claim looks a name up. It returns an entry with fresh and known.
func (s *ledger) claim(name, request digest) (*entry, claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if a := s.byName[name]; a != nil {
		switch {
		case a.request != request:
			return nil, reused
		case a.place == nil:
			return nil, running
		}
		return a, known
	}
	if len(s.byName)-s.done.Len() >= maxAnswers {
		return nil, full
	}
	if s.byName == nil {
		s.byName = map[digest]*entry{}
	}
	a := &entry{of: s, name: name, request: request}
	s.byName[name] = a
	return a, fresh
}

// expire forgets what is older than it may be, and what there is no room for.
func (s *ledger) expire() {
	now := time.Now()
	for e := s.done.Front(); e != nil; e = s.done.Front() {
		a := e.Value.(*entry)
		if s.done.Len() <= maxAnswers && s.bytes <= maxAnswerBytes && now.Before(a.until) {
			return
		}
		s.forget(a)
	}
}

func (s *ledger) forget(a *entry) {
	delete(s.byName, a.name)
	if a.place != nil {
		s.done.Remove(a.place)
		s.bytes -= a.size
	}
}

// keep remembers what a call came to. The result must not change any more.
func (a *entry) keep(r result, size int) {
	s := a.of
	s.mu.Lock()
	defer s.mu.Unlock()
	a.result, a.size, a.until = r, size, time.Now().Add(answerTTL)
	a.place = s.done.PushBack(a)
	s.bytes += size
	s.expire()
}

// drop forgets a call that is over and was not kept; the next with its key
// runs.
func (a *entry) drop() {
	s := a.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.place == nil {
		s.forget(a)
	}
}
