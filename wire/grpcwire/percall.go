package grpcwire

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

// perCall gives each call a grpc.ClientConn of its own, and closes it behind the call.
type perCall struct {
	dial   func() (*grpc.ClientConn, error)
	common conn // all of a [conn] but its connection

	mu      sync.Mutex
	open    map[*once]struct{}
	closed  bool
	closing sync.WaitGroup // connections whose streams have ended
}

// once is the connection of one call.
type once struct {
	conn
	closing sync.Once
}

func (o *once) close() {
	o.closing.Do(func() { _ = o.cc.Close() }) // it fails only for the second time
}

// begin makes the connection of a call, which end closes.
func (c *perCall) begin(opts []grpc.CallOption) (*once, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := errClosing
	if !c.closed {
		o := &once{conn: c.common}
		if o.cc, err = c.dial(); err == nil {
			c.open[o] = struct{}{}
			return o, nil
		}
	}
	err = rpc.NotSent(err)
	finish(opts, err)
	return nil, err
}

func (c *perCall) end(o *once) {
	o.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, o)
}

// Invoke is [grpc.ClientConnInterface]'s.
func (c *perCall) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	o, err := c.begin(opts)
	if err != nil {
		return err
	}
	defer c.end(o)
	return o.Invoke(ctx, method, args, reply, opts...)
}

// NewStream is [grpc.ClientConnInterface]'s.
func (c *perCall) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	o, err := c.begin(opts)
	if err != nil {
		return nil, err
	}
	var ended sync.Once
	last := grpc.OnFinish(func(error) {
		// grpc-go calls this within the stream's locks. The stream counts until its
		// connection is closed.
		ended.Do(func() { c.whenEnded(o) })
	})
	stream, err := o.NewStream(ctx, desc, method, append(opts[:len(opts):len(opts)], last)...)
	if err != nil {
		ended.Do(func() { c.end(o) })
		return nil, err
	}
	return stream, nil
}

func (c *perCall) whenEnded(o *once) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.open[o]; ok && !c.closed {
		c.closing.Go(func() { c.end(o) })
	}
}

// Close ends the calls in flight, which are then Canceled.
func (c *perCall) Close() error {
	c.mu.Lock()
	c.closed = true
	open := make([]*once, 0, len(c.open))
	for o := range c.open {
		open = append(open, o)
	}
	c.mu.Unlock()
	for _, o := range open {
		o.close()
	}
	c.closing.Wait()
	return nil
}

// paced spaces the attempts to reach each address, which grpc-go does only for
// connections that stay.
func paced(dial func(context.Context, string) (net.Conn, error)) func(context.Context, string) (net.Conn, error) {
	var mu sync.Mutex
	failing := map[string]*rpc.Pacer{}
	return func(ctx context.Context, addr string) (net.Conn, error) {
		mu.Lock()
		p := failing[addr]
		if p == nil {
			p = new(rpc.Pacer)
			failing[addr] = p
		}
		mu.Unlock()
		conn, err := p.Dial(ctx, func(ctx context.Context) (net.Conn, error) { return dial(ctx, addr) })
		if err == nil {
			mu.Lock()
			delete(failing, addr) // a name may have ever new addresses
			mu.Unlock()
		}
		return conn, err
	}
}
