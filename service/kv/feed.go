package kv

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
)

// A feed has the last changes, in order, for those who watch. There is one copy
// for all: a watcher is a place in it. So a change costs the same however many
// watch, nobody who changes something waits for one who watches, and what all of
// them hold is bounded by the feed's own bounds and the few changes that each is
// just sending.
type feed struct {
	maxChanges, maxLag int64
	maxBytes           int64

	mu      sync.Mutex
	last    int64    // the version of the newest change
	changes []Change // the newest, in order, with versions without gaps
	bytes   int64    // of their items
	more    chan struct{}
	closed  bool
}

func (f *feed) init(o Options, last int64) {
	f.maxChanges, f.maxLag, f.maxBytes = int64(o.History), int64(o.MaxLag), o.HistoryBytes
	f.last = last
	f.more = make(chan struct{})
}

// publish adds changes, and calls show as they become visible: nobody hears of a
// change that cannot be seen, and who has seen one can watch from it on.
func (f *feed) publish(changes []Change, show func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	show()
	for _, c := range changes {
		c.old = nil // its value is not ours to keep
		f.changes = append(f.changes, c)
		f.bytes += c.Item.size()
		f.last = c.Item.Version
	}
	for len(f.changes) > 1 && (int64(len(f.changes)) > f.maxChanges || f.bytes > f.maxBytes) {
		f.bytes -= f.changes[0].Item.size()
		f.changes[0] = Change{}
		f.changes = f.changes[1:]
	}
	f.wake()
}

// wake lets those go on who wait for more.
func (f *feed) wake() {
	close(f.more)
	f.more = make(chan struct{})
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		f.wake()
	}
}

// kept is the version after which all changes are there.
func (f *feed) kept() int64 { return f.last - int64(len(f.changes)) }

// A watcher is a place in the feed.
type watcher struct {
	feed *feed
	at   int64 // the version of the last change that it has taken
	// caughtUp is set when the watcher has been near the newest change. One that
	// begins with old changes may take its time before.
	caughtUp bool
}

// watch begins to watch: from now on, or after a version.
func (f *feed) watch(after *int64) (*watcher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after == nil {
		return &watcher{feed: f, at: f.last}, nil
	}
	switch n := *after; {
	case n < 0:
		return nil, violation("after", "%d is negative", n)
	case n > f.last:
		return nil, failure(codes.OutOfRange, ReasonNotKept, nil,
			fmt.Sprintf("after: there is no version %d yet: the newest is %d", n, f.last), "newest", itoa(f.last))
	case n < f.kept():
		return nil, f.notKept("after: what followed version %d is not kept", n)
	}
	return &watcher{feed: f, at: *after}, nil
}

// notKept is called under the lock.
func (f *feed) notKept(format string, version int64) error {
	return failure(codes.OutOfRange, ReasonNotKept, nil,
		fmt.Sprintf(format+": changes are kept from %d on; scan, and watch from the scan's version on", version, f.kept()+1),
		"oldest", itoa(f.kept()+1), "newest", itoa(f.last))
}

// What a watcher takes at once: enough that it does not need the lock for each
// change, and little beside the feed's own bounds.
const (
	takeChanges = 64
	takeBytes   = 1 << 20
)

// take returns the next changes. If there are none yet, it returns a channel
// that is closed when there are.
func (w *watcher) take(into []Change) ([]Change, <-chan struct{}, error) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	into = into[:0]
	lag := f.last - w.at
	switch {
	case f.closed:
		return nil, nil, errClosed
	case w.at < f.kept():
		return nil, nil, failure(codes.ResourceExhausted, ReasonTooSlow, nil,
			fmt.Sprintf("the client is too slow: it has been sent changes up to version %d, and what followed is not kept any more: scan, and watch from the scan's version on", w.at),
			"sent", itoa(w.at), "oldest", itoa(f.kept()+1))
	case w.caughtUp && lag > f.maxLag:
		return nil, nil, failure(codes.ResourceExhausted, ReasonTooSlow, nil,
			fmt.Sprintf("the client is too slow: it is %d changes behind, more than %d: watch again after version %d", lag, f.maxLag, w.at),
			"resume_after", itoa(w.at))
	case lag == 0:
		w.caughtUp = true
		return nil, f.more, nil
	}
	w.caughtUp = w.caughtUp || lag <= f.maxLag
	size := int64(0)
	for _, c := range f.changes[w.at-f.kept():] {
		size += c.Item.size()
		if len(into) == takeChanges || size > takeBytes && len(into) > 0 {
			break
		}
		into = append(into, c)
	}
	w.at += int64(len(into))
	return into, nil, nil
}
