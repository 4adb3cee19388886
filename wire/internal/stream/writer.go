package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxQueued = 1 << 20   // bytes in the queue above which callers wait
	chunk     = 256 << 10 // what must be written within one write timeout
	large     = 32 << 10  // units of this size are not copied together
	together  = 32        // units that are worth a write of their own
)

// A writer combines writes: whoever finds no write under way writes all that
// is queued, others append and leave. The first error is kept, and closes the
// connection.
//
// No write has a deadline: setting one costs more than the rest of a small
// write. The watch looks whether writes make progress instead, see
// [writer.check].
type writer struct {
	conn    net.Conn
	timeout time.Duration
	busy    func() bool // more units are likely to come at once
	begins  func()      // called when a write begins; it sees to it that check is called
	failed  func()      // called after the first error; may be nil
	// resumable is set if a write that a deadline ended can go on, as on a
	// socket. On a TLS connection it cannot.
	resumable bool

	progress atomic.Int64 // counts writes that went through

	mu       sync.Mutex
	queue    []*buffer
	queued   int
	appended int64 // bytes ever queued
	written  int64 // bytes ever handed to the socket
	flushing bool  // true whenever the queue is not empty
	lent     bool  // the goroutine that flushes is a caller's or the reader's
	yielding bool  // it lets others append before it begins
	units    int   // that were appended since
	shaken   bool  // a deadline in the past is set to get that goroutine back
	err      error
	broken   atomic.Bool // err is set
	waiting  int
	changed  chan struct{} // closed at each change that somebody waits for

	// What check has seen.
	seen  int64
	since time.Time // when there was no progress first; zero if there is
}

// A readWrapper is a connection that changes only what is read: writes may go to
// the one that it wraps, which can do more if it is a socket.
type readWrapper interface{ WritesTo() net.Conn }

func newWriter(conn net.Conn, timeout time.Duration) *writer {
	if wrapper, ok := conn.(readWrapper); ok {
		conn = wrapper.WritesTo()
	}
	return &writer{conn: conn, timeout: timeout, resumable: isResumable(conn), changed: make(chan struct{})}
}

// A Resumable connection says whether it can go on writing after a write
// deadline. Sockets can; a connection that wraps another one may tell.
type Resumable interface{ WritesAreResumable() bool }

func isResumable(conn net.Conn) bool {
	switch c := conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	case Resumable:
		return c.WritesAreResumable()
	}
	return false
}

// write queues unit, which it owns from here on, and returns the position of
// its end for [writer.isWritten]. It waits while the queue is full, until ctx
// ends; then nothing of the unit is sent.
func (w *writer) write(ctx context.Context, unit *buffer) (end int64, err error) {
	w.mu.Lock()
	for w.err == nil && w.queued > maxQueued {
		if err := w.wait(ctx); err != nil {
			w.mu.Unlock()
			unit.free()
			return 0, err
		}
	}
	if w.err != nil {
		err := w.err
		w.mu.Unlock()
		unit.free()
		return 0, err
	}
	end, lead, yield := w.join(unit)
	w.mu.Unlock()
	if lead {
		w.lead(yield)
	}
	return end, nil
}

// offer is write for a goroutine that must not wait for room: it reports false,
// and unit is still the caller's, if there is none.
func (w *writer) offer(unit *buffer) bool {
	w.mu.Lock()
	if w.err != nil || len(unit.b) == 0 {
		w.mu.Unlock()
		unit.free()
		return true
	}
	if w.queued > maxQueued {
		w.mu.Unlock()
		return false
	}
	_, lead, yield := w.join(unit)
	w.mu.Unlock()
	if lead {
		w.lead(yield)
	}
	return true
}

// post queues unit even if the queue is full, and does not wait for the socket.
// It is for small frames: those that cancel a call or grant credit. It returns
// the bytes that are in the queue.
func (w *writer) post(unit *buffer) (queued int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		unit.free()
		return 0
	}
	if _, lead := w.push(unit); lead {
		w.lent = false
		w.begins()
		go w.flush(nil)
	}
	return w.queued
}

// push appends unit to the queue; the caller must flush if lead is true.
func (w *writer) push(unit *buffer) (end int64, lead bool) {
	n := len(unit.b)
	w.appended += int64(n)
	w.queued += n
	last := len(w.queue) - 1
	if last >= 0 && n < large && (len(w.queue[last].b) < large || n <= cap(w.queue[last].b)-len(w.queue[last].b)) {
		w.queue[last].b = append(w.queue[last].b, unit.b...)
		unit.free()
	} else {
		w.queue = append(w.queue, unit)
	}
	lead = !w.flushing
	if lead {
		w.flushing, w.lent = true, true
	}
	return w.appended, lead
}

// join is push for a goroutine that is lent to the writer: if lead is true it
// must call [writer.lead]. When more units are likely it yields first; whoever
// brings the last of as many as are worth a write takes its place, so that the
// peer gets them while the others are still being made.
func (w *writer) join(unit *buffer) (end int64, lead, yield bool) {
	end, lead = w.push(unit)
	switch {
	case lead && w.busy():
		w.yielding, w.units, yield = true, 1, true
	case !lead && w.yielding:
		if w.units++; w.units >= together {
			w.yielding, lead = false, true
		}
	}
	return end, lead, yield
}

// flushed waits until the bytes up to end are with the socket.
func (w *writer) flushed(ctx context.Context, end int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.written < end && w.err == nil {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	if w.written < end {
		return w.err
	}
	return nil
}

// drain waits until all that was queued is with the socket.
func (w *writer) drain(ctx context.Context) error {
	w.mu.Lock()
	end := w.appended
	w.mu.Unlock()
	return w.flushed(ctx, end)
}

// isWritten reports, for a connection that is broken, whether the bytes up to
// end were handed to the socket. It waits for a write under way: the peer may
// have read and answered what Write has not returned for yet. That write ends
// when the connection is closed, which may be after a goodbye or the replies of
// what still runs. If ctx ends first, they may have been.
func (w *writer) isWritten(ctx context.Context, end int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.flushing {
		if w.wait(ctx) != nil {
			return true
		}
	}
	return w.written >= end
}

// wait unlocks mu until something has changed.
func (w *writer) wait(ctx context.Context) error {
	changed := w.changed
	w.waiting++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.waiting--
	}()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) notify() {
	if w.waiting > 0 {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// lead writes the queue on the goroutine of a caller or of the reader: its own
// bytes and one round more. What comes later is left to a goroutine, and so is
// what the socket does not take within a tick or two of the watch.
func (w *writer) lead(yield bool) {
	w.begins()
	if yield {
		runtime.Gosched() // let others append: one system call for all
		w.mu.Lock()
		mine := w.yielding // or that of one who yields now, and finds it taken
		w.yielding = false
		w.mu.Unlock()
		if !mine {
			return
		}
	}
	if !w.resumable {
		go w.flush(nil)
		return
	}
	for range 2 {
		batch := w.take()
		if batch == nil {
			return
		}
		if done := w.send(batch); !done {
			go w.flush(batch)
			return
		}
	}
	w.mu.Lock()
	more := w.more()
	if more {
		w.lent = false
		w.calm()
	}
	w.mu.Unlock()
	if more {
		go w.flush(nil)
	}
}

// flush writes rest and then the queue until it is empty.
func (w *writer) flush(rest *batch) {
	if rest != nil {
		w.send(rest)
	}
	for {
		b := w.take()
		if b == nil {
			return
		}
		w.send(b)
	}
}

// more reports whether something is queued; if not, nobody flushes any more.
func (w *writer) more() bool {
	if w.err != nil || len(w.queue) == 0 {
		w.flushing = false
		w.calm()
		w.notify()
		return false
	}
	return true
}

func (w *writer) take() *batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.more() {
		return nil
	}
	b := batches.Get().(*batch)
	b.owned, w.queue = w.queue, b.owned
	if b.rest = b.one[:0]; len(b.owned) > 1 {
		b.rest = make(net.Buffers, 0, len(b.owned))
	}
	for _, buf := range b.owned {
		b.rest = append(b.rest, buf.b)
	}
	return b
}

// send writes b. It reports false if the goroutine was asked back and the rest
// is still to be sent.
func (w *writer) send(b *batch) (done bool) {
	for len(b.rest) > 0 {
		n, err := b.writeChunk(w.conn)
		w.progress.Add(1)
		w.mu.Lock()
		w.queued -= n
		w.written += int64(n)
		w.notify()
		shaken := w.shaken
		if shaken {
			w.lent = false
			w.calm()
		}
		w.mu.Unlock()
		switch {
		case shaken && (err == nil || errors.Is(err, os.ErrDeadlineExceeded)):
			return false
		case err != nil:
			w.fail(err)
			b.free()
			return true
		}
	}
	b.free()
	return true
}

// calm takes the deadline of shake back. w.mu is held.
func (w *writer) calm() {
	if w.shaken {
		w.shaken = false
		_ = w.conn.SetWriteDeadline(time.Time{}) // fails only on a closed connection
	}
}

// check is called by the watch. It reports whether a write is under way, and
// whether it has stood still since the last time. Then it asks a goroutine back
// that is only lent to the writer: a caller's context may have ended, a reader
// must read. What makes no progress for the write timeout ends the connection.
func (w *writer) check() (writing, stuck bool) {
	w.mu.Lock()
	progress := w.progress.Load()
	stuck = w.flushing && progress == w.seen
	w.seen = progress
	if !stuck {
		w.since = time.Time{}
		writing = w.flushing
		w.mu.Unlock()
		return writing, false
	}
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	late := now.Sub(w.since) > w.timeout
	if w.lent && w.resumable && !w.shaken {
		w.shaken = true
		_ = w.conn.SetWriteDeadline(time.Unix(1, 0)) // fails only on a closed connection
	}
	w.mu.Unlock()
	if late {
		w.fail(fmt.Errorf("the peer did not read for %v", w.timeout))
	}
	return true, true
}

// fail keeps the first error, wakes all who wait and closes the connection.
func (w *writer) fail(err error) { w.failThen(err, func() {}) }

// failThen is fail. It calls then when nothing is written any more, and before
// it closes, which may take TLS seconds.
func (w *writer) failThen(err error, then func()) {
	w.mu.Lock()
	first := w.err == nil
	if first {
		w.err = err
		w.broken.Store(true)
		w.queue = nil
		w.notify()
	}
	w.mu.Unlock()
	then()
	_ = w.conn.Close() // the first error is the one to tell
	if first && w.failed != nil {
		w.failed()
	}
}

// cause returns the error that the writer failed with, or else err.
func (w *writer) cause(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	return err
}
