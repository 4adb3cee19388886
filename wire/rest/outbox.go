package rest

import (
	"cmp"
	"context"
	"io"
	"sync"
	"time"
)

// outboxRoom is how many bytes may wait to be written before a sender waits too.
const outboxRoom = 64 << 10

// keepAlive is how long a connection that streams is silent before something is
// written that means nothing, so that proxies keep it open and a client that is
// gone is noticed.
const keepAlive = 15 * time.Second

// An outbox writes what a stream sends, on a goroutine of its own: while one
// write is under way messages gather, and the next takes all of them. None waits
// for another one to come.
type outbox struct {
	// write writes a batch and lets it go out. It is called by one goroutine.
	write func(batch []byte) error
	// idle appends what is written after a silence, perhaps nothing.
	idle func(dst []byte) []byte

	mu      sync.Mutex
	pending []byte
	ready   chan struct{} // has a token if there is something to do
	room    chan struct{} // closed, and made anew, when pending was taken
	flushed bool          // what is pending is to be written, even if it is nothing
	sealed  bool          // nobody sends any more
	ending  bool          // what is pending is the last
	err     error         // why nothing is written any more
	done    chan struct{} // closed when the goroutine has ended
}

func newOutbox(write func([]byte) error, idle func([]byte) []byte) *outbox {
	o := &outbox{write: write, idle: idle, ready: make(chan struct{}, 1), room: make(chan struct{}), done: make(chan struct{})}
	go o.run()
	return o
}

// send queues a piece when there is room for it.
func (o *outbox) send(ctx context.Context, piece []byte) error {
	for {
		o.mu.Lock()
		if o.err != nil || o.sealed {
			defer o.mu.Unlock()
			return cmp.Or(o.err, io.ErrClosedPipe)
		}
		if len(o.pending) < outboxRoom {
			o.put(piece)
			o.mu.Unlock()
			return nil
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-o.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// post queues a piece without waiting, and returns how much is queued.
func (o *outbox) post(piece []byte) (queued int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(piece)
	return len(o.pending)
}

// put queues a piece. o.mu is held.
func (o *outbox) put(piece []byte) {
	if o.err != nil || o.ending {
		return
	}
	o.pending = append(o.pending, piece...)
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// flush has write called, even with nothing.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushed = true
	o.wake()
}

// seal drops what waits, and lets nothing more be sent; it may be posted.
func (o *outbox) seal() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sealed, o.pending = true, nil
	close(o.room)
	o.room = make(chan struct{})
}

// finish lets the goroutine end when all is written, and last behind it. Nothing
// is taken any more. It does not wait.
func (o *outbox) finish(last []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(last)
	o.sealed, o.ending = true, true
	o.wake()
}

// fail lets nothing more be written. A write that is under way must be ended by
// other means.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err, o.pending = err, nil
	}
	o.wake()
}

func (o *outbox) run() {
	defer close(o.done)
	silence := time.NewTimer(keepAlive)
	defer silence.Stop()
	var batch []byte
	for {
		idle := false
		select {
		case <-o.ready:
		case <-silence.C:
			idle = true
		}
		next, must, over := o.take(batch)
		if batch = next; len(batch) == 0 && idle && !over {
			batch = o.idle(batch)
		}
		if must || len(batch) > 0 {
			if err := o.write(batch); err != nil {
				o.fail(err)
				return
			}
		}
		if over {
			return
		}
		silence.Reset(keepAlive)
	}
}

// take returns what is to be written, in exchange for the last batch, whether it
// is to be written even if it is nothing, and whether it is the last.
func (o *outbox) take(last []byte) (batch []byte, must, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if cap(last) > 4*outboxRoom {
		last = nil // a large message's
	}
	batch, o.pending = o.pending, last[:0]
	close(o.room)
	o.room = make(chan struct{})
	// What was queued before the end is in this batch.
	must, o.flushed = o.flushed && o.err == nil, false
	return batch, must, o.ending || o.err != nil
}
