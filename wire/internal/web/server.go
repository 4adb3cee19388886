// Package web is what every wire on HTTP serves with: an http.Handler on
// listeners and connections, over HTTP/1.1 by package http1, and over HTTP/2 (RFC
// 9113) by net/http. With TLS the client chooses by ALPN; without TLS a
// connection that begins with HTTP/2's preface is HTTP/2 ("prior knowledge"). What
// runs here also runs on another's http.Server.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/http1"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/sniff"
)

// What a server waits for.
const (
	HeadTimeout = 10 * time.Second // also for TLS's handshake
	BodyTimeout = 2 * time.Minute
	IdleTimeout = 3 * time.Minute
	// writeTimeout is how long a client may take nothing of what is written.
	writeTimeout = 30 * time.Second
)

// How many idle connections of HTTP/1.1 a client keeps, as many callers at once
// find one to use again, and for how long it keeps one of any version: less than
// a server, so that no request is sent into one that is being closed.
const (
	ClientMaxIdle     = 512
	ClientIdleTimeout = IdleTimeout / 2
)

// HTTP2 and HTTP11 are TLS's names of the protocols (ALPN).
const (
	HTTP2  = "h2"
	HTTP11 = "http/1.1"
)

// MaxHead is the limit for the head of a request or response. It leaves room for
// the first line, for HTTP's own fields and for base64, so that metadata up to
// the limit comes through and what is somewhat over it gets an error of the
// wire's.
func MaxHead(limits everywire.Limits) int { return 2*httpmeta.Bounded(limits.MaxMetadata) + 16<<10 }

// Config is what a server is made from.
type Config struct {
	Handler http.Handler
	// TLS is nil for cleartext. The server sets ALPN.
	TLS    *tls.Config
	Limits everywire.Limits // with defaults
	// Logger is slog.Default() if it is nil.
	Logger *slog.Logger
	// ConnContext returns the context that those of a connection's requests are
	// made from. It may be nil.
	ConnContext func(ctx context.Context, conn net.Conn) context.Context
}

// A Server serves a handler with HTTP/1.1 and HTTP/2. See [NewServer].
type Server struct {
	cfg   Config
	tls   *tls.Config
	http1 *http1.Server
	// http2 gets its connections by a listener of its own.
	http2      *http.Server
	http2Conns *sniff.Listener
	http2Once  sync.Once

	stopping   context.Context //nolint:containedctx // a signal
	stop       context.CancelFunc
	handshakes sync.WaitGroup
	mu         sync.Mutex
	listeners  map[net.Listener]struct{}
}

// NewServer makes a server.
func NewServer(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{cfg: cfg, http2Conns: sniff.NewListener(nowhere{}), listeners: map[net.Listener]struct{}{}}
	s.stopping, s.stop = context.WithCancel(context.Background())
	if cfg.TLS != nil {
		s.tls = rpc.WithProtocols(cfg.TLS, HTTP2, HTTP11)
	}
	s.http1 = http1.New(http1.Config{
		Handler:     cfg.Handler,
		Logger:      cfg.Logger,
		MaxHead:     MaxHead(cfg.Limits),
		Timeouts:    http1.Timeouts{Head: HeadTimeout, Body: BodyTimeout, Idle: IdleTimeout, Write: writeTimeout},
		ConnContext: s.connContext,
		HTTP2:       s.serveHTTP2,
	})
	s.http2 = &http.Server{
		Handler:           http.HandlerFunc(s.handleHTTP2),
		ReadHeaderTimeout: HeadTimeout,
		ReadTimeout:       BodyTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHead(cfg.Limits),
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
		ConnContext:       s.connContext,
		Protocols:         new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: cfg.Limits.MaxInFlight,
			// By default both are 1 MiB: a handler that does not read would hold up
			// every other request of its connection.
			MaxReceiveBufferPerStream:     128 << 10,
			MaxReceiveBufferPerConnection: 4<<20 - 1,
			SendPingTimeout:               writeTimeout, // so that a client that has vanished is noticed
			WriteByteTimeout:              writeTimeout,
		},
	}
	s.http2.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// Serve accepts connections until Shutdown, then returns nil. It closes lis.
func (s *Server) Serve(lis net.Listener) error {
	defer lis.Close() //nolint:errcheck // Shutdown may have closed it
	s.mu.Lock()
	if s.stopping.Err() != nil {
		s.mu.Unlock()
		return nil
	}
	s.listeners[lis] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, lis)
	}()
	return rpc.Accept(s.stopping, lis, s.cfg.Logger, s.start)
}

// start serves an accepted connection.
func (s *Server) start(raw net.Conn) {
	if s.tls == nil {
		go s.http1.ServeConn(raw)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		_ = raw.Close() // nobody has used it
		return
	}
	s.handshakes.Add(1)
	go func() {
		conn, err := s.handshake(raw)
		s.handshakes.Done()
		if err == nil {
			s.ServeConn(conn)
		}
	}()
}

func (s *Server) handshake(raw net.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.stopping, HeadTimeout)
	defer cancel()
	conn := tls.Server(raw, s.tls)
	err := conn.HandshakeContext(ctx)
	if err == nil {
		return conn, nil
	}
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && plain.Conn != nil && sniff.Of(plain.RecordHeader[:]) != sniff.Unknown {
		sniff.SayUseTLS(raw)
	}
	_ = raw.Close() // the handshake's error is the one to tell
	if s.stopping.Err() == nil && !errors.Is(err, io.EOF) {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "TLS handshake failed",
			slog.String("remote", raw.RemoteAddr().String()), slog.String("reason", err.Error()))
	}
	return nil, err
}

// ServeConn serves a connection that was accepted elsewhere, on which TLS, if
// any, is done. It closes it in the end, and may return before.
func (s *Server) ServeConn(conn net.Conn) {
	if secure, ok := conn.(stater); ok && secure.ConnectionState().NegotiatedProtocol == HTTP2 {
		s.serveHTTP2(conn)
		return
	}
	s.http1.ServeConn(conn)
}

// A stater is a *tls.Conn, or a connection on one.
type stater interface{ ConnectionState() tls.ConnectionState }

// serveHTTP2 gives a connection to net/http.
func (s *Server) serveHTTP2(conn net.Conn) {
	s.http2Once.Do(func() {
		go func() { _ = s.http2.Serve(s.http2Conns) }() // it returns when that is closed, at Shutdown
	})
	s.http2Conns.Give(http2Conn{conn})
}

// An http2Conn hides what a connection is from net/http, which takes HTTP/2 over
// TLS on a *tls.Conn only; here that may be wrapped. What it would find out,
// handleHTTP2 adds.
type http2Conn struct{ net.Conn }

// handleHTTP2 is the handler of requests over HTTP/2.
func (s *Server) handleHTTP2(w http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*connInfo); ok {
		r.TLS = c.tlsState()
	}
	s.cfg.Handler.ServeHTTP(w, r)
}

// Shutdown stops accepting, closes what has no requests, and lets requests in
// flight finish; clients are told that their connections end. If ctx ends first,
// it closes what is left and returns ctx's error. Connections that handlers have
// taken over are theirs.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stop()
	for lis := range s.listeners {
		_ = lis.Close() // nothing can be done about it
	}
	s.mu.Unlock()
	s.handshakes.Wait() // stopping has ended them
	err2 := make(chan error, 1)
	go func() {
		err := s.http2.Shutdown(ctx)
		if err != nil {
			_ = s.http2.Close() // ctx's end is the error to tell
		}
		err2 <- err
	}()
	err := s.http1.Shutdown(ctx)
	// Nothing is handed over any more. What has been waits to be accepted, unless
	// nobody accepts.
	_ = s.http2Conns.Close() // it cannot fail
	return cmp.Or(err, <-err2)
}

// nowhere is the address of the listener of HTTP/2.
type nowhere struct{}

func (nowhere) Network() string { return "none" }
func (nowhere) String() string  { return "handed over" }
