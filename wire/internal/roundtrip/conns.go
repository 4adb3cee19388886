package roundtrip

import (
	"context"
	"net"
	"sync"
)

// Conns are the open connections of a client that others' code makes, such as
// net/http's, and its attempts to open more: what Close must end.
type Conns struct {
	dial    func(ctx context.Context, addr string) (net.Conn, error)
	closing context.Context //nolint:containedctx // ends with Close
	cancel  context.CancelFunc

	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

// NewConns makes an empty set of connections that dial opens.
func NewConns(dial func(ctx context.Context, addr string) (net.Conn, error)) *Conns {
	c := &Conns{dial: dial, open: map[*trackedConn]struct{}{}}
	c.closing, c.cancel = context.WithCancel(context.Background())
	return c
}

// Closing ends with Close.
func (c *Conns) Closing() context.Context { return c.closing }

// Closed says whether Close was called.
func (c *Conns) Closed() bool { return c.closing.Err() != nil }

// DialAddr opens a connection that is in the set until it is closed.
func (c *Conns) DialAddr(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	raw, err := c.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	t := &trackedConn{Conn: raw, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Closed() {
		_ = raw.Close() // nobody has used it
		return nil, ErrClosed
	}
	c.open[t] = struct{}{}
	return t, nil
}

// Close closes all connections; those that would be opened later are closed too.
func (c *Conns) Close() {
	c.mu.Lock()
	c.cancel()
	open := c.open
	c.open = map[*trackedConn]struct{}{}
	c.mu.Unlock()
	for t := range open {
		_ = t.Conn.Close() // the calls that use it learn of it
	}
}

type trackedConn struct {
	net.Conn
	of *Conns
}

// Close takes the connection out of the set.
func (t *trackedConn) Close() error {
	t.of.mu.Lock()
	delete(t.of.open, t)
	t.of.mu.Unlock()
	return t.Conn.Close()
}
