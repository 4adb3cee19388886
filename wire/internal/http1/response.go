package http1

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// maxHeld is how much of a body of unknown length is held back: if it is all,
	// its length can be told.
	maxHeld = 4 << 10
	// maxCopied is how much of what a handler writes is copied behind the head, in
	// order to be written with it.
	maxCopied = 32 << 10
	// maxPooled bounds the buffers that are kept.
	maxPooled = 64 << 10
)

// buffers are what a response is put together in.
type buffers struct {
	out  []byte // what is to be written: the head, and what is ready of the body
	held []byte // the beginning of a body whose framing is not known, or of a chunk
}

var bufferPool = sync.Pool{New: func() any { return &buffers{out: make([]byte, 0, 1<<10), held: make([]byte, 0, 1<<10)} }}

// framingOf is how the end of a response's body is told.
type bodyEnd uint8

const (
	endUnknown bodyEnd = iota // the head is not done
	endLength
	endChunks
	endClose // of the connection, for HTTP/1.0
	endNone  // there is no body
)

// A response is the http.ResponseWriter of one request. It has a lock since
// goroutines of a handler may use it after the handler has returned, and since
// reading the body may write too.
type response struct {
	c *conn
	x *exchange

	mu       sync.Mutex
	buf      *buffers // nil once the response has ended
	header   http.Header
	status   int   // 0 until it is known
	length   int64 // what the handler declares, -1 if it does not
	written  int64 // by the handler
	end      bodyEnd
	begun    bool // some of the response has been written
	closing  bool // the connection ends with it
	hasDate  bool
	hasType  bool // or an encoding: no type is guessed
	trailers []string
	err      error // of writing
}

var errEnded = errors.New("http1: the handler has returned")

func (w *response) begin(c *conn, x *exchange) {
	w.c, w.x, w.length = c, x, -1
	w.closing = x.req.Close
	w.buf = bufferPool.Get().(*buffers)
}

// Header is [http.ResponseWriter]'s.
func (w *response) Header() http.Header {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.headers()
}

func (w *response) headers() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// WriteHeader is [http.ResponseWriter]'s. As in net/http an informational status
// goes out at once.
func (w *response) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("http1: %d is no status of HTTP", status))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.unusable() != nil:
		w.misused("WriteHeader after the handler has returned or taken over the connection")
	case w.status != 0:
		w.misused("WriteHeader for the second time")
	case status < 200 && status != http.StatusSwitchingProtocols:
		w.inform(status)
	default:
		w.writeHead(status)
	}
}

// unusable says why nothing can be written.
func (w *response) unusable() error {
	switch {
	case w.c.taken.Load():
		return http.ErrHijacked
	case w.buf == nil:
		return errEnded
	}
	return nil
}

func (w *response) misused(what string) {
	w.c.srv.cfg.Logger.LogAttrs(w.c.ctx, slog.LevelWarn, "an HTTP handler misuses its ResponseWriter",
		slog.String("what", what), slog.String("request", w.x.req.Method+" "+w.x.req.RequestURI))
}

// Write is [http.ResponseWriter]'s.
func (w *response) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.unusable(); err != nil {
		return 0, err
	}
	if w.status == 0 {
		w.writeHead(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if !hasBody(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if w.length >= 0 && w.written+int64(len(p)) > w.length {
		return 0, http.ErrContentLength
	}
	w.written += int64(len(p))
	if w.x.req.Method == http.MethodHead {
		if !w.hasType {
			w.hold(p[:min(len(p), max(0, sniffed-len(w.buf.held)))])
		}
		return len(p), nil
	}
	w.body(p)
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// WriteString is [io.StringWriter]'s.
func (w *response) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Answer writes a whole response: the handler's fields and these, and the body.
// It does what Header, WriteHeader and Write do, with less work.
func (w *response) Answer(status int, contentType string, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unusable() != nil || w.status != 0 {
		w.misused("an answer behind another one")
		return
	}
	w.writeHead(status)
	if !hasBody(status) {
		return
	}
	if len(body) > 0 {
		w.hasType = true
		w.buf.out = append(append(append(w.buf.out, "Content-Type: "...), contentType...), crlf...)
	}
	w.length, w.written = int64(len(body)), int64(len(body))
	if w.x.req.Method != http.MethodHead {
		w.body(body)
	}
}

// body takes some of the body.
func (w *response) body(p []byte) {
	if w.end == endUnknown {
		if w.length < 0 && len(w.buf.held)+len(p) <= maxHeld {
			w.hold(p)
			return
		}
		w.endHead(p, false)
	}
	if w.end == endChunks {
		if len(w.buf.held)+len(p) <= maxHeld {
			w.hold(p)
			return
		}
		w.chunk(p)
		return
	}
	w.send(w.takeHeld())
	w.send(p)
}

func (w *response) hold(p []byte) { w.buf.held = append(w.buf.held, p...) }

func (w *response) takeHeld() []byte {
	held := w.buf.held
	w.buf.held = held[:0]
	return held
}

// chunk makes a chunk of what is held and p.
func (w *response) chunk(p []byte) {
	held := w.takeHeld()
	if len(held)+len(p) == 0 {
		return
	}
	w.buf.out = strconv.AppendUint(w.buf.out, uint64(len(held)+len(p)), 16)
	w.buf.out = append(w.buf.out, crlf...)
	w.send(held)
	w.send(p)
	w.send(crlf)
}

// send puts p behind what is to be written, or writes both.
func (w *response) send(p []byte) {
	if len(w.buf.out)+len(p) <= maxCopied {
		w.buf.out = append(w.buf.out, p...)
		return
	}
	if w.err == nil && len(w.buf.out) > 0 && len(p) <= writePiece {
		// One system call where the connection can do that.
		w.begun = true
		now := time.Now()
		w.c.limitWrite(now)
		both := net.Buffers{w.buf.out, p}
		_, w.err = both.WriteTo(w.c.raw)
		w.buf.out = w.buf.out[:0]
		w.failed()
		return
	}
	w.flush(time.Now())
	w.writeOut(p, time.Now())
}

// flush writes what is ready.
func (w *response) flush(now time.Time) {
	if len(w.buf.out) > 0 {
		w.writeOut(w.buf.out, now)
		w.buf.out = w.buf.out[:0]
	}
}

func (w *response) writeOut(b []byte, now time.Time) {
	if w.err == nil && len(b) > 0 {
		w.begun = true
		w.err = w.c.write(b, now)
		w.failed()
	}
}

// failed ends the request's context if writing has failed: nobody gets what the
// handler does.
func (w *response) failed() {
	if w.err != nil {
		w.closing = true
		w.x.ctx.cancel()
	}
}

// sendContinue tells a client that its body is wanted, unless a final response
// has begun.
func (w *response) sendContinue() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unusable() == nil && !w.begun && w.err == nil {
		w.err = w.c.write([]byte("HTTP/1.1 100 Continue\r\n\r\n"), time.Now())
		w.failed()
	}
	return w.err
}

// finish writes what is left of the response after the handler has returned. It
// reports whether the connection can be used on.
func (w *response) finish() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.status == 0 {
		w.writeHead(http.StatusOK)
	}
	if w.end == endUnknown {
		w.endHead(nil, true)
	}
	isHead := w.x.req.Method == http.MethodHead
	switch {
	case isHead || w.end == endNone:
	case w.end == endChunks:
		w.chunk(nil)
		w.buf.out = append(w.buf.out, "0\r\n"...)
		w.buf.out = w.appendTrailers(w.buf.out)
		w.buf.out = append(w.buf.out, crlf...)
	default:
		w.send(w.takeHeld())
		if w.length > w.written {
			// The client must not take what comes next for the rest.
			w.closing = true
			w.misused(fmt.Sprintf("a Content-Length of %d and a body of %d bytes", w.length, w.written))
		}
	}
	w.flush(now)
	w.release()
	return !w.closing && w.err == nil
}

// finishLast is finish for a handler that has ended its goroutine.
func (w *response) finishLast() {
	w.mu.Lock()
	w.closing = true
	if w.status == 0 && w.err == nil {
		now := time.Now()
		no := refuse(http.StatusInternalServerError, "the handler ended without an answer")
		w.err = w.c.write(appendRefusal(nil, no, w.x.req.Method, now), now)
		w.release()
		w.mu.Unlock()
		return
	}
	w.mu.Unlock()
	w.finish()
}

// abandon ends the response as it is.
func (w *response) abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release()
}

// release gives the buffers back; the response has ended. w.mu is held.
func (w *response) release() {
	b := w.buf
	w.buf = nil
	if cap(b.out)+cap(b.held) <= maxPooled {
		b.out, b.held = b.out[:0], b.held[:0]
		bufferPool.Put(b)
	}
	if w.c.readSet { // by the handler: the next request has the server's
		w.c.readSet, w.c.readBy = false, time.Time{}
	}
	if w.c.writeSet {
		w.c.writeSet, w.c.writeBy = false, time.Time{}
	}
}

// hasBody reports whether responses with a status have a body (RFC 9110,
// section 6.4.1).
func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

var _ io.StringWriter = (*response)(nil)
