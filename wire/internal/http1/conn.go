package http1

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everywire/everywire/wire/internal/sniff"
)

// The bits of a connection's state. Above them is a number that grows with every
// request, so that two requests never have the same state.
const (
	idle    = 1 << iota // no byte of a request has come
	running             // a handler runs
	calm                // all of its request has been read: nobody else reads
	standby             // the standby reads, until stopStandby
	parted              // Shutdown has closed the connection while it was idle
	request             // the lowest bit of the number
)

// readSize is the length of the buffer that a connection is read into. It grows
// for heads that are longer, until they have been read.
const readSize = 4 << 10

// readBuffers keeps buffers of readSize.
var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// A conn is one connection.
type conn struct {
	srv    *Server
	raw    net.Conn
	ctx    context.Context //nolint:containedctx // of which those of requests are made
	remote string
	tls    *tls.ConnectionState // known when the first head has come

	state   atomic.Uint64
	watched atomic.Bool
	seen    uint64                   // the state at the watch's last look
	current atomic.Pointer[exchange] // whose context ends with the connection
	taken   atomic.Bool              // a handler has it, or HTTP/2

	// in[r:w] has been read and not been used. One goroutine at a time has it:
	// the connection's, the one that reads a body, or the standby.
	in   []byte
	r, w int
	// skipped is set if an empty line was skipped before the next request.
	skipped bool
	// What the socket's deadlines are, as far as the server has set them.
	readBy, writeBy time.Time
	// They are set if a handler has set a deadline of its own.
	readSet, writeSet bool

	deadlines sync.Mutex    // held while the read deadline is set
	stopping  bool          // the standby is to end
	stood     chan struct{} // closed when it has
}

func newConn(s *Server, raw net.Conn) *conn {
	c := &conn{srv: s, raw: raw, remote: raw.RemoteAddr().String(), in: readBuffers.Get().(*[readSize]byte)[:]}
	c.ctx = &connContext{context.Background(), &s.legacy, raw.LocalAddr()}
	if s.cfg.ConnContext != nil {
		c.ctx = s.cfg.ConnContext(c.ctx, raw)
	}
	c.state.Store(idle)
	return c
}

// serve serves requests until the connection ends.
func (c *conn) serve() {
	defer func() {
		if !c.taken.Load() {
			_ = c.raw.Close() // whether it fails or not, that was it
			c.srv.remove(c)
		}
		if len(c.in) == readSize {
			readBuffers.Put((*[readSize]byte)(c.in))
		}
	}()
	for first := true; ; first = false {
		n, err := c.awaitHead()
		if err != nil {
			c.refuse(err, "")
			return
		}
		if first {
			if c.srv.cfg.HTTP2 != nil && string(c.in[c.r:c.r+n]) == http2Preface {
				c.takeOver()
				c.srv.cfg.HTTP2(sniff.Unread(c.raw, bytes.Clone(c.in[c.r:c.w])))
				return
			}
			if t, ok := c.raw.(interface{ ConnectionState() tls.ConnectionState }); ok {
				state := t.ConnectionState()
				c.tls = &state
			}
		}
		x := &exchange{}
		if err := x.parse(c, n); err != nil {
			c.refuse(err, x.req.Method)
			return
		}
		if !c.run(x) {
			return
		}
	}
}

var (
	errGone    = errors.New("the connection has ended")
	errClosing = errors.New("the server is shutting down")
	errIdle    = errors.New("the connection was idle for too long")
)

// awaitHead reads until the buffer begins with a whole head, and returns its
// length. Errors other than a *refusal are for nobody.
func (c *conn) awaitHead() (int, error) {
	var scan headScan
	if c.r == c.w {
		if err := c.awaitRequest(); err != nil {
			return 0, err
		}
	}
	for timed := false; ; {
		unread := c.in[c.r:c.w]
		// Old clients end a body with an empty line (RFC 9112, section 2.2).
		mayEmpty := !c.skipped && unread[0] == '\r'
		if mayEmpty && len(unread) > 1 && unread[1] == '\n' {
			c.skipped = true
			if c.r += len(crlf); c.r == c.w {
				if err := c.awaitRequest(); err != nil {
					return 0, err
				}
			}
			continue
		}
		if !mayEmpty || len(unread) > 1 {
			n, err := c.scanHead(&scan, unread)
			if n > 0 || err != nil {
				c.skipped = false
				return n, err
			}
		}
		if !timed {
			timed = true
			c.readUntil(time.Now().Add(c.srv.cfg.Timeouts.Head))
		}
		if err := c.fill(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return 0, refuse(http.StatusRequestTimeout, "the request's head did not come in within %v", c.srv.cfg.Timeouts.Head)
			}
			return 0, errGone
		}
	}
}

// scanHead looks for the end of the head in what has come of it.
func (c *conn) scanHead(scan *headScan, unread []byte) (int, error) {
	limit := c.srv.cfg.MaxHead
	n, err := scan.end(unread)
	switch {
	case err != nil:
		return 0, err
	case n <= limit && len(unread) < limit, n > 0 && n <= limit:
		return n, nil
	case scan.line == 0:
		return 0, refuse(http.StatusRequestURITooLong, "the request's first line is longer than %d bytes, the limit for all of the head", limit)
	}
	return 0, refuse(http.StatusRequestHeaderFieldsTooLarge, "the request's head is longer than the limit of %d bytes", limit)
}

// awaitRequest waits for the first bytes of the next request. While it does,
// Shutdown may close the connection.
func (c *conn) awaitRequest() error {
	c.r, c.w = 0, 0
	if len(c.in) != readSize {
		c.in = readBuffers.Get().(*[readSize]byte)[:]
	}
	number := c.state.Load() &^ (request - 1)
	c.state.Store(number | idle)
	if c.srv.closing.Load() {
		return errClosing
	}
	limit := c.srv.cfg.Timeouts.Idle
	if now := time.Now(); c.readBy.Sub(now) < limit-limit/8 {
		c.readUntil(now.Add(limit))
	}
	n, err := c.raw.Read(c.in)
	c.w = n
	if !c.state.CompareAndSwap(number|idle, number) {
		return errClosing
	}
	switch {
	case n > 0: // if there is an error too, the next read has it again
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errIdle
	}
	return errGone
}

// fill reads what comes next behind what is there.
func (c *conn) fill() error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if c.w == len(c.in) {
		into := c.in
		if c.r < len(c.in)/2 {
			into = make([]byte, 2*len(c.in))
		}
		c.w = copy(into, c.in[c.r:c.w])
		c.r, c.in = 0, into
	}
	n, err := c.raw.Read(c.in[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	return err
}

// readUntil sets the read deadline.
func (c *conn) readUntil(t time.Time) {
	c.readBy = t
	_ = c.raw.SetReadDeadline(t) // fails only if the connection is gone, which the next read says
}

// longAgo makes a deadline that has passed.
var longAgo = time.Unix(1, 0)

// writePiece is how much is written before the client must have taken some.
const writePiece = 256 << 10

// write writes b, with the server's write deadline unless the handler has one.
func (c *conn) write(b []byte, now time.Time) error {
	for {
		c.limitWrite(now)
		n, err := c.raw.Write(b[:min(len(b), writePiece)])
		if b = b[n:]; err != nil || len(b) == 0 {
			return err
		}
		now = time.Now()
	}
}

// limitWrite moves the deadline of writes on.
func (c *conn) limitWrite(now time.Time) {
	limit := c.srv.cfg.Timeouts.Write
	if !c.writeSet && c.writeBy.Sub(now) < limit-limit/8 {
		c.writeBy = now.Add(limit)
		_ = c.raw.SetWriteDeadline(c.writeBy) // fails only if the connection is gone
	}
}

// run runs the handler and answers. It reports whether the connection is good
// for another request.
func (c *conn) run(x *exchange) (again bool) {
	number := c.state.Load()&^(request-1) + request
	s := number | running
	if x.body.kind == bodyNone || x.body.kind == bodyWhole {
		s |= calm
	}
	c.current.Store(x)
	c.state.Store(s)
	if s&calm != 0 {
		c.beWatched()
	}
	returned := false
	defer func() {
		if !returned {
			c.broken(x, recover())
		}
	}()
	if x.req.RequestURI == "*" {
		x.res.Header()["Content-Length"] = []string{"0"} // OPTIONS of the server as a whole
	} else {
		c.srv.cfg.Handler.ServeHTTP(&x.res, &x.req)
	}
	returned = true
	c.over(x)
	if c.taken.Load() {
		return false
	}
	again = x.res.finish() && !c.srv.closing.Load()
	complete := x.body.settle(again)
	switch {
	case x.res.err != nil:
		return false
	case !complete, !again && c.r < c.w:
		c.linger()
		return false
	}
	return again
}

// over ends what began with the handler.
func (c *conn) over(x *exchange) {
	if c.state.Swap(c.state.Load()&^(request-1))&standby != 0 {
		c.stopStandby()
	}
	c.current.Store(nil)
	x.ctx.cancel()
}

// broken ends the request of a handler that has panicked with p or, if p is nil,
// ended its goroutine (runtime.Goexit), in which case this is the last that runs.
func (c *conn) broken(x *exchange, p any) {
	c.over(x)
	if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a value, as net/http compares it
		c.srv.cfg.Logger.LogAttrs(c.ctx, slog.LevelError, "panic in an HTTP handler",
			slog.String("remote", c.remote), slog.String("request", x.req.Method+" "+x.req.RequestURI),
			slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}
	if c.taken.Load() {
		return
	}
	if p != nil {
		x.res.abandon()
	} else {
		x.res.finishLast()
	}
	if complete := x.body.settle(false); !complete && p == nil && x.res.err == nil {
		c.linger()
	}
}

// refuse tells the client why the connection is closed, if it is to be told.
func (c *conn) refuse(err error, method string) {
	var no *refusal
	if !errors.As(err, &no) {
		return
	}
	now := time.Now()
	if c.write(appendRefusal(nil, no, method, now), now) == nil {
		c.linger()
	}
}

// linger says that nothing more will come, and reads until the client has seen
// it: if there was something unread when the connection is closed, TCP resets it,
// and the client may lose what it has not read yet (RFC 9112, section 9.6).
func (c *conn) linger() {
	if half, ok := c.raw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // a connection that is gone has nothing to read either
	}
	c.readUntil(time.Now().Add(c.srv.cfg.Timeouts.Linger))
	_, _ = io.Copy(io.Discard, c.raw) // any end will do
}

// takeOver makes the connection another's.
func (c *conn) takeOver() {
	c.taken.Store(true)
	c.srv.remove(c)
	_ = c.raw.SetDeadline(time.Time{}) // fails only if the connection is gone, which its next user learns
}

// closeIfIdle closes a connection that has no request.
func (c *conn) closeIfIdle() {
	if s := c.state.Load(); s&idle != 0 && c.state.CompareAndSwap(s, s&^idle|parted) {
		_ = c.raw.Close() // its reader ends
	}
}

// abort ends a connection and the context of its request.
func (c *conn) abort() {
	_ = c.raw.Close() // what reads or writes it ends
	if x := c.current.Load(); x != nil {
		x.ctx.cancel()
	}
}
