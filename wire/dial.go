package wire

import (
	"context"
	"errors"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/everywire/everywire/wire/internal/rpc"
)

const userAgent = "everywire"

// A Conn is a connection to a target. It is a grpc.ClientConnInterface, so
// generated clients take it, and safe for concurrent use. It connects when
// first used, and again after a failure.
type Conn struct {
	target Target
	conn   rpc.Conn
	// standIn is what interceptors get as their *grpc.ClientConn; nil if there
	// are none.
	standIn *grpc.ClientConn
	unary   grpc.UnaryInvoker
	stream  grpc.Streamer
}

// Dial makes a connection to a target. It checks the target but does not wait
// for the network: the first call does. The caller must Close it.
func Dial(target string, opts ...DialOption) (*Conn, error) {
	t, err := ParseTarget(target)
	if err != nil {
		return nil, err
	}
	maker := makers[t.shape()]
	if maker.conn == nil {
		return nil, targetError(target, "%s is what a server speaks: a client names one wire, such as %s", t.Wire, t.examples())
	}
	if err := t.checkOptions(dialSide); err != nil {
		return nil, targetError(target, "%v", err)
	}
	var cfg config
	for _, o := range opts {
		o.applyDial(&cfg)
	}
	for i, addr := range t.Addrs {
		// ":8080" is where a server listens; a client finds it on its own host.
		if host, port, err := net.SplitHostPort(addr); err == nil && host == "" && t.Transport != "unix" {
			t.Addrs[i] = net.JoinHostPort("localhost", port)
		}
	}
	if len(cfg.grpcDial) > 0 && t.Wire != "grpc" {
		return nil, targetError(target, "%s is not grpc-go's: what WithGRPCDialOptions has is for grpc", shapeName(&t))
	}
	tlsConfig, roots, err := t.clientTLS(cfg.tls, cfg.logger)
	if err != nil {
		return nil, targetError(target, "%v", err)
	}
	codecs, err := cfg.codecsFor(&t)
	if err != nil {
		return nil, targetError(target, "%v", err)
	}
	rc := &rpc.ClientConfig{
		Target:    target,
		Limits:    cfg.limits.WithDefaults(),
		Stats:     cfg.statsOf(Endpoint{Wire: t.Wire, Client: true, Methods: cfg.methods}),
		Methods:   cfg.methods,
		Codecs:    codecs,
		Offers:    cfg.offers,
		Logger:    cfg.logger,
		DialAddr:  dialer(cfg.dial, t.network()),
		Addrs:     t.Addrs,
		TLS:       tlsConfig,
		Roots:     roots,
		GRPC:      cfg.grpcDial,
		Path:      t.Path,
		Options:   t.Options,
		UserAgent: userAgent,
	}
	if cfg.dial == nil && t.Transport == "tcp" {
		rc.Lookup = func(ctx context.Context, host string) ([]string, error) {
			return net.DefaultResolver.LookupHost(ctx, host)
		}
	}
	if cfg.offers != nil && !maker.bothWays {
		return nil, targetError(target, "%s goes one way only: its server cannot call what WithOffers has", shapeName(&t))
	}
	if cfg.dial != nil && maker.packets != nil {
		return nil, targetError(target, "HTTP/3 is on packets: WithDialer is for streams")
	}
	conn, err := maker.balanced(rc)
	if err != nil {
		return nil, targetError(target, "%v", err)
	}
	c := &Conn{target: t, conn: conn}
	if err := c.intercept(&cfg); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// examples are targets by which a server of every wire is called.
func (t *Target) examples() string {
	var texts []string
	for _, w := range []string{"rest", "grpc", "jsonrpc"} {
		one := Target{Wire: w, Transport: t.Transport, TLS: t.TLS, Addrs: t.Addrs}
		if w == "rest" && t.Transport == "tcp" {
			one.Transport = "http"
		}
		texts = append(texts, one.String())
	}
	return strings.Join(texts, ", ")
}

func (t *Target) network() string {
	switch t.Transport {
	case "unix":
		return "unix"
	case "h3":
		return "udp"
	}
	return "tcp"
}

func dialer(dial func(ctx context.Context, network, addr string) (net.Conn, error), network string) func(context.Context, string) (net.Conn, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, network, addr) }
}

// intercept puts the client interceptors around the wire's own methods.
func (c *Conn) intercept(cfg *config) error {
	c.unary = func(ctx context.Context, method string, req, reply any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
		return c.conn.Invoke(ctx, method, req, reply, opts...)
	}
	c.stream = func(ctx context.Context, desc *grpc.StreamDesc, _ *grpc.ClientConn, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		return c.conn.NewStream(ctx, desc, method, opts...)
	}
	if len(cfg.unary) == 0 && len(cfg.stream) == 0 {
		return nil
	}
	// grpc.NewClient stays idle, and does nothing, until it is asked to call.
	standIn, err := grpc.NewClient("passthrough:///"+c.target.Addrs[0],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return nil, errors.New("an interceptor called through its *grpc.ClientConn, which on an everywire connection only names the target")
		}))
	if err != nil {
		return err
	}
	c.standIn = standIn
	for i := len(cfg.unary) - 1; i >= 0; i-- {
		ic, next := cfg.unary[i], c.unary
		c.unary = func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, opts ...grpc.CallOption) error {
			return ic(ctx, method, req, reply, cc, next, opts...)
		}
	}
	for i := len(cfg.stream) - 1; i >= 0; i-- {
		ic, next := cfg.stream[i], c.stream
		c.stream = func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return ic(ctx, desc, cc, method, next, opts...)
		}
	}
	return nil
}

// Target returns what the connection was dialled to.
func (c *Conn) Target() Target { return c.target }

// Invoke makes a unary call; everywire.Call and generated clients use it.
func (c *Conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return c.unary(ctx, method, args, reply, c.standIn, opts...)
}

// NewStream starts a stream; generated clients use it. Wires that carry no
// streams answer Unimplemented.
func (c *Conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.stream(ctx, desc, c.standIn, method, opts...)
}

// Close closes the connection. Calls in flight fail with Canceled.
func (c *Conn) Close() error {
	err := c.conn.Close()
	if c.standIn != nil {
		err = errors.Join(err, c.standIn.Close())
	}
	return err
}
