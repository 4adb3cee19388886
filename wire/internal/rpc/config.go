// Package rpc is what the wires share around one call: the configuration of
// servers and connections, the context that a handler gets, call options,
// stats.Handler events, errors. A wire package adds framing and envelope.
//
// It does not concern the gRPC wire beyond the configuration: there grpc-go
// does all this itself and is the model that package wiretest holds the others
// to.
package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// Options are the options of a target, checked against the table of package
// wire: a wire reads only names that the table lists for it.
type Options map[string]string

// ServerConfig is what a wire's server is made from.
type ServerConfig struct {
	Registry *everywire.Registry
	Limits   everywire.Limits // with defaults
	Stats    []stats.Handler
	// StatsOf makes Stats for one wire. A server of several has it alone, and makes
	// theirs from what [ServerConfig.Of] returns.
	StatsOf func(wire string) []stats.Handler
	// Codecs are those that calls can choose among by their content type.
	Codecs *Codecs
	Logger *slog.Logger
	// TLS is nil for cleartext. The wire does the handshake and sets ALPN. A
	// connection that comes with a method ConnectionState has had its handshake
	// where wires share a port; there TLS may be nil.
	TLS     *tls.Config
	Path    string // of the target, "" if none
	Options Options
	// GRPC are grpc-go's own options, for the gRPC wire alone.
	GRPC []grpc.ServerOption
	// HTTP is put around the handlers of the wires on HTTP. It may be nil.
	HTTP func(http.Handler) http.Handler
}

// Around returns the handler with what the program has put around it.
func (c *ServerConfig) Around(h http.Handler) http.Handler {
	if c.HTTP == nil {
		return h
	}
	return c.HTTP(h)
}

// Of returns the configuration of one wire's server among several.
func (c *ServerConfig) Of(wire string) *ServerConfig {
	of := *c
	of.Stats = c.StatsOf(wire)
	return &of
}

// ClientConfig is what a wire's connection is made from.
type ClientConfig struct {
	Target string           // as the user wrote it, for messages
	Limits everywire.Limits // with defaults
	Stats  []stats.Handler
	// Methods describes methods that the client knows, for wires whose requests
	// depend on it (REST routes, short JSON-RPC names). It may be nil.
	Methods *everywire.Registry
	// Codecs are those that the option codec can name, and that replies are read by.
	Codecs *Codecs
	// Offers has the methods that the server may call over the connection. It may
	// be nil.
	Offers *everywire.Registry
	// Logger gets what goes wrong in them. Nil means slog.Default().
	Logger *slog.Logger
	// DialAddr opens a cleartext connection to one of Addrs.
	DialAddr func(ctx context.Context, addr string) (net.Conn, error)
	Addrs    []string
	// Lookup finds the addresses of a host for a wire that spreads its calls over
	// them. It is nil if DialAddr takes names as they are.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// TLS is nil for cleartext. Without a server name it is that of each address.
	// Connections are made with what [ClientConfig.TLSFor] returns.
	TLS *tls.Config
	// Roots, if set, returns the authorities of servers in place of those of TLS.
	Roots func() *x509.CertPool
	// GRPC are grpc-go's own options, for the gRPC wire alone.
	GRPC      []grpc.DialOption
	Path      string
	Options   Options
	UserAgent string
}

// Method returns the description of a method, or nil if the client was not
// given one.
func (c *ClientConfig) Method(path string) *everywire.Method {
	if c.Methods == nil {
		return nil
	}
	m, _ := c.Methods.Lookup(path)
	return m
}

// dialTimeout bounds one attempt to reach a server, as in gRPC. net/http's
// transport goes on with an attempt whose call has ended, so the call's own
// deadline is no bound.
const dialTimeout = 20 * time.Second

// Dial opens a connection to the first address that answers, with the TLS
// handshake done if the target asks for it. A failure is a *[DialError].
func (c *ClientConfig) Dial(ctx context.Context, alpn ...string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var errs []error
	for _, addr := range c.Addrs {
		conn, err := c.DialAddr(ctx, addr)
		if err == nil && c.TLS != nil {
			conn, err = c.handshake(ctx, conn, addr, alpn)
		}
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, &DialError{Target: c.Target, Err: errors.Join(errs...)}
}

func (c *ClientConfig) handshake(ctx context.Context, raw net.Conn, addr string, alpn []string) (net.Conn, error) {
	conn := tls.Client(raw, c.TLSFor(addr, alpn...))
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // the handshake's error is the one to tell
		return nil, err
	}
	return conn, nil
}

// TLSFor is the configuration of one handshake with the server at addr, which the
// caller may change.
func (c *ClientConfig) TLSFor(addr string, alpn ...string) *tls.Config {
	cfg := c.TLS.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName = HostOf(addr)
	}
	if c.Roots != nil {
		cfg.RootCAs = c.Roots()
	}
	if len(alpn) > 0 {
		cfg.NextProtos = alpn
	}
	return cfg
}

// WithProtocols returns a server's configuration that agrees on one of the
// protocols, also where a configuration is chosen for each client.
func WithProtocols(cfg *tls.Config, protocols ...string) *tls.Config {
	cfg = cfg.Clone()
	cfg.NextProtos = protocols
	if choose := cfg.GetConfigForClient; choose != nil {
		cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			if err == nil && chosen != nil {
				chosen = chosen.Clone()
				chosen.NextProtos = protocols
			}
			return chosen, err
		}
	}
	return cfg
}

// HostOf is the name that the certificate of the server at addr must have; ""
// for a unix socket, which has no name.
func HostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	return host
}

// A DialError says that no connection could be made, so nothing was sent.
type DialError struct {
	Target string
	Err    error
}

func (e *DialError) Error() string { return fmt.Sprintf("cannot reach %s: %v", e.Target, e.Err) }
func (e *DialError) Unwrap() error { return e.Err }

// MayHaveRun is what [everywire.MayHaveRun] asks.
func (*DialError) MayHaveRun() bool { return false }

// GRPCStatus makes the error Unavailable to the status package.
func (e *DialError) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

// PeerOf describes the other end of a connection, with its TLS state.
func PeerOf(conn net.Conn) *peer.Peer {
	p := &peer.Peer{Addr: conn.RemoteAddr(), LocalAddr: conn.LocalAddr(), AuthInfo: Insecure}
	if secure, ok := conn.(stater); ok {
		p.AuthInfo = TLSInfo(secure.ConnectionState())
	}
	return p
}

// A stater is a *tls.Conn, or a connection on one.
type stater interface{ ConnectionState() tls.ConnectionState }

// IsSecure reports whether a connection is one with TLS.
func IsSecure(conn net.Conn) bool {
	_, ok := conn.(stater)
	return ok
}

// TLSInfo is the AuthInfo that grpc-go gives for a TLS connection.
func TLSInfo(state tls.ConnectionState) credentials.AuthInfo {
	return credentials.TLSInfo{
		State:          state,
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}
}

// Insecure is the AuthInfo of a cleartext connection.
var Insecure credentials.AuthInfo = insecureInfo{}

type insecureInfo struct{}

func (insecureInfo) AuthType() string { return "insecure" }

// GetCommonAuthInfo is how credentials.CheckSecurityLevel reads the level.
func (insecureInfo) GetCommonAuthInfo() credentials.CommonAuthInfo {
	return credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}
}

// A Server serves one wire on listeners. Each wire package has a constructor
// func(*ServerConfig) (Server, error).
type Server interface {
	// Serve accepts connections until Shutdown; it then returns nil.
	Serve(lis net.Listener) error
	// Shutdown stops accepting, lets the calls in flight finish until ctx ends,
	// then closes what is left. It returns ctx's error if that was needed.
	Shutdown(ctx context.Context) error
}

// A PacketServer is a [Server] of a wire on packets.
type PacketServer interface {
	// ServePacket serves the clients that conn hears of until Shutdown; it then
	// returns nil. It leaves conn open.
	ServePacket(conn net.PacketConn) error
	// Shutdown is [Server]'s.
	Shutdown(ctx context.Context) error
}

// A Conn is a client's connection. Each wire package has a constructor
// func(*ClientConfig) (Conn, error); it does not wait for the network.
type Conn interface {
	grpc.ClientConnInterface
	io.Closer
}
