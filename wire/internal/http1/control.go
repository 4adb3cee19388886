package http1

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

// What http.ResponseController, and handlers that ask for an interface, find.
var _ interface {
	http.Flusher
	http.Hijacker
	FlushError() error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	EnableFullDuplex() error
} = (*response)(nil)

// Flush is [http.Flusher]'s.
func (w *response) Flush() { _ = w.FlushError() } // there is nobody to tell

// FlushError writes what there is of the response.
func (w *response) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.unusable(); err != nil {
		return err
	}
	w.flushAll()
	return w.err
}

func (w *response) flushAll() {
	if w.status == 0 {
		w.writeHead(http.StatusOK)
	}
	if w.end == endUnknown {
		w.endHead(nil, false)
	}
	switch {
	case w.x.req.Method == http.MethodHead:
		w.takeHeld()
	case w.end == endChunks:
		w.chunk(nil)
	default:
		w.send(w.takeHeld())
	}
	w.flush(time.Now())
}

// EnableFullDuplex does nothing: a body can always be read beside writing the
// response.
func (w *response) EnableFullDuplex() error { return nil }

// SetReadDeadline bounds the reading of the request's body, in place of the
// server's limit. It does not end the handler's context.
func (w *response) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.unusable(); err != nil {
		return err
	}
	c := w.c
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	if c.state.Load()&calm != 0 {
		return nil // there is nothing left to read
	}
	c.readSet, c.readBy = true, t
	return c.raw.SetReadDeadline(t)
}

// SetWriteDeadline bounds the writing of the response, in place of the server's
// limit.
func (w *response) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.unusable(); err != nil {
		return err
	}
	w.c.writeSet, w.c.writeBy = true, t
	return w.c.raw.SetWriteDeadline(t)
}

// Hijack is [http.Hijacker]'s. The reader has what has been read and not used.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.unusable(); err != nil {
		return nil, nil, err
	}
	c := w.c
	if w.status != 0 {
		w.flushAll()
	}
	// Without these bits no standby begins any more.
	if c.state.Swap(c.state.Load()&^(request-1))&standby != 0 {
		c.stopStandby()
	}
	unread := append([]byte(nil), w.x.body.rest()...)
	unread = append(unread, c.in[c.r:c.w]...)
	c.r, c.w = 0, 0
	w.release()
	c.takeOver()
	r := bufio.NewReader(c.raw)
	if len(unread) > 0 {
		r = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(unread), c.raw), max(len(unread), 4<<10))
		if _, err := r.Peek(len(unread)); err != nil { // it is in memory
			return nil, nil, err
		}
	}
	return c.raw, bufio.NewReadWriter(r, bufio.NewWriter(c.raw)), nil
}

// rest ends the body for a handler that takes the connection over, and returns
// what came of it with its head.
func (b *body) rest() []byte {
	if b.kind == bodyNone {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.whole
}
