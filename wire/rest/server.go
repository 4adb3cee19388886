package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
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

// alpn is the only protocol that the wire speaks over TLS.
const alpn = "http/1.1"

type server struct {
	handler *handler
	http    *http.Server
	tls     *tls.Config
}

// NewServer returns a server of the wire. It refuses routes that it does not
// support and routes in conflict; the error names them all.
func NewServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	h, err := newHandler(cfg)
	if err != nil {
		return nil, err
	}
	h.ownServer = true
	s := &server{handler: h, http: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       serverIdleTimeout,
		MaxHeaderBytes:    headerLimit(cfg.Limits.MaxMetadata),
		ErrorLog:          slog.NewLogLogger(h.logger.Handler(), slog.LevelWarn),
		ConnContext:       withConn,
		Protocols:         new(http.Protocols),
	}}
	s.http.Protocols.SetHTTP1(true)
	if cfg.TLS != nil {
		s.tls = cfg.TLS.Clone()
		s.tls.NextProtos = []string{alpn}
	}
	return s, nil
}

// headerLimit leaves room for the request line, for HTTP's own headers and for
// base64, so that metadata up to the limit comes through and what is somewhat
// over it gets an error of ours.
func headerLimit(maxMetadata int) int { return 2*httpmeta.Bounded(maxMetadata) + 16<<10 }

func (s *server) Serve(lis net.Listener) error {
	if s.tls != nil {
		lis = tls.NewListener(lis, s.tls)
	}
	if err := s.http.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *server) Shutdown(ctx context.Context) error {
	s.handler.sockets.close()
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // ctx's end is the error to tell
	}
	if cut := s.handler.Shutdown(ctx); err == nil {
		err = cut
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
