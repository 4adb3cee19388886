package http1

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Timeouts bound what a client can make a server wait for. Zero fields have the
// defaults.
type Timeouts struct {
	// Head is for a request's head, from its first byte on. Default 10 s.
	Head time.Duration
	// Body is for a request's body, from when it is first waited for, unless the
	// handler sets a read deadline of its own. Default 2 min.
	Body time.Duration
	// Idle is for a connection without a request; it may be up to an eighth less.
	// Default 3 min.
	Idle time.Duration
	// Write is for the client to take what is written, in pieces of up to
	// 256 KiB; it may be up to an eighth less. Default 30 s.
	Write time.Duration
	// Linger is how long a connection is read and nothing done with what comes, so
	// that the client gets the last answer before it learns that nobody reads.
	// Default 1 s.
	Linger time.Duration
}

func (t Timeouts) withDefaults() Timeouts {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&t.Head, 10*time.Second)
	set(&t.Body, 2*time.Minute)
	set(&t.Idle, 3*time.Minute)
	set(&t.Write, 30*time.Second)
	set(&t.Linger, time.Second)
	return t
}

// Config is what a server is made from.
type Config struct {
	Handler http.Handler
	// Logger gets panics of handlers and mistakes in their use of the
	// ResponseWriter. Nil means slog.Default().
	Logger *slog.Logger
	// MaxHead is the longest head of a request in bytes. Default 64 KiB.
	MaxHead int
	// Timeouts may be zero.
	Timeouts Timeouts
	// ConnContext returns the context that those of a connection's requests are
	// made from; ctx has what net/http's has. It may be nil.
	ConnContext func(ctx context.Context, conn net.Conn) context.Context
	// HTTP2 gets connections that begin with the preface of HTTP/2, the preface
	// unread. If it is nil they are refused with 505.
	HTTP2 func(conn net.Conn)
}

// A Server serves connections with HTTP/1.1. See [New].
type Server struct {
	cfg    Config
	legacy http.Server // only what handlers find under http.ServerContextKey
	watch  watch

	closing atomic.Bool
	mu      sync.Mutex
	conns   map[*conn]struct{}
	empty   chan struct{} // closed when there are none, if somebody waits
}

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.MaxHead == 0 {
		cfg.MaxHead = 64 << 10
	}
	cfg.Timeouts = cfg.Timeouts.withDefaults()
	return &Server{cfg: cfg, conns: map[*conn]struct{}{}, legacy: http.Server{Handler: cfg.Handler, MaxHeaderBytes: cfg.MaxHead}}
}

// ServeConn serves a connection until it ends or a handler has taken it over
// (http.Hijacker). It closes it in the first case. Only the goroutine's deferred
// functions run after it if a handler ends the goroutine.
func (s *Server) ServeConn(raw net.Conn) {
	c := newConn(s, raw)
	if !s.add(c) {
		_ = raw.Close() // nobody has used it
		return
	}
	c.serve()
}

func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

// remove forgets a connection that has ended, or is a handler's now.
func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if len(s.conns) == 0 && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
}

// Shutdown closes connections without a request and refuses new ones. Requests
// in flight finish, their responses say Connection: close, and their connections
// are closed. If ctx ends first, it ends their contexts and closes what is left,
// and returns ctx's error. As in net/http, connections that handlers have taken
// over are theirs. Shutdown may be called more than once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing.Store(true)
	empty := make(chan struct{})
	if s.empty != nil {
		empty = s.empty
	}
	if len(s.conns) == 0 {
		close(empty)
	} else {
		s.empty = empty
	}
	for c := range s.conns {
		c.closeIfIdle()
	}
	s.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.abort()
	}
	return ctx.Err()
}
