package rpc

import (
	"context"
	"sync"

	"google.golang.org/grpc"
)

type callerKey struct{}

// Caller returns what calls the other end of the connection by which a call
// came. ok is false if the wire goes one way only.
func Caller(ctx context.Context) (conn grpc.ClientConnInterface, ok bool) {
	conn, ok = ctx.Value(callerKey{}).(grpc.ClientConnInterface)
	return conn, ok
}

// Flights are the calls in flight on one connection.
type Flights struct {
	conn context.Context //nolint:containedctx // of the connection, whose life this has
	// caller makes what calls the other end, see [Caller]. It may be nil.
	caller func() grpc.ClientConnInterface

	mu       sync.Mutex
	newest   *CallContext
	byNumber map[uint64]*CallContext
	byText   map[string]*CallContext
}

// A Key is the id of a call: a number, or a text if Text is not nil. The zero
// value without IsSet is that of calls that have none.
type Key struct {
	Number uint64
	Text   []byte
	IsSet  bool
}

// NewFlights is for a connection whose context is conn. When it ends, so do
// the contexts of all calls. caller may be nil; else its result is what [Caller]
// returns in handlers.
func NewFlights(conn context.Context, caller func() grpc.ClientConnInterface) *Flights {
	f := &Flights{conn: conn, caller: caller}
	context.AfterFunc(conn, f.endAll)
	return f
}

// Start makes the context of a call. It returns nil if another call with the
// same key is in flight.
func (f *Flights) Start(key Key) *CallContext {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &CallContext{flights: f, key: key}
	switch {
	case !key.IsSet:
	case key.Text == nil:
		if f.byNumber[key.Number] != nil {
			return nil
		}
		if f.byNumber == nil {
			f.byNumber = map[uint64]*CallContext{}
		}
		f.byNumber[key.Number] = c
	default:
		if f.byText[string(key.Text)] != nil {
			return nil
		}
		if f.byText == nil {
			f.byText = map[string]*CallContext{}
		}
		f.byText[string(key.Text)] = c
	}
	if c.next = f.newest; c.next != nil {
		c.next.prev = c
	}
	f.newest = c
	if err := f.conn.Err(); err != nil {
		c.err = err
	}
	return c
}

// End ends a call and its context, and reports whether the client has cancelled
// it. The key must still have the bytes that it began with.
func (f *Flights) End(c *CallContext) (canceled bool) {
	f.mu.Lock()
	canceled = c.canceled
	if f.newest != c && c.prev == nil {
		f.mu.Unlock()
		return canceled // it has ended already
	}
	switch {
	case !c.key.IsSet:
	case c.key.Text == nil:
		delete(f.byNumber, c.key.Number)
	default:
		delete(f.byText, string(c.key.Text))
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		f.newest = c.next
	}
	c.next, c.prev, c.key = nil, nil, Key{}
	f.mu.Unlock()
	c.end(context.Canceled)
	return canceled
}

// Cancel ends the context of a call, if it is in flight.
func (f *Flights) Cancel(key Key) (found bool) {
	f.mu.Lock()
	c := f.byNumber[key.Number]
	if key.Text != nil {
		c = f.byText[string(key.Text)]
	}
	if c != nil {
		c.canceled = true
	}
	f.mu.Unlock()
	if c != nil {
		c.end(context.Canceled)
	}
	return c != nil
}

func (f *Flights) endAll() {
	f.mu.Lock()
	var all []*CallContext
	for c := f.newest; c != nil; c = c.next {
		all = append(all, c)
	}
	f.mu.Unlock()
	for _, c := range all {
		c.end(context.Canceled)
	}
}
