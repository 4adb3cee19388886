package stream

import (
	"context"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Window is the credit in bytes with which each direction of a stream begins.
// Whoever sends may send one more message while its credit is more than
// nothing, whatever the message's length: so a message longer than the window
// can be sent, and a stream holds at most the window and one message.
const Window = 64 << 10

// A Stream is the flow of messages of one call, in both directions. One
// goroutine may receive and another one send.
type Stream struct {
	conn *Conn
	// grant appends the frame that gives the peer n bytes of credit.
	grant func(dst []byte, n int) []byte

	// Of a call of this end.
	call     *call
	exchange Exchange
	end      int64 // of the request, in the writer
	broken   func(error)
	// whenClosed is called by Close; it may be nil.
	whenClosed func()

	// All that follows: conn.mu.
	receiver, sender waiter
	in               []message
	arrived          int  // bytes that have arrived and are not granted again
	consumed         int  // bytes of them that were received
	credit           int  // bytes that may be sent
	closed           bool // no more messages come
	err              error
	current          *buffer // what Recv has returned; the receiver's
}

// A message is one frame that waits for Recv.
type message struct {
	buf  *buffer
	cost int
}

func (c *Conn) newStream(grant func(dst []byte, n int) []byte) *Stream {
	s := &Stream{conn: c, grant: grant, credit: Window}
	s.receiver.wake, s.sender.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	return s
}

// NewStream makes the stream of a request of the peer. The [Session] delivers
// to it. Its task must call Close.
func (c *Conn) NewStream(grant func(dst []byte, n int) []byte) *Stream { return c.newStream(grant) }

// OpenStream begins a call that is a stream: x's request is sent. The caller
// must end it with Reply or Cancel. broken is called, and must not block, if the
// connection ends before the reply has come, for a caller that may not look.
func (c *Conn) OpenStream(ctx context.Context, x Exchange, grant func(dst []byte, id uint32, n int) []byte, broken func(error)) (*Stream, error) {
	c.raiseLimit(x.MaxFrame())
	s := c.newStream(nil)
	s.broken = broken
	p, err := c.register(s)
	if err != nil {
		return nil, c.unsent(err)
	}
	id := p.id
	s.grant = func(dst []byte, n int) []byte { return grant(dst, id, n) }
	s.call, s.exchange = p, x
	s.end, err = c.request(ctx, x, p)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// StreamOf returns the stream of a call of this end, nil if there is none. It
// is for a [Session].
func (c *Conn) StreamOf(id uint32) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pending[id]; p != nil {
		return p.stream
	}
	return nil
}

// Post sends a small frame of the stream, see [Conn.Post].
func (s *Stream) Post(add func(dst []byte) []byte) { s.conn.Post(add) }

// ID is the id of the call, if it is one of this end.
func (s *Stream) ID() uint32 { return s.call.id }

// Deliver gives the stream a frame, of which it makes a copy; cost is the length of the
// message in it. A peer that sends beyond its credit fails the stream, and no
// other. It does not block.
func (s *Stream) Deliver(frame []byte, cost int) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.closed || s.err != nil:
		return
	case s.arrived >= Window:
		s.fail(status.Errorf(codes.ResourceExhausted, "the peer sent more than the stream's window of %d bytes", Window))
		return
	}
	s.arrived += cost
	m := message{newBuffer(), cost}
	m.buf.b = append(m.buf.b, frame...)
	s.in = append(s.in, m)
	c.makeReady(&s.receiver)
}

// Grant gives this end n more bytes of credit.
func (s *Stream) Grant(n int) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.credit = min(s.credit+max(n, 0), 1<<30)
	s.conn.makeReady(&s.sender)
}

// CloseReceive says that the peer sends no more messages.
func (s *Stream) CloseReceive() {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.closed = true
	s.conn.makeReady(&s.receiver)
}

// Fail ends both directions with err. What has arrived is dropped.
func (s *Stream) Fail(err error) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.fail(err)
}

func (s *Stream) fail(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	s.drop()
	s.conn.makeReady(&s.receiver)
	s.conn.makeReady(&s.sender)
}

func (s *Stream) drop() {
	for _, m := range s.in {
		m.buf.free()
	}
	s.in = nil
}

// over is called when the call's reply is there, or will never come.
func (s *Stream) over(err error) {
	if err != nil {
		err = s.conn.brokenStream(err)
		s.fail(err)
		s.broken(err)
	}
	s.closed = true
	s.conn.makeReady(&s.receiver)
	s.conn.makeReady(&s.sender)
}

// brokenStream words the end of a connection. c.mu is held.
func (c *Conn) brokenStream(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return &BrokenError{Written: true, Err: reworded(err)}
}

// Recv returns the next frame that was delivered, valid until the next call.
// The error is io.EOF when no more come, that of Fail, or ctx's.
func (s *Stream) Recv(ctx context.Context) ([]byte, error) {
	c := s.conn
	c.mu.Lock()
	for len(s.in) == 0 && !s.closed && s.err == nil && c.err == nil && ctx.Err() == nil {
		s.receiver.ready = false
		c.await(ctx, &s.receiver)
	}
	s.current.free()
	s.current = nil
	var err error
	grant := 0
	switch {
	case s.err != nil:
		err = s.err
	case len(s.in) > 0:
		m := s.in[0]
		s.in[0] = message{}
		s.in = s.in[1:]
		s.current = m.buf
		if s.consumed += m.cost; s.consumed >= Window/2 && !s.closed {
			grant = s.consumed
			s.arrived -= grant
			s.consumed = 0
		}
	case s.closed:
		err = io.EOF
	case c.err != nil:
		err = c.brokenStream(c.err)
	default:
		err = ctx.Err()
	}
	c.mu.Unlock()
	if grant > 0 {
		c.Post(func(dst []byte) []byte { return s.grant(dst, grant) })
	}
	if err != nil {
		return nil, err
	}
	return s.current.b, nil
}

// Send sends what add appends, when there is credit; cost is the length of the
// message in it. It returns io.EOF if the call of this end is over: Reply says
// why.
func (s *Stream) Send(ctx context.Context, add func(dst []byte) (out []byte, cost int, err error)) (err error) {
	unit := newBuffer()
	var cost int
	if unit.b, cost, err = add(unit.b); err != nil {
		unit.free()
		return err
	}
	if err := s.reserve(ctx, cost); err != nil {
		unit.free()
		return err
	}
	_, err = s.conn.w.write(ctx, unit)
	if err != nil {
		return s.conn.broken(err, true)
	}
	return nil
}

func (s *Stream) reserve(ctx context.Context, cost int) error {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for s.credit <= 0 && s.err == nil && c.err == nil && !s.isOver() && ctx.Err() == nil {
		s.sender.ready = false
		c.await(ctx, &s.sender)
	}
	switch {
	case s.isOver():
		return io.EOF
	case s.err != nil:
		return s.err
	case c.err != nil:
		return c.brokenStream(c.err)
	case s.credit <= 0:
		return ctx.Err()
	}
	s.credit -= cost
	return nil
}

// isOver reports whether the call's reply is there. conn.mu is held.
func (s *Stream) isOver() bool { return s.call != nil && s.call.ready }

// Reply waits for the end of a call of this end and lets its exchange read the
// reply. It returns as [Conn.Do] does.
func (s *Stream) Reply(ctx context.Context) error {
	c, p := s.conn, s.call
	c.mu.Lock()
	c.await(ctx, &p.waiter)
	ready := p.ready
	c.mu.Unlock()
	if !ready {
		s.Cancel()
		return ctx.Err()
	}
	defer s.Close()
	if p.err != nil {
		return c.broken(p.err, c.w.isWritten(ctx, s.end))
	}
	return s.exchange.Read(p.reply)
}

// Cancel ends a call of this end that nobody waits for any more, and tells the
// peer.
func (s *Stream) Cancel() {
	c, p := s.conn, s.call
	c.mu.Lock()
	pending := c.pending[p.id] == p
	if pending {
		c.remove(p.id)
	}
	c.mu.Unlock()
	if pending {
		c.giveUp(s.exchange, p.id)
	}
	s.Close()
}

// Close frees what has arrived. Nothing more is received or sent.
func (s *Stream) Close() {
	s.Fail(errStreamOver)
	if f := s.whenClosed; f != nil {
		s.whenClosed = nil
		f()
	}
}

var errStreamOver = status.Error(codes.Canceled, "the stream is over")
