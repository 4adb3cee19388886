package roundtrip

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	// smallBuffer is what a connection's buffers begin with, and what is left
	// of them between calls is at most largeBuffer.
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
	// separate is the length from which a body is not copied behind its head, and
	// is written while the response is read: a server may answer before it has
	// read all of it.
	separate = 32 << 10
	// restTime is how long a connection may have been idle and be used without a
	// look at whether the server has closed it, which is a system call.
	restTime = time.Millisecond
)

// A conn is a connection; one call at a time has it.
type conn struct {
	net.Conn
	transport *Transport
	used      bool // it has carried a response
	since     time.Time
	peek      *peeker

	out  []byte // the head of a request, and a short body
	in   []byte // in[r:w] has been read and is not consumed
	r, w int
	once sync.Once
}

// close closes the connection, once.
func (c *conn) close() {
	c.once.Do(func() {
		c.transport.forget(c)
		_ = c.Close() // what it was for has ended
	})
}

// fresh reports whether the connection can be used again, as far as one can see.
func (c *conn) fresh() bool {
	idle := time.Since(c.since)
	if limit := c.transport.IdleTimeout; limit > 0 && idle >= limit {
		return false
	}
	if idle < restTime {
		return true
	}
	if c.peek == nil {
		c.peek = newPeeker(c.Conn)
	}
	return !c.peek.spoiled()
}

// A staleError is the failure of a connection that had carried calls before,
// in which no byte of a response came.
type staleError struct {
	err     error
	written bool // something of the request was sent
}

func (e *staleError) Error() string { return e.err.Error() }
func (e *staleError) Unwrap() error { return e.err }

// interrupted is in the past: a deadline that ends what waits.
var interrupted = time.Unix(1, 0)

// roundTrip sends a request and reads the head of its response. If it fails the
// connection is of no use any more.
func (c *conn) roundTrip(r *http.Request, body []byte) (*http.Response, error) {
	release := func() bool { return true }
	if ctx := r.Context(); ctx.Done() != nil {
		release = context.AfterFunc(ctx, func() { _ = c.SetDeadline(interrupted) }) // it fails on a closed one
	}
	res, err := c.exchange(r, body, release)
	if err != nil {
		release()
	}
	return res, err
}

func (c *conn) exchange(r *http.Request, body []byte, release func() bool) (*http.Response, error) {
	if c.out == nil {
		c.out, c.in = make([]byte, 0, smallBuffer), make([]byte, smallBuffer)
	}
	reused := c.used
	c.used = true
	var err error
	if c.out, err = appendHead(c.out[:0], r, len(body), c.transport.MaxIdle == 0); err != nil {
		return nil, err
	}
	var writing chan error // of a body that is written while the response is read
	var written error
	if len(body) < separate {
		c.out = append(c.out, body...)
		n, err := c.Write(c.out)
		if err != nil && n == 0 && reused {
			return nil, &staleError{err, false}
		}
		written = err // a server that has closed its side may have said why: that is read below
	} else {
		writing = make(chan error, 1)
		go func() {
			whole := net.Buffers{c.out, body}
			_, err := whole.WriteTo(c.Conn)
			writing <- err
		}()
	}
	head, err := c.readHead()
	if err != nil {
		if writing != nil {
			_ = c.SetDeadline(interrupted) // ends the writing
			written = <-writing
		}
		if reused && c.w == 0 && isClosed(err) {
			return nil, &staleError{err, true}
		}
		if written != nil && !errors.Is(written, os.ErrDeadlineExceeded) {
			return nil, written
		}
		return nil, err
	}
	return c.response(r, head, written == nil, writing, release)
}

func isClosed(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op) && !op.Timeout()
}

// fill reads once, behind what has been read. limit bounds what is unconsumed.
func (c *conn) fill(limit int) error {
	switch {
	case c.r == c.w:
		c.r, c.w = 0, 0
	case c.w == len(c.in) && c.r > 0:
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.in) {
		if len(c.in) >= limit {
			return errTooLong
		}
		c.in = append(c.in, make([]byte, min(len(c.in), limit-len(c.in)))...)
	}
	n, err := c.Read(c.in[c.w:])
	c.w += n
	if n > 0 {
		return nil // an error comes again
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// done gives the connection back after a response was read to its end, or
// closes it.
func (c *conn) done(reuse bool) {
	if !reuse || c.r != c.w { // nobody has asked for what follows
		c.close()
		return
	}
	if cap(c.out) > largeBuffer {
		c.out = make([]byte, 0, smallBuffer)
	}
	if len(c.in) > largeBuffer {
		c.in = make([]byte, smallBuffer)
	}
	c.r, c.w = 0, 0
	c.transport.keep(c)
}
