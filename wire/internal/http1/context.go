package http1

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A connContext is the context of a connection. It does not end; those of its
// requests do.
type connContext struct {
	context.Context //nolint:containedctx // the background
	server          *http.Server
	local           net.Addr
}

// Value is [context.Context]'s, and knows what net/http's contexts do.
func (c *connContext) Value(key any) any {
	switch key {
	case http.ServerContextKey:
		return c.server
	case http.LocalAddrContextKey:
		return c.local
	}
	return nil
}

// A requestContext is the context of a request. It ends when the handler
// returns, when the client goes away, and when the server gives up waiting. Its
// channel is made when somebody asks for it.
type requestContext struct {
	conn context.Context //nolint:containedctx // only for its values

	mu        sync.Mutex
	done      chan struct{}
	err       error
	callbacks map[*func()]struct{}
}

// Deadline is [context.Context]'s.
func (c *requestContext) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done is [context.Context]'s.
func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err is [context.Context]'s.
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value is [context.Context]'s.
func (c *requestContext) Value(key any) any { return c.conn.Value(key) }

// AfterFunc makes contexts that are derived from this one cheap: package context
// calls it in place of starting a goroutine for each.
func (c *requestContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f() // package context holds a mutex that f takes
		return func() bool { return false }
	}
	if c.callbacks == nil {
		c.callbacks = map[*func()]struct{}{}
	}
	at := &f
	c.callbacks[at] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.callbacks[at]
		delete(c.callbacks, at)
		return waits
	}
}

// cancel ends the context.
func (c *requestContext) cancel() {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = context.Canceled
	if c.done != nil {
		close(c.done)
	}
	callbacks := c.callbacks
	c.callbacks = nil
	c.mu.Unlock()
	for f := range callbacks {
		(*f)()
	}
}
