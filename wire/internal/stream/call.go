package stream

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// A call is one request of this end that waits for its reply.
type call struct {
	waiter
	id     uint32
	stream *Stream // nil for a unary call

	// What came for the call: the reader's while the call is pending, the
	// caller's afterwards.
	reply []byte
	buf   *buffer // that reply is in
	err   error   // why there is no reply
}

func newCall() any { return &call{waiter: waiter{wake: make(chan struct{}, 1)}} }

// free gives a call back. It is not pending and not among the waiters, so
// nobody signals it any more.
func (c *Conn) free(p *call) {
	p.buf.free()
	select {
	case <-p.wake:
	default:
	}
	*p = call{waiter: waiter{wake: p.wake}}
	c.owner.config().calls.Put(p)
}

// suspectAt is the length of a request from which the next call looks whether
// the peer has closed the connection: it may have found the request too long. A
// look costs a system call.
const suspectAt = 4 << 10

// register makes a pending call with an id that no call in flight has. Ids are
// counted up and wrap around. The error is that the connection is broken.
func (c *Conn) register(s *Stream) (*call, error) {
	c.mu.Lock()
	if c.err == nil && c.lead == vacant && len(c.pending) == 0 && c.suspect.CompareAndSwap(true, false) && c.peeker.isClosed() {
		// Nobody reads, so nobody has seen that the peer closed the connection.
		// This call has not been sent, and can use another one. A call that is
		// pending reads to the end: TLS may hold its reply.
		c.setLead(over)
		c.mu.Unlock()
		c.owner.over(c, io.EOF, nil)
		return nil, io.EOF
	}
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	for {
		c.lastID++
		if _, used := c.pending[c.lastID]; !used {
			break
		}
	}
	p := c.owner.config().calls.Get().(*call)
	p.id, p.stream = c.lastID, s
	if c.pending == nil {
		c.pending = map[uint32]*call{}
	}
	c.pending[p.id] = p
	c.load.Add(1)
	return p, nil
}

// remove takes a call out. c.mu is held.
func (c *Conn) remove(id uint32) {
	delete(c.pending, id)
	c.worked = true
	c.load.Add(-1)
}

// finish tells a call, which was taken out, that its reply is there or will
// never come. c.mu is held.
func (c *Conn) finish(p *call, err error) {
	p.err = err
	c.makeReady(&p.waiter)
	if p.stream != nil {
		p.stream.over(err)
	}
}

// Do runs one call. It returns when the reply has been read, when ctx ends, or
// when the connection breaks: with a *[BrokenError], or a status that says why
// this end closed it. The other errors are those of Append, Read and ctx, and
// ResourceExhausted for a reply longer than the limit.
func (c *Conn) Do(ctx context.Context, x Exchange) (*peer.Peer, error) {
	return c.peer, c.do(ctx, x)
}

func (c *Conn) do(ctx context.Context, x Exchange) error {
	c.raiseLimit(x.MaxFrame())
	p, err := c.register(nil)
	if err != nil {
		return c.unsent(err)
	}
	end, err := c.request(ctx, x, p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.await(ctx, &p.waiter)
	if !p.ready { // ctx has ended, or the connection while there was nothing to read
		if c.pending[p.id] == p {
			c.remove(p.id)
		}
		c.mu.Unlock()
		c.giveUp(x, p.id)
		c.free(p)
		return ctx.Err()
	}
	c.mu.Unlock()
	if err := p.err; err != nil {
		c.free(p)
		return c.broken(err, c.w.isWritten(ctx, end))
	}
	defer c.free(p)
	return x.Read(p.reply)
}

// request writes a call's request. On an error the call is gone.
func (c *Conn) request(ctx context.Context, x Exchange, p *call) (end int64, err error) {
	unit := newBuffer()
	appended := false
	forget := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pending[p.id] == p {
			c.remove(p.id)
		}
	}
	defer func() {
		if !appended { // the encoding panicked
			forget()
		}
	}()
	unit.b, err = x.Append(unit.b, p.id)
	appended = true
	if err != nil {
		forget()
		unit.free()
		return 0, rpc.NotSent(err)
	}
	if len(unit.b) >= suspectAt {
		c.suspect.Store(true)
	}
	if end, err = c.w.write(ctx, unit); err != nil {
		forget()
		return 0, c.unsent(err)
	}
	return end, nil
}

func (c *Conn) giveUp(x Exchange, id uint32) {
	c.Post(func(dst []byte) []byte { return x.AppendCancel(dst, id) })
}

// deliver gives a frame to the call that it is for. Frames for calls that
// nobody waits for any more are dropped. copied is as in begin, and deliver's
// from here on.
func (c *Conn) deliver(f Frame, frame []byte, copied *buffer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.pending[f.ID]
	if !ok {
		copied.free()
		return lastOf(f)
	}
	if limit := c.maxFrame(); len(p.reply)+len(frame) > 2*limit {
		copied.free()
		return &TooLargeError{limit}
	}
	switch {
	case p.buf == nil && copied != nil:
		p.reply, p.buf = frame, copied
		copied = nil
	case p.buf == nil && f.Kind == Reply && len(frame) >= detachAt:
		p.reply, p.buf = frame, c.rd.detach(0)
	case p.buf == nil:
		p.buf = newBuffer()
		fallthrough
	default:
		p.buf.b = append(p.buf.b, frame...)
		p.reply = p.buf.b
	}
	copied.free()
	if f.Kind == Reply {
		c.remove(f.ID)
		err := lastOf(f)
		if err != nil {
			c.endCallsLocked(err) // before the caller knows and calls again
		}
		c.finish(p, nil)
		return err
	}
	return nil
}

// lastOf is the end of a connection whose peer has said its last.
func lastOf(f Frame) error {
	if f.Kind == Reply && f.Last {
		return errTurnedAway
	}
	return nil
}

// errTurnedAway is the end of the calls that were sent after one that the peer could
// not read. They can be made on another connection.
var errTurnedAway = &BrokenError{Err: errors.New("the peer closes it, since it cannot read a request that was sent before")}

// detachAt is the length of a frame from which it is cheaper to give its call
// the read buffer than a copy.
const detachAt = 8 << 10

// failTooLong fails the call whose reply is longer than the limit, apart from
// the others: they may have run.
func (c *Conn) failTooLong(err error, head []byte) {
	var long *TooLargeError
	if !errors.As(err, &long) {
		return
	}
	id, ok := c.session.RouteTooLong(head)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.pending[id]; ok {
		c.remove(id)
		c.finish(p, status.Errorf(codes.ResourceExhausted, "received a reply frame larger than max (%d)", long.Limit))
	}
}
