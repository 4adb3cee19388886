package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

const (
	maxQueued = 1 << 20   // bytes in the queue above which callers wait
	chunk     = 256 << 10 // what must be written within one write timeout
	large     = 32 << 10  // units of this size are not copied together
	tick      = 5 * time.Millisecond
)

// A writer combines writes: whoever finds no write under way writes all that
// is queued, others append and leave. The first error is kept, and closes the
// connection.
type writer struct {
	conn    net.Conn
	timeout time.Duration
	busy    func() bool // more units are likely to come at once
	failed  func()      // called after the first error; may be nil

	mu       sync.Mutex
	queue    []*buffer
	queued   int
	appended int64 // bytes ever queued
	written  int64 // bytes ever handed to the socket
	flushing bool  // true whenever the queue is not empty
	err      error
	waiting  int
	changed  chan struct{} // closed at each change that somebody waits for
}

func newWriter(conn net.Conn, timeout time.Duration, busy func() bool) *writer {
	return &writer{conn: conn, timeout: timeout, busy: busy, changed: make(chan struct{})}
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
	end, lead := w.push(unit)
	w.mu.Unlock()
	if lead {
		w.lead()
	}
	return end, nil
}

// post queues unit even if the queue is full, and does not wait for the socket.
// It is for the small frames that cancel a call.
func (w *writer) post(unit *buffer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		unit.free()
		return
	}
	if _, lead := w.push(unit); lead {
		go w.flush(nil)
	}
}

// push appends unit to the queue; the caller must flush if lead is true.
func (w *writer) push(unit *buffer) (end int64, lead bool) {
	n := len(unit.b)
	w.appended += int64(n)
	w.queued += n
	last := len(w.queue) - 1
	if last >= 0 && n < large && len(w.queue[last].b)+n <= keep {
		w.queue[last].b = append(w.queue[last].b, unit.b...)
		unit.free()
	} else {
		w.queue = append(w.queue, unit)
	}
	lead = !w.flushing
	w.flushing = true
	return w.appended, lead
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
// end were handed to the socket. It waits for a write under way, which ends
// because the connection is closed: the peer may have read and answered what
// Write has not returned for yet.
func (w *writer) isWritten(end int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.flushing {
		_ = w.wait(context.Background()) // that context does not end
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

// lead writes the queue on the goroutine of a caller: its own bytes and one
// round more. What takes longer than a tick, and what comes later, is left to
// a goroutine.
func (w *writer) lead() {
	if w.busy() {
		runtime.Gosched() // let others append: one system call for all
	}
	if _, ok := w.conn.(*tls.Conn); ok {
		// A TLS connection cannot go on after a write deadline.
		go w.flush(nil)
		return
	}
	for range 2 {
		batch := w.take()
		if batch == nil {
			return
		}
		if done := w.send(batch, tick); !done {
			go w.flush(batch)
			return
		}
	}
	w.mu.Lock()
	more := w.more()
	w.mu.Unlock()
	if more {
		go w.flush(nil)
	}
}

// flush writes rest and then the queue until it is empty.
func (w *writer) flush(rest *batch) {
	if rest != nil {
		w.send(rest, w.timeout)
	}
	for {
		b := w.take()
		if b == nil {
			return
		}
		w.send(b, w.timeout)
	}
}

// A batch is a part of the queue that is being written.
type batch struct {
	owned []*buffer   // to free in the end
	rest  net.Buffers // not written yet
}

// more reports whether something is queued; if not, nobody flushes any more.
func (w *writer) more() bool {
	if w.err != nil || len(w.queue) == 0 {
		w.flushing = false
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
	b := &batch{owned: w.queue, rest: make(net.Buffers, len(w.queue))}
	for i, buf := range w.queue {
		b.rest[i] = buf.b
	}
	w.queue = nil
	return b
}

// send writes b. It reports false if the timeout passed and the rest is still
// to be sent; that happens only with a timeout shorter than w.timeout. Each
// chunk has the timeout anew: a peer may be slow.
func (w *writer) send(b *batch, timeout time.Duration) (done bool) {
	for len(b.rest) > 0 {
		n, err := w.sendChunk(b, timeout)
		w.mu.Lock()
		w.queued -= n
		w.written += int64(n)
		w.notify()
		w.mu.Unlock()
		switch {
		case err == nil:
		case timeout < w.timeout && errors.Is(err, os.ErrDeadlineExceeded):
			return false
		case errors.Is(err, os.ErrDeadlineExceeded):
			w.fail(fmt.Errorf("the peer did not read for %v", w.timeout))
			return true
		default:
			w.fail(err)
			return true
		}
	}
	for _, buf := range b.owned {
		buf.free()
	}
	return true
}

// sendChunk writes about a chunk of b.rest and cuts off what was written.
func (w *writer) sendChunk(b *batch, timeout time.Duration) (int, error) {
	if err := w.conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	if first := b.rest[0]; len(b.rest) == 1 || len(first) >= chunk {
		n, err := w.conn.Write(first[:min(len(first), chunk)])
		if b.rest[0] = first[n:]; n == len(first) {
			b.rest = b.rest[1:]
		}
		return n, err
	}
	count, size := 0, 0
	for count < len(b.rest) && size+len(b.rest[count]) <= chunk {
		size += len(b.rest[count])
		count++
	}
	some := b.rest[:count:count]
	n, err := some.WriteTo(w.conn) // cuts off what was written
	b.rest = b.rest[count-len(some):]
	return int(n), err
}

// fail keeps the first error, wakes all who wait and closes the connection.
func (w *writer) fail(err error) {
	w.mu.Lock()
	first := w.err == nil
	if first {
		w.err = err
		w.queue = nil
		w.notify()
	}
	w.mu.Unlock()
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
