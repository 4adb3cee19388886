package rest

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// An http3Server serves the wire over HTTP/3 (RFC 9114), which is quic-go's.
type http3Server struct {
	handler *handler
	http    *http3.Server
	done    chan struct{} // closed when Shutdown is over
	once    sync.Once
}

// NewHTTP3Server returns a server of the wire over HTTP/3. It needs cfg.TLS.
func NewHTTP3Server(cfg *rpc.ServerConfig) (rpc.PacketServer, error) {
	h, err := newHandler(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.TLS == nil {
		return nil, errors.New("HTTP/3 is always over TLS")
	}
	around := cfg.Around(h)
	bounded := func(w http.ResponseWriter, r *http.Request) {
		// quic-go has no timeout for a request's body.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(web.BodyTimeout)) // it can on this server
		around.ServeHTTP(w, r)
	}
	return &http3Server{handler: h, done: make(chan struct{}), http: &http3.Server{
		Handler:        http.HandlerFunc(bounded),
		TLSConfig:      cfg.TLS.Clone(),
		MaxHeaderBytes: web.MaxHead(cfg.Limits),
		IdleTimeout:    web.IdleTimeout,
		ConnContext: func(ctx context.Context, conn *quic.Conn) context.Context {
			return web.WithConn(ctx, quicPeer{conn: conn})
		},
		QUICConfig: &quic.Config{
			HandshakeIdleTimeout: web.HeadTimeout,
			MaxIdleTimeout:       web.IdleTimeout,
			MaxIncomingStreams:   int64(cfg.Limits.MaxInFlight),
			// Of a request that comes within the first packets, before the client has
			// shown that it is not a replay, nobody can say how often it was sent.
			Allow0RTT: false,
		},
		Logger: h.logger,
	}}, nil
}

// ServePacket is [rpc.PacketServer]'s.
func (s *http3Server) ServePacket(conn net.PacketConn) error {
	if err := s.http.Serve(conn); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-s.done // requests in flight need conn
	return nil
}

// Shutdown is [rpc.PacketServer]'s.
func (s *http3Server) Shutdown(ctx context.Context) error {
	defer s.once.Do(func() { close(s.done) })
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // ctx's end is the error to tell
	}
	return cmp.Or(err, s.handler.Shutdown(ctx))
}
