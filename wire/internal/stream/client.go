package stream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// ClientConfig is what a [Client] is made from.
type ClientConfig struct {
	// Dial opens a connection, ready for the first frame. Its errors are
	// returned by Do and Send as they are; rpc.ClientConfig.Dial fits.
	Dial func(ctx context.Context) (net.Conn, error)
	// Open makes the protocol's state of a new connection.
	Open func(c *Conn) Session
	// MaxFrame is the longest frame in bytes that may come in.
	MaxFrame int
	// MaxInFlight is the number of requests of the server that may run at a
	// time on one connection. Zero means one hundred.
	MaxInFlight int
	// PerCall opens a connection for every call.
	PerCall bool
	// Logger gets what goes wrong with requests of the server. Nil means
	// slog.Default().
	Logger *slog.Logger
	Timeouts
}

// A Client owns at most one connection. It dials when a call needs one, also
// after one has broken. It is safe for concurrent use.
type Client struct {
	cfg    ClientConfig
	common connConfig
	watch  watch
	ctx    context.Context //nolint:containedctx // ends with Close; dialling must not end with the call that began it
	cancel context.CancelFunc

	current atomic.Pointer[Conn] // nil before the first call; may be broken
	pacer   rpc.Pacer

	mu      sync.Mutex
	conns   map[*Conn]struct{}
	dialing *dialing
	closed  bool
	running sync.WaitGroup // dialling
}

type dialing struct {
	done chan struct{}
	conn *Conn
	err  error
}

const (
	// dialTimeout bounds one attempt, as in gRPC; the caller's context may end
	// its wait earlier.
	dialTimeout = 20 * time.Second
	// attempts is how often a call is sent at most, on as many connections. gRPC
	// has the same bound.
	attempts = 5
)

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

// NewClient makes a client. It does not dial.
func NewClient(cfg ClientConfig) *Client {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = 100
	}
	c := &Client{cfg: cfg, conns: map[*Conn]struct{}{}}
	c.common.set(cfg.MaxFrame, cfg.MaxInFlight, cfg.Timeouts, cfg.Logger)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Do runs one call, see [Conn.Do]. If the connection breaks the call is made
// again on a new one, a few times at most, provided that it did not run or may
// run twice. The peer is nil if there was no connection.
func (c *Client) Do(ctx context.Context, x Exchange) (*peer.Peer, error) {
	var first error // that of the attempt before which the call might have run, or of the first
	for attempt := 1; ; attempt++ {
		conn, err := c.connect(ctx)
		if err != nil {
			if first != nil && ctx.Err() == nil {
				return nil, &againError{first, err}
			}
			return nil, rpc.After(first, rpc.NotSent(err))
		}
		err = conn.do(ctx, x)
		c.release(conn)
		if err == nil {
			return conn.peer, nil
		}
		var broken *BrokenError
		if !errors.As(err, &broken) || attempt == attempts || broken.Written && !x.MayRepeat() {
			return conn.peer, rpc.After(first, err)
		}
		if first == nil || broken.Written {
			first = err
		}
	}
}

// An againError is that of a call which lost its connection and got no other.
type againError struct{ first, again error }

func (e *againError) Error() string { return e.GRPCStatus().Message() }

// Unwrap gives the reason why there is no other connection.
func (e *againError) Unwrap() error { return e.again }

// MayHaveRun is what [everywire.MayHaveRun] asks.
func (e *againError) MayHaveRun() bool { return everywire.MayHaveRun(e.first) }

// GRPCStatus makes the error Unavailable to the status package.
func (e *againError) GRPCStatus() *status.Status {
	return status.Newf(codes.Unavailable, "%v; trying again failed: %v", e.first, e.again)
}

// Send sends what add appends, see [Conn.Send].
func (c *Client) Send(ctx context.Context, add func(dst []byte) ([]byte, error)) (*peer.Peer, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	p, err := conn.Send(ctx, add)
	c.release(conn)
	return p, err
}

// release closes a connection that was made for one call.
func (c *Client) release(conn *Conn) {
	if c.cfg.PerCall {
		conn.dismiss()
		c.forget(conn)
	}
}

// dismiss closes a connection that the client has no more use for.
func (c *Conn) dismiss() {
	c.endCalls(errClosing)
	c.part(nil)
	c.fail(errClosing)
}

func (c *Client) forget(conn *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
}

// OpenStream begins a stream, see [Conn.OpenStream].
func (c *Client) OpenStream(ctx context.Context, x Exchange, grant func(dst []byte, id uint32, n int) []byte, broken func(error)) (*Stream, *peer.Peer, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, err := conn.OpenStream(ctx, x, grant, broken)
	if err != nil {
		c.release(conn)
		return nil, conn.peer, err
	}
	s.whenClosed = func() { c.release(conn) }
	return s, conn.peer, nil
}

// Close closes the connection. Calls under way fail with Canceled, and so do
// later ones. It returns nil.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	conns := make([]*Conn, 0, len(c.conns))
	for conn := range c.conns {
		conns = append(conns, conn)
	}
	c.mu.Unlock()
	c.cancel()
	for _, conn := range conns {
		conn.dismiss()
		conn.readers.Wait()
	}
	c.running.Wait()
	return nil
}

func (c *Client) config() *connConfig { return &c.common }

func (c *Client) keepsReading() bool { return false }

// over is [owner]'s.
func (c *Client) over(conn *Conn, err error, head []byte) {
	conn.failTooLong(err, head)
	cause := conn.w.cause(err)
	conn.endCalls(cause)
	if !isNetError(err) {
		conn.part(err)
	}
	conn.fail(cause)
	c.forget(conn)
}

// connect returns the connection, after dialling if there is none. Callers
// that need one at the same time wait for the same attempt.
func (c *Client) connect(ctx context.Context) (*Conn, error) {
	if c.cfg.PerCall {
		if c.ctx.Err() != nil {
			return nil, errClosing
		}
		if err := c.pacer.Begin(); err != nil {
			return nil, err
		}
		conn, err := c.dial(ctx)
		if err == nil || ctx.Err() == nil {
			c.pacer.End(err)
		}
		return conn, err
	}
	if conn := c.current.Load(); conn != nil && !conn.isBroken() {
		return conn, nil
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errClosing
	}
	if conn := c.current.Load(); conn != nil && !conn.isBroken() {
		c.mu.Unlock()
		return conn, nil
	}
	d := c.dialing
	if d == nil {
		if err := c.pacer.Begin(); err != nil {
			c.mu.Unlock()
			return nil, err
		}
		d = &dialing{done: make(chan struct{})}
		c.dialing = d
		c.running.Go(func() { c.dialShared(d) }) //nolint:contextcheck // others wait for it too: it has the client's context
	}
	c.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) dialShared(d *dialing) {
	d.conn, d.err = c.dial(c.ctx)
	c.mu.Lock()
	c.dialing = nil
	if d.err == nil {
		c.current.Store(d.conn)
	}
	c.pacer.End(d.err)
	c.mu.Unlock()
	close(d.done)
}

func (c *Client) dial(ctx context.Context) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	raw, err := c.cfg.Dial(ctx)
	for attempt := 1; attempt < attempts && errors.Is(err, syscall.ECONNRESET); attempt++ {
		// A server is there, and has closed the connection in the moment of its
		// making.
		raw, err = c.cfg.Dial(ctx)
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock() // TLS may take seconds to close
		if err == nil {
			_ = raw.Close() // nobody has used it
		}
		return nil, errClosing
	}
	defer c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	conn := newConn(c, raw, &c.watch)
	conn.session = c.cfg.Open(conn)
	conn.rd.framer = conn.session
	conn.peeker = newPeeker(raw)
	c.conns[conn] = struct{}{}
	conn.beWatched()
	return conn, nil
}
