package target

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"
)

// A Pool has as many connections of HTTP/1.1 as calls are made at once. An open loop
// needs it: it has as many callers as calls may be in flight, takes them in turn, and
// would open a connection for each where a few carry the load. The connection that was
// used last is used first, so that those stay open that are needed.
type Pool struct {
	config HTTPConfig
	mu     sync.Mutex
	free   []*HTTP1
	all    []*HTTP1
	closed bool
}

// NewPool makes a pool. It must be closed.
func NewPool(c HTTPConfig) *Pool { return &Pool{config: c} }

// Len is how many connections it has had at once.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// Close closes all connections. Calls fail then.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	for _, h := range p.all {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

func (p *Pool) take() *HTTP1 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		h := p.free[last]
		p.free = p.free[:last]
		return h
	}
	h := NewHTTP1(p.config)
	h.closed = p.closed
	p.all = append(p.all, h)
	return h
}

func (p *Pool) give(h *HTTP1) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, h)
}

// Caller is the pool as one caller sees it, which makes one call at a time.
func (p *Pool) Caller() *PoolCaller { return &PoolCaller{pool: p} }

// A PoolCaller calls by the connections of a pool, and counts its own bytes.
type PoolCaller struct {
	pool    *Pool
	out, in int64
}

// Bytes are those of this caller's calls so far.
func (c *PoolCaller) Bytes() (out, in int64) { return c.out, c.in }

// Invoke sends a *[Request] and fills a *[Response].
func (c *PoolCaller) Invoke(ctx context.Context, path string, in, out any, opts ...grpc.CallOption) error {
	h := c.pool.take()
	defer c.pool.give(h)
	sent, read := h.Bytes()
	err := h.Invoke(ctx, path, in, out, opts...)
	sentThen, readThen := h.Bytes()
	c.out, c.in = c.out+sentThen-sent, c.in+readThen-read
	return err
}

// NewStream is not for HTTP.
func (c *PoolCaller) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errNoStreams
}
