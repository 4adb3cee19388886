package connectwire

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

// conns are a client's open connections and its attempts to open more: what
// Close must end.
type conns struct {
	dial    func(ctx context.Context, addr string) (net.Conn, error)
	closing context.Context //nolint:containedctx // ends with close
	cancel  context.CancelFunc

	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

func newConns(dial func(ctx context.Context, addr string) (net.Conn, error)) *conns {
	c := &conns{dial: dial, open: map[*trackedConn]struct{}{}}
	c.closing, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *conns) closed() bool { return c.closing.Err() != nil }

// dialAddr opens a connection and remembers it until it is closed.
func (c *conns) dialAddr(ctx context.Context, addr string) (net.Conn, error) {
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
	if c.closed() {
		_ = raw.Close() // nobody has used it
		return nil, errClosing
	}
	c.open[t] = struct{}{}
	return t, nil
}

func (c *conns) close() {
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
	of *conns
}

func (t *trackedConn) Close() error {
	t.of.mu.Lock()
	delete(t.of.open, t)
	t.of.mu.Unlock()
	return t.Conn.Close()
}
