package connectwire

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// Timeouts of a server's connections. A client of this package lets go of an
// idle connection sooner than the server does, so that it does not send a
// request into one that is being closed.
const (
	headerTimeout     = 10 * time.Second
	serverIdleTimeout = 3 * time.Minute
	clientIdleTimeout = 90 * time.Second
)

type server struct {
	http *http.Server
	tls  *tls.Config
}

// NewServer returns a server of the wire: HTTP/1.1 and HTTP/2, which a client
// chooses by ALPN over TLS and by how it begins in cleartext.
func NewServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	h := newHandler(cfg)
	h.ownServer = true
	s := &server{http: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       serverIdleTimeout,
		MaxHeaderBytes:    headerLimit(cfg.Limits.MaxMetadata),
		ErrorLog:          slog.NewLogLogger(h.cfg.Logger.Handler(), slog.LevelWarn),
		ConnContext:       withConn,
		Protocols:         new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: min(cfg.Limits.MaxInFlight, math.MaxInt32),
			// By default both are 1 MiB: a handler that does not read would hold
			// up every other call of its connection.
			MaxReceiveBufferPerStream:     128 << 10,
			MaxReceiveBufferPerConnection: 4<<20 - 1,
		},
	}}
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true)
	if cfg.TLS != nil {
		s.http.Protocols.SetUnencryptedHTTP2(false)
		s.http.Protocols.SetHTTP2(true)
		s.http.TLSConfig = cfg.TLS.Clone()
	}
	return s, nil
}

// headerLimit leaves room for the request line, for HTTP's own headers and for
// base64, so that metadata up to the limit comes through and what is somewhat
// over it gets an error of ours.
func headerLimit(maxMetadata int) int { return 2*httpmeta.Bounded(maxMetadata) + 16<<10 }

func (s *server) Serve(lis net.Listener) error {
	serve := s.http.Serve
	if s.http.TLSConfig != nil {
		serve = func(lis net.Listener) error { return s.http.ServeTLS(lis, "", "") }
	}
	if err := serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // ctx's end is the error to tell
	}
	return err
}

// connKey is the context key of a connection's *connInfo.
type connKey struct{}

// connInfo describes a connection to the handlers of its requests, made once.
type connInfo struct {
	conn net.Conn
	once sync.Once
	peer *peer.Peer
}

func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &connInfo{conn: conn})
}

// peerOf describes the client of a request.
func peerOf(r *http.Request) *peer.Peer {
	if c, ok := r.Context().Value(connKey{}).(*connInfo); ok {
		// Not before the first request: the TLS handshake must be over.
		c.once.Do(func() { c.peer = rpc.PeerOf(c.conn) })
		return c.peer
	}
	// Another's server: net/http tells the addresses as text.
	p := &peer.Peer{Addr: textAddr(r.RemoteAddr)}
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		p.Addr = net.TCPAddrFromAddrPort(ap)
	}
	p.LocalAddr, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if r.TLS != nil {
		p.AuthInfo = rpc.TLSInfo(*r.TLS)
	}
	return p
}

// textAddr is an address that is no TCP address.
type textAddr string

func (textAddr) Network() string  { return "unknown" }
func (a textAddr) String() string { return string(a) }
