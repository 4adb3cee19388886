package stream

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// ClientConfig is what a [Client] is made from.
type ClientConfig struct {
	// Dial opens a connection, ready for the first frame. Its errors are
	// returned by Do and Send as they are; rpc.ClientConfig.Dial fits.
	Dial func(ctx context.Context) (net.Conn, error)
	// Open makes the protocol's state of a new connection.
	Open func() ClientSession
	// MaxFrame is the longest frame in bytes that may come in.
	MaxFrame int
	// WriteTimeout is how long the peer may not read before the connection is
	// closed; ReadTimeout how long it may stop inside a frame. Zero means the
	// default.
	WriteTimeout, ReadTimeout time.Duration
}

// A ClientSession is a protocol's state of one connection.
type ClientSession interface {
	Framer
	// Route says which call a frame is for. An error closes the connection.
	Route(frame []byte) (id uint32, kind Kind, err error)
	// RouteTooLong says which call a frame is for that is longer than the
	// limit, from its first bytes, if it can. The call fails with
	// ResourceExhausted, and the connection is closed.
	RouteTooLong(head []byte) (id uint32, ok bool)
}

// Kind is what the client does with a frame.
type Kind uint8

const (
	// Reply ends the call: it gets this frame.
	Reply Kind = iota
	// Part is kept for the call, before its Reply.
	Part
	// Ignore is for frames that are for no call.
	Ignore
)

// An Exchange is one call: the request as it is sent and the reply as it is
// read. Its methods run on the goroutine that called Do.
type Exchange interface {
	// Append appends the request to dst. It may be several frames, which are
	// written as one unit. If it fails nothing is sent, and Do returns the
	// error as it is.
	Append(dst []byte, id uint32) ([]byte, error)
	// AppendCancel appends the frame that tells the server that nobody waits
	// any more, if the protocol has one.
	AppendCancel(dst []byte, id uint32) []byte
	// Read reads the reply: the frames that Route said are for id, one after
	// the other without what came before their beginning. It keeps no
	// reference to reply. Do returns its error as it is.
	Read(reply []byte) error
	// MaxFrame is the longest reply frame in bytes that this call takes, if
	// that is more than ClientConfig.MaxFrame.
	MaxFrame() int
}

// A Client owns at most one connection. It dials when a call needs one, also
// after one has broken. It is safe for concurrent use.
type Client struct {
	cfg    ClientConfig
	ctx    context.Context //nolint:containedctx // ends with Close; dialling must not end with the call that began it
	cancel context.CancelFunc

	mu      sync.Mutex
	conn    *clientConn // nil before the first call; may be broken
	dialing *dialing
	closed  bool
	running sync.WaitGroup // dialling and reading
}

type dialing struct {
	done chan struct{}
	conn *clientConn
	err  error
}

// dialTimeout bounds one attempt, as in gRPC; the caller's context may end its
// wait earlier.
const dialTimeout = 20 * time.Second

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

// NewClient makes a client. It does not dial.
func NewClient(cfg ClientConfig) *Client {
	cfg.WriteTimeout = timeout(cfg.WriteTimeout)
	cfg.ReadTimeout = timeout(cfg.ReadTimeout)
	c := &Client{cfg: cfg}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Do runs one call. It returns when the reply has been read, when ctx ends, or
// when the connection breaks. The peer is nil if there was no connection.
//
// The error is that of Dial, Append or Read, that of ctx, or a status:
// Unavailable if the connection broke, Canceled after Close,
// ResourceExhausted for a reply longer than the limit.
func (c *Client) Do(ctx context.Context, x Exchange) (*peer.Peer, error) {
	for {
		conn, err := c.connect(ctx)
		if err != nil {
			return nil, err
		}
		p, id, ok := conn.register(x.MaxFrame())
		if !ok {
			continue // it broke just now; nothing was sent
		}
		return conn.peer, conn.do(ctx, x, p, id)
	}
}

// Send writes what add appends, as one unit, and returns when it is with the
// socket. Nobody answers it.
func (c *Client) Send(ctx context.Context, add func(dst []byte) ([]byte, error)) (*peer.Peer, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn.peer, conn.send(ctx, add)
}

// Close closes the connection. Calls under way fail with Canceled, and so do
// later ones. It returns nil.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	conn := c.conn
	c.mu.Unlock()
	c.cancel()
	if conn != nil {
		conn.fail(errClosing)
	}
	c.running.Wait()
	return nil
}

// connect returns the connection, after dialling if there is none. Callers
// that need one at the same time wait for the same attempt.
func (c *Client) connect(ctx context.Context) (*clientConn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errClosing
	}
	if conn := c.conn; conn != nil && !conn.isBroken() {
		c.mu.Unlock()
		return conn, nil
	}
	d := c.dialing
	if d == nil {
		d = &dialing{done: make(chan struct{})}
		c.dialing = d
		c.running.Add(1)
		go c.dial(d) //nolint:contextcheck // others wait for it too: it has the client's context
	}
	c.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) dial(d *dialing) {
	defer c.running.Done()
	ctx, cancel := context.WithTimeout(c.ctx, dialTimeout)
	raw, err := c.cfg.Dial(ctx)
	cancel()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialing = nil
	switch {
	case c.closed:
		if err == nil {
			_ = raw.Close() // nobody has used it
		}
		d.err = errClosing
	case err != nil:
		d.err = err
	default:
		d.conn = newClientConn(raw, rpc.PeerOf(raw), c.cfg)
		c.conn = d.conn
		c.running.Go(d.conn.read)
	}
	close(d.done)
}
