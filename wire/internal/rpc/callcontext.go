package rpc

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire"
)

// A CallContext is the context of a call that comes in. It is all in one: what
// five contexts around each other would hold, and its Done channel and timer are
// made when somebody asks for them. Most handlers never do.
//
// It ends when the call does, when the client cancels it, when the connection
// ends, or at its deadline. On a connection of calls [Flights] makes it. Where a
// request has a context already, as in HTTP, ServerConfig.Unary makes it within
// that one.
type CallContext struct {
	flights  *Flights        // nil within another context
	within   context.Context //nolint:containedctx // nil on a connection of calls
	key      Key
	canceled bool // by the client; flights.mu
	// The others in flight.
	next, prev *CallContext

	// Set by ServerConfig.Unary before the handler sees the context.
	md     metadata.MD
	peer   *peer.Peer
	stream transportStream

	outcome Outcome // what ServerConfig.Unary returns

	mu        sync.Mutex
	deadline  time.Time // zero if there is none
	timer     *time.Timer
	done      chan struct{} // nil until it is asked for
	err       error
	callbacks map[*func()]struct{}
	leave     func() bool // ends the waiting for within
}

// newContext makes the context of a call within another.
func newContext(ctx context.Context) *CallContext {
	c := &CallContext{within: ctx}
	if d, ok := ctx.Deadline(); ok {
		c.deadline = d
	}
	return c
}

// begin sets what the handler finds in the context.
func (c *CallContext) begin(m *everywire.Method, md metadata.MD, p *peer.Peer, timeout time.Duration) *transportStream {
	c.md, c.peer = md, p
	c.stream.method = m.Path()
	if timeout != 0 {
		c.ClampDeadline(time.Now().Add(timeout))
	}
	return &c.stream
}

// Deadline is [context.Context]'s.
func (c *CallContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline, !c.deadline.IsZero()
}

// Done is [context.Context]'s.
func (c *CallContext) Done() <-chan struct{} {
	_ = c.Err() // its deadline may have passed already
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
		c.arm()
	}
	return c.done
}

// Err is [context.Context]'s.
func (c *CallContext) Err() error {
	c.mu.Lock()
	err := c.err
	late := err == nil && !c.deadline.IsZero() && !time.Now().Before(c.deadline)
	c.mu.Unlock()
	if err == nil && c.within != nil && c.within.Err() != nil {
		c.end(c.within.Err())
		return c.within.Err()
	}
	if late {
		c.end(context.DeadlineExceeded)
		return context.DeadlineExceeded
	}
	return err
}

// Value is [context.Context]'s. It knows what package metadata, package peer
// and grpc.ServerTransportStreamFromContext ask for.
func (c *CallContext) Value(key any) any {
	switch key {
	case keys.metadata:
		return c.md
	case keys.peer:
		return c.peer
	case keys.stream:
		return grpc.ServerTransportStream(&c.stream)
	}
	if c.within != nil {
		return c.within.Value(key)
	}
	if key == (callerKey{}) {
		if c.flights.caller == nil {
			return nil
		}
		return c.flights.caller()
	}
	return c.flights.conn.Value(key)
}

// AfterFunc makes contexts that are derived from this one cheap: package
// context calls it in place of starting a goroutine for each.
func (c *CallContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		go f() // package context holds a mutex that f takes
		return func() bool { return false }
	}
	defer c.mu.Unlock()
	if c.callbacks == nil {
		c.callbacks = map[*func()]struct{}{}
	}
	at := &f
	c.callbacks[at] = struct{}{}
	c.arm()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.callbacks[at]
		delete(c.callbacks, at)
		return waits
	}
}

// ClampDeadline lets the context end at d at the latest. Package everywire
// looks for this method.
func (c *CallContext) ClampDeadline(d time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || !c.deadline.IsZero() && !d.Before(c.deadline) {
		return
	}
	c.deadline = d
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if c.done != nil || len(c.callbacks) > 0 {
		c.arm()
	}
}

// arm starts the timer, and the waiting for the end of within. c.mu is held.
func (c *CallContext) arm() {
	if c.within != nil && c.leave == nil && c.err == nil {
		c.leave = context.AfterFunc(c.within, func() { c.end(c.within.Err()) })
	}
	if c.timer == nil && c.err == nil && !c.deadline.IsZero() {
		c.timer = time.AfterFunc(time.Until(c.deadline), func() { c.end(context.DeadlineExceeded) })
	}
}

func (c *CallContext) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	callbacks, leave := c.callbacks, c.leave
	c.callbacks = nil
	c.mu.Unlock()
	if leave != nil {
		leave()
	}
	for f := range callbacks {
		(*f)()
	}
}

// keys are the keys under which gRPC's packages keep values in a context. They
// do not export them, but they do tell them to a context that they ask.
var keys = func() (k struct{ metadata, peer, stream any }) {
	var l listener
	_, _ = metadata.FromIncomingContext(&l)
	k.metadata = l.key
	_, _ = peer.FromContext(&l)
	k.peer = l.key
	_ = grpc.ServerTransportStreamFromContext(&l)
	k.stream = l.key
	return k
}()

// A listener is a context that hears what it is asked for.
type listener struct {
	context.Context //nolint:containedctx // it is none; only Value is called
	key             any
}

func (l *listener) Value(key any) any {
	l.key = key
	return nil
}
