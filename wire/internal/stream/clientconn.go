package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// A clientConn is one connection of a [Client] and the calls pending on it.
type clientConn struct {
	peer     *peer.Peer
	session  ClientSession
	w        *writer
	rd       reader
	maxFrame atomic.Int64
	count    atomic.Int64 // of pending calls

	mu      sync.Mutex
	pending map[uint32]*pending
	lastID  uint32
	err     error // why it is broken
}

// A pending call. Whoever takes it out of the map, under the lock, may send
// on done: exactly once.
type pending struct {
	done chan error // nil if frames is the whole reply
	// frames has what came for the call. It is the reader's while the call is
	// in the map and the caller's afterwards.
	frames *buffer
}

func newClientConn(conn net.Conn, p *peer.Peer, cfg ClientConfig) *clientConn {
	c := &clientConn{peer: p, session: cfg.Open(), pending: map[uint32]*pending{}}
	c.maxFrame.Store(int64(cfg.MaxFrame))
	c.w = newWriter(conn, cfg.WriteTimeout, func() bool { return c.count.Load() > 1 })
	c.rd = reader{conn: conn, framer: c.session, timeout: cfg.ReadTimeout, limit: func() int { return int(c.maxFrame.Load()) }}
	return c
}

func (c *clientConn) isBroken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// register makes a pending call with an id that no call in flight has. Ids are
// counted up and wrap around. ok is false if the connection is broken.
func (c *clientConn) register(maxFrame int) (p *pending, id uint32, ok bool) {
	for old := c.maxFrame.Load(); int64(maxFrame) > old && !c.maxFrame.CompareAndSwap(old, int64(maxFrame)); old = c.maxFrame.Load() {
	}
	p = &pending{done: make(chan error, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, 0, false
	}
	for {
		c.lastID++
		if _, used := c.pending[c.lastID]; !used {
			break
		}
	}
	c.pending[c.lastID] = p
	c.count.Add(1)
	return p, c.lastID, true
}

// forget takes a call out; false means that somebody else has: then done has
// its end, or will at once.
func (c *clientConn) forget(id uint32, p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[id] != p {
		return false
	}
	c.remove(id)
	return true
}

func (c *clientConn) remove(id uint32) {
	delete(c.pending, id)
	c.count.Add(-1)
}

func (c *clientConn) do(ctx context.Context, x Exchange, p *pending, id uint32) (err error) {
	unit := newBuffer()
	appended := false
	defer func() {
		if !appended { // the encoding panicked
			c.forget(id, p)
		}
	}()
	unit.b, err = x.Append(unit.b, id)
	appended = true
	if err != nil {
		c.forget(id, p)
		unit.free()
		return err
	}
	end, err := c.w.write(ctx, unit)
	if err != nil {
		c.forget(id, p)
		return c.broken(err, false)
	}
	select {
	case err = <-p.done:
	case <-ctx.Done():
		if c.forget(id, p) {
			c.giveUp(x, id)
			return ctx.Err()
		}
		err = <-p.done // the reply won the race
	}
	if err != nil {
		return c.broken(err, c.w.isWritten(end)) //nolint:contextcheck // the connection is closed: the wait is short
	}
	defer p.frames.free()
	return x.Read(p.frames.b)
}

func (c *clientConn) giveUp(x Exchange, id uint32) {
	unit := newBuffer()
	if unit.b = x.AppendCancel(unit.b, id); len(unit.b) > 0 {
		c.w.post(unit)
		return
	}
	unit.free()
}

func (c *clientConn) send(ctx context.Context, add func([]byte) ([]byte, error)) (err error) {
	unit := newBuffer()
	unit.b, err = add(unit.b)
	if err != nil {
		unit.free()
		return err
	}
	end, err := c.w.write(ctx, unit)
	if err == nil {
		err = c.w.flushed(ctx, end)
	}
	if err != nil {
		return c.broken(err, false)
	}
	return nil
}

// broken words the end of a connection for one call.
func (c *clientConn) broken(err error, written bool) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, net.ErrClosed) {
		// Another goroutine closed it and told the reason to fail.
		c.mu.Lock()
		if c.err != nil {
			err = c.err
		}
		c.mu.Unlock()
		if _, ok := status.FromError(err); ok {
			return err
		}
	}
	when := "before the request was written; it did not run"
	if written {
		when = "after the request was written; it may have run"
	}
	if err == io.EOF { //nolint:errorlint // the reader returns io.EOF itself
		err = errors.New("the server closed it")
	}
	return status.Errorf(codes.Unavailable, "the connection broke %s: %v", when, err)
}

// read is the reading goroutine. It ends when the connection does.
func (c *clientConn) read() {
	for {
		frame, err := c.rd.next()
		if err == nil {
			err = c.route(frame)
		}
		if err != nil {
			var long *TooLargeError
			if errors.As(err, &long) {
				c.failTooLong(long)
			}
			c.fail(c.w.cause(err))
			return
		}
	}
}

func (c *clientConn) route(frame []byte) error {
	id, kind, err := c.session.Route(frame)
	if err != nil || kind == Ignore {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.pending[id]
	if !ok {
		return nil // the caller has gone
	}
	if p.frames == nil {
		p.frames = newBuffer()
	}
	if limit := int(c.maxFrame.Load()); len(p.frames.b)+len(frame) > 2*limit {
		return &TooLargeError{limit}
	}
	p.frames.b = append(p.frames.b, frame...)
	if kind == Reply {
		c.remove(id)
		p.done <- nil
	}
	return nil
}

// failTooLong fails the call whose reply is longer than the limit, apart from
// the others: they may have run.
func (c *clientConn) failTooLong(long *TooLargeError) {
	id, ok := c.session.RouteTooLong(c.rd.unread())
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.pending[id]; ok {
		c.remove(id)
		p.done <- status.Errorf(codes.ResourceExhausted, "received a reply frame larger than max (%d)", long.Limit)
	}
}

// fail breaks the connection: no more calls, and those pending fail with err.
func (c *clientConn) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
		for id, p := range c.pending {
			c.remove(id)
			p.done <- err
		}
	}
	c.mu.Unlock()
	c.w.fail(err)
}
