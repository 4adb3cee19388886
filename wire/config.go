package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// config is what options set; each end reads what concerns it.
type config struct {
	limits  everywire.Limits
	stats   []func(Endpoint) stats.Handler
	tls     *tls.Config
	logger  *slog.Logger
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	listen  func(ctx context.Context, network, addr string) (net.Listener, error)
	methods *everywire.Registry
	offers  *everywire.Registry
	unary   []grpc.UnaryClientInterceptor
	stream  []grpc.StreamClientInterceptor
	codecs  []everywire.Codec
	drain   time.Duration
	around  func(http.Handler) http.Handler

	grpcDial  []grpc.DialOption
	grpcServe []grpc.ServerOption
}

// A DialOption sets up a connection.
type DialOption interface{ applyDial(*config) }

// A ServeOption sets up a server.
type ServeOption interface{ applyServe(*config) }

// An Option sets up either end.
type Option interface {
	DialOption
	ServeOption
}

type both func(*config)

func (f both) applyDial(c *config)  { f(c) }
func (f both) applyServe(c *config) { f(c) }

type dialOnly func(*config)

func (f dialOnly) applyDial(c *config) { f(c) }

type serveOnly func(*config)

func (f serveOnly) applyServe(c *config) { f(c) }

// WithLimits sets limits; fields that are zero keep their defaults.
func WithLimits(l everywire.Limits) Option {
	return both(func(c *config) { c.limits = l })
}

// An Endpoint says which end of which wire the events of a stats.Handler are from.
type Endpoint struct {
	// Wire is the wire that calls travel by; on a port of all wires, any://, each
	// has its own.
	Wire string
	// Client is set at the end that calls.
	Client bool
	// Methods are those of a server, and those that a client knows, or nil.
	Methods *everywire.Registry
}

// WithStats adds a stats.Handler for each wire that is served or dialled. It gets
// the events of every call. The packages in the folder observe have such functions.
func WithStats(handler func(Endpoint) stats.Handler) Option {
	return both(func(c *config) { c.stats = append(c.stats, handler) })
}

// WithStatsHandler is [WithStats] with one handler for all wires.
func WithStatsHandler(h stats.Handler) Option {
	return WithStats(func(Endpoint) stats.Handler { return h })
}

// statsOf makes the handlers of one end.
func (c *config) statsOf(e Endpoint) []stats.Handler {
	var all []stats.Handler
	for _, handler := range c.stats {
		all = append(all, handler(e))
	}
	return all
}

// serverStats makes the handlers of each wire of a server.
func (c *config) serverStats(reg *everywire.Registry) func(wire string) []stats.Handler {
	return func(wire string) []stats.Handler { return c.statsOf(Endpoint{Wire: wire, Methods: reg}) }
}

// WithTLSConfig sets the TLS configuration of targets with +tls. The target's
// own options (cert, key, ca, servername) are added to a copy of it.
func WithTLSConfig(cfg *tls.Config) Option {
	return both(func(c *config) { c.tls = cfg })
}

// WithLogger sets where a server logs why it closed a connection, and a client
// what goes wrong in the methods that it offers. The default is slog.Default().
func WithLogger(l *slog.Logger) Option {
	return both(func(c *config) { c.logger = l })
}

// WithListener sets how a server listens, in place of net.ListenConfig.Listen.
func WithListener(listen func(ctx context.Context, network, addr string) (net.Listener, error)) ServeOption {
	return serveOnly(func(c *config) { c.listen = listen })
}

// WithDrainTimeout bounds how long calls in flight may take to finish when the
// context of [Serve] ends. The default is 10 s.
func WithDrainTimeout(d time.Duration) ServeOption {
	return serveOnly(func(c *config) { c.drain = d })
}

// WithHTTP puts handlers of the program's own around those of the wires on HTTP: to add
// header fields to every response, or to answer requests that are no calls at all. Of
// several the first is outermost. A call of gRPC passes them on a connection that other
// wires use too; on one of its own it is grpc-go's from the beginning.
func WithHTTP(around func(http.Handler) http.Handler) ServeOption {
	return serveOnly(func(c *config) {
		outer := c.around
		if outer == nil {
			c.around = around
			return
		}
		c.around = func(h http.Handler) http.Handler { return outer(around(h)) }
	})
}

// WithDialer sets how sockets are opened, in place of net.Dialer.DialContext.
// TLS, if any, runs on top of it.
func WithDialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) DialOption {
	return dialOnly(func(c *config) { c.dial = dial })
}

// WithMethods tells a connection what the methods of reg look like: their REST
// routes and short JSON-RPC forms. Without it a connection uses the default
// route and the full name, which every server of this module understands.
func WithMethods(reg *everywire.Registry) DialOption {
	return dialOnly(func(c *config) { c.methods = reg })
}

// WithOffers lets the server call the methods of reg over this connection, from
// the handlers of calls that came by it: see [Caller]. Only the wires on streams
// (jsonrpc+tcp, jsonrpc+unix, jsonrpc+ws, msgpackrpc) go both ways; others refuse the
// option.
func WithOffers(reg *everywire.Registry) DialOption {
	return dialOnly(func(c *config) { c.offers = reg })
}

// WithGRPCDialOptions adds options of grpc-go itself to a connection of the gRPC
// wire; others refuse them. They come after what everywire sets, such as limits and
// keep-alive, and replace it; but the target has the last word on addresses, TLS and
// codec.
func WithGRPCDialOptions(opts ...grpc.DialOption) DialOption {
	return dialOnly(func(c *config) { c.grpcDial = append(c.grpcDial, opts...) })
}

// WithGRPCServerOptions adds options of grpc-go itself to the servers of grpc and
// any targets, as [WithGRPCDialOptions] does to connections; targets of other wires
// refuse them. Interceptors of streams and stats handlers among them see that
// messages pass, but not what is in them: see [everywire.ChainStream] and
// [WithStatsHandler] for such that do.
func WithGRPCServerOptions(opts ...grpc.ServerOption) ServeOption {
	return serveOnly(func(c *config) { c.grpcServe = append(c.grpcServe, opts...) })
}

// serves checks that a target's server can have all options.
func (c *config) serves(t *Target) error {
	if len(c.grpcServe) > 0 && t.Wire != "grpc" && t.Wire != "any" {
		return fmt.Errorf("%s is not grpc-go's: what WithGRPCServerOptions has is for grpc and any", shapeName(t))
	}
	return nil
}

// Caller returns, in a handler, a connection to the client that called: its
// methods are those that the client gave to [WithOffers], or what another
// program's client answers to. It lives as long as the client's connection, and
// carries unary and one-way calls. ok is false on wires that go one way only.
func Caller(ctx context.Context) (conn grpc.ClientConnInterface, ok bool) {
	return rpc.Caller(ctx)
}

// WithUnaryInterceptor adds client interceptors; the first is outermost. They
// work on every wire. Their *grpc.ClientConn answers Target; on wires other
// than gRPC calls made through it fail.
func WithUnaryInterceptor(ics ...grpc.UnaryClientInterceptor) DialOption {
	return dialOnly(func(c *config) { c.unary = append(c.unary, ics...) })
}

// WithStreamInterceptor adds client interceptors for streams, as
// [WithUnaryInterceptor] does for unary calls.
func WithStreamInterceptor(ics ...grpc.StreamClientInterceptor) DialOption {
	return dialOnly(func(c *config) { c.stream = append(c.stream, ics...) })
}
