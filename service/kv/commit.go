package kv

import (
	"container/heap"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// How changes are made. Whoever changes something has the turn, one at a time:
// it makes a new state from the present one and then shows it to all by one
// atomic store. Readers take the state that is there.
//
// With a Durable a change is shown, and its call answered, when it is on disk,
// and the time that takes is nearly the same for one change and for a hundred.
// So changes that come while a commit is under way wait in a queue, and the
// first of them then commits all as one group: under load the number of commits
// follows the disk, not the callers, and nobody waits for a timer. No goroutine
// belongs to the store: the caller that leads a group hands the lead on to one of
// those who wait.

// A state is all that the store holds at a version.
type state struct {
	root    *node
	version int64 // of the last change
	bytes   int64 // of all items
	retired int64 // of all items, ever, that were replaced or removed
}

// A write is one call's change, not made yet.
type write struct {
	kind    Kind
	key     []byte
	item    *Item // the new one; nil if the key is to be gone
	cond    condition
	version int64 // Expired: of the item that is to be gone
	err     error

	done chan struct{} // takes one value: the write is done, or it is to lead
	lead bool          // which of these
}

// Groups are bounded so that a commit's memory is, too.
const (
	maxGroup      = 256
	maxGroupBytes = 16 << 20
)

// A queue has the writes that wait for their group.
type queue struct {
	maxGroup      int
	maxGroupBytes int64

	mu      sync.Mutex
	busy    bool // somebody leads
	waiting []*write
}

// init bounds groups by a part of what is kept for those who watch: with more at
// once, one who has seen all that there was would have missed changes. A write
// is up to two changes, for it may find that its key has expired.
func (q *queue) init(o Options) {
	q.maxGroup = max(min(maxGroup, o.History/4), 1)
	q.maxGroupBytes = min(maxGroupBytes, o.HistoryBytes/2)
}

// do makes a change and waits until it is made.
func (s *Store) do(w *write) error {
	if s.durable == nil {
		s.turn.Lock()
		defer s.turn.Unlock()
		s.commit(w)
		return w.err
	}
	w.done = make(chan struct{}, 1)
	q := &s.queue
	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	leads := !q.busy
	q.busy = true
	q.mu.Unlock()
	if !leads {
		<-w.done
		if !w.lead {
			return w.err
		}
	}
	group := q.take()
	s.turn.Lock()
	s.commit(group...)
	s.turn.Unlock()
	q.handOn()
	for _, other := range group[1:] { // the first is w
		other.done <- struct{}{}
	}
	return w.err
}

// take removes the next group from the queue.
func (q *queue) take() []*write {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, int64(0)
	for n < len(q.waiting) && n < q.maxGroup {
		w := q.waiting[n]
		size += overhead + int64(len(w.key))
		if w.item != nil {
			size += int64(len(w.item.Value))
		}
		if size > q.maxGroupBytes && n > 0 {
			break
		}
		n++
	}
	group := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return group
}

// handOn gives the lead to the first of those who wait.
func (q *queue) handOn() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy, q.waiting = false, nil
		return
	}
	next := q.waiting[0]
	next.lead = true
	next.done <- struct{}{}
}

// commit makes the changes of a group as if one came after the other, and sets
// each one's outcome. Who calls it has the turn.
func (s *Store) commit(group ...*write) {
	if err := s.refusal(); err != nil {
		for _, w := range group {
			w.err = err
		}
		return
	}
	b := batch{state: *s.now.Load(), time: time.Now().UnixNano(), most: s.opts.MaxBytes}
	for _, w := range group {
		w.err = b.apply(w)
	}
	if len(b.changes) == 0 {
		return
	}
	if s.durable != nil {
		if err := s.durable.Commit(b.changes); err != nil {
			s.failed(group, err)
			return
		}
	}
	for _, c := range b.changes {
		if c.old != nil && c.old.timer != noTimer {
			heap.Remove(&s.timers, c.old.timer)
		}
		if c.Item.Expires != 0 {
			heap.Push(&s.timers, c.Item)
		}
	}
	s.feed.publish(b.changes, func() { s.now.Store(&b.state) })
	s.views.revoke(b.retired)
	s.setAlarm(b.time)
}

// failed deals with a group that the disk did not take. If it has no room for
// all, it may have some for one, and above all for those that give room back.
func (s *Store) failed(group []*write, err error) {
	noSpace := errors.Is(err, ErrNoSpace)
	if noSpace && len(group) > 1 {
		for _, w := range group {
			s.commit(w)
		}
		return
	}
	if !noSpace {
		s.broken = err
	}
	for _, w := range group {
		// A refusal by what the group did before it, such as that the key is gone,
		// is as unknown as that, if it is not known whether the group is stored.
		if w.err == nil || !noSpace {
			w.err = commitFailed(w.key, err)
		}
	}
}

// refusal is what is said to every change when none can be made any more.
func (s *Store) refusal() error {
	switch {
	case s.closed:
		return errClosed
	case s.broken != nil:
		return failure(codes.Internal, ReasonDiskFailed, nil,
			fmt.Sprintf("no change is possible until the store is opened again: its disk has failed: %v", s.broken))
	}
	return nil
}

// A batch is a state in the making.
type batch struct {
	state
	time    int64
	most    int64
	changes []Change
}

func (b *batch) apply(w *write) error {
	old := b.root.get(w.key)
	if w.kind == Expired {
		if old != nil && old.Version == w.version {
			b.remove(Expired, old)
		}
		return nil
	}
	if old != nil && old.expired(b.time) {
		b.remove(Expired, old) // nobody has come to remove it yet
		old = nil
	}
	switch {
	case w.kind == Deleted && old == nil:
		return nil // gone as was asked, whatever it was to be
	case w.kind == Updated && old == nil:
		return notFound(w.key)
	case w.kind == Created && old != nil:
		return keyExists(w.key, old.Version)
	case old != nil && !w.cond.holds(old.Version):
		return mismatch(w.key, old.Version)
	case w.kind == Deleted:
		b.remove(Deleted, old)
		return nil
	}
	return b.store(w, old)
}

func (b *batch) store(w *write, old *Item) error {
	more := w.item.size()
	if old != nil {
		more -= old.size()
	}
	// What makes the store smaller may, also where it is too large: its limit
	// may have been another once.
	if more > 0 && b.bytes+more > b.most {
		return storeFull(w.key, b.bytes, more, b.most)
	}
	b.version++
	w.item.Version = b.version
	b.root = b.root.put(w.item)
	b.bytes += more
	if old != nil {
		b.retired += old.size()
	}
	b.changes = append(b.changes, Change{Kind: w.kind, Item: w.item, old: old})
	return nil
}

func (b *batch) remove(kind Kind, old *Item) {
	b.version++
	b.root = b.root.remove(old.Key)
	b.bytes -= old.size()
	b.retired += old.size()
	gone := NewItem(old.Key, nil, b.version, 0)
	b.changes = append(b.changes, Change{Kind: kind, Item: gone, old: old})
}
