package http1

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

type bodyKind uint8

const (
	bodyNone    bodyKind = iota
	bodyWhole            // it came with its head
	bodyLength           // of a length that was said
	bodyChunked          // see chunk.go
)

const (
	// maxDrain is how much of a body is read that no handler wanted, so that the
	// connection can be kept.
	maxDrain = 256 << 10
	// drainTimeout is how long that may take.
	drainTimeout = 500 * time.Millisecond
)

// A body is that of a request. It has a lock since goroutines of a handler may
// read it while, or after, the handler returns.
type body struct {
	c    *conn
	x    *exchange
	kind bodyKind
	// unasked is set while a client waits to be told that the body is wanted (RFC
	// 9110, section 10.1.1).
	unasked atomic.Bool

	mu     sync.Mutex
	whole  []byte // what is left of it, of bodyWhole
	left   int64  // bytes of the body, or of the chunk
	chunks chunkState
	timed  bool // its time limit is set
	closed bool
	err    error // io.EOF when all of it has been read
}

// begin takes the body from the buffer if it is there. The request says how
// long it is.
func (b *body) begin(c *conn, x *exchange) {
	b.c, b.x, b.left = c, x, x.req.ContentLength
	buffered := c.in[c.r:c.w]
	switch {
	case b.left == 0:
		x.req.Body = http.NoBody
		return
	case b.left < 0:
		b.kind, b.left = bodyChunked, 0
	case b.left <= int64(len(buffered)):
		b.kind, b.whole = bodyWhole, buffered[:b.left]
		c.r += int(b.left)
	default:
		b.kind = bodyLength
	}
	if len(buffered) > 0 {
		b.unasked.Store(false) // it comes without being asked for
	}
	x.req.Body = b
}

// Read is [io.Reader]'s.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.read(p)
}

// Close is [io.Closer]'s. What is left is read after the handler, if at all.
func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// read reads for a handler, or for nobody. b.mu is held.
func (b *body) read(p []byte) (n int, err error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	case b.kind == bodyWhole:
		n = copy(p, b.whole)
		if b.whole = b.whole[n:]; len(b.whole) == 0 {
			b.err = io.EOF
		}
		return n, b.err
	}
	if b.unasked.Swap(false) {
		err = b.x.res.sendContinue()
	}
	if err == nil && b.kind == bodyChunked {
		err = b.nextChunk()
	}
	if err == nil {
		n, err = b.data(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		if err == nil && b.left == 0 && (b.kind == bodyLength || b.atLastChunk()) {
			err = io.EOF
		}
	}
	if err != nil {
		b.fail(err)
	}
	return n, b.err
}

// fail notes why there is no more.
func (b *body) fail(err error) {
	b.err = err
	if err == io.EOF { //nolint:errorlint // ours
		b.c.state.Or(calm)
		b.c.beWatched()
		return
	}
	var wrong *refusal
	if !errors.As(err, &wrong) && !errors.Is(err, os.ErrDeadlineExceeded) {
		b.x.ctx.cancel() // the client has gone
	}
}

// data reads some of the body's own bytes, from the buffer if it has any.
func (b *body) data(p []byte) (int, error) {
	c := b.c
	if c.r == c.w {
		if len(p) >= len(c.in)/2 {
			b.limitTime()
			n, err := c.raw.Read(p)
			if n > 0 {
				return n, nil
			}
			return 0, cutShort(err)
		}
		if err := b.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.in[c.r:c.w])
	c.r += n
	return n, nil
}

// fill reads more into the buffer.
func (b *body) fill() error {
	b.limitTime()
	return cutShort(b.c.fill())
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// limitTime sets the time limit of the body when it is waited for.
func (b *body) limitTime() {
	if b.timed {
		return
	}
	b.timed = true
	c := b.c
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	if !c.readSet {
		c.readUntil(time.Now().Add(c.srv.cfg.Timeouts.Body))
	}
}

// breaksOff reports whether the connection must end with the response, as far as
// is known when that begins.
func (b *body) breaksOff() bool {
	if b.kind == bodyNone || b.kind == bodyWhole {
		return false
	}
	if b.unasked.Load() {
		return true // the client may send the body or not
	}
	if !b.mu.TryLock() {
		return false // it is being read
	}
	defer b.mu.Unlock()
	return b.err != nil && b.err != io.EOF || b.err == nil && b.left > maxDrain //nolint:errorlint // ours
}

// settle ends the body: nobody reads it any more. It reports whether the next
// request can be read behind it; for that it may read, and drop, a little that is
// left.
func (b *body) settle(drain bool) (complete bool) {
	if b.kind == bodyNone {
		return true
	}
	if !b.mu.TryLock() {
		// A goroutine of the handler is still reading.
		_ = b.c.raw.SetReadDeadline(longAgo) // fails only if the connection is gone
		b.mu.Lock()
		b.c.readBy = time.Time{}
	}
	defer b.mu.Unlock()
	b.closed = true
	switch {
	case b.kind == bodyWhole, b.err == io.EOF: //nolint:errorlint // ours
		return true
	case b.err != nil, b.unasked.Load(), !drain, b.left > maxDrain:
		return false
	}
	b.timed = true
	b.c.readUntil(time.Now().Add(drainTimeout))
	scratch := make([]byte, 8<<10)
	for dropped := 0; dropped <= maxDrain; {
		n, err := b.read(scratch)
		if err != nil {
			return err == io.EOF //nolint:errorlint // ours
		}
		dropped += n
	}
	return false
}
