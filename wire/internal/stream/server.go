package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// ServerConfig is what a [Server] is made from.
type ServerConfig struct {
	// Open makes the protocol's state of a new connection.
	Open func(c *ServerConn) ServerSession
	// MaxFrame is the longest frame in bytes that may come in.
	MaxFrame int
	// MaxInFlight is the number of tasks of one connection that may run at a
	// time. Reading stops until one ends.
	MaxInFlight int
	// TLS is nil for cleartext.
	TLS *tls.Config
	// Logger gets a warning for each connection that is closed because of what
	// its peer sent.
	Logger *slog.Logger
	// WriteTimeout is how long a peer may not read before its connection is
	// closed; ReadTimeout how long it may stop inside a frame. Between frames
	// there is no timeout. Zero means the default.
	WriteTimeout, ReadTimeout time.Duration
}

// A ServerSession is a protocol's state of one connection.
type ServerSession interface {
	Framer
	// Receive takes the next frame. It returns nil if there is nothing to run,
	// as for a cancellation. An error closes the connection. The engine keeps
	// the frame for the task, but perhaps elsewhere: a task that needs parts
	// of it keeps offsets.
	Receive(frame []byte) (Task, error)
	// LastWords is called when the connection is about to be closed because of
	// what the peer sent: err is a *[TooLargeError], or what Next or Receive
	// returned, and head what has arrived of the frame in question. What it
	// appends to dst is sent before the connection is closed.
	LastWords(head []byte, err error, dst []byte) []byte
}

// A Task is a request that the engine runs. Run or Refuse is called, once.
type Task interface {
	// Run runs the request and appends the reply to dst, if there is one. frame
	// is that which Receive had, valid until Run returns.
	Run(frame, dst []byte) []byte
	// Refuse appends the reply to a request that is not run, because the
	// server is shutting down.
	Refuse(frame, dst []byte) []byte
	// Abort is called after Run or Refuse if that did not return: it panicked,
	// or its goroutine was ended (runtime.Goexit), as a program's code may do.
	// It appends the reply. What the other had appended is dropped.
	Abort(frame, dst []byte) []byte
}

// A Server runs the tasks of a protocol's connections.
type Server struct {
	cfg ServerConfig
	// draining ends when Shutdown begins: handshakes under way are given up.
	draining context.Context //nolint:containedctx // a signal
	drain    context.CancelFunc

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*ServerConn]struct{}
	closing   bool
	running   sync.WaitGroup // connections
}

// NewServer makes a server.
func NewServer(cfg ServerConfig) *Server {
	cfg.WriteTimeout = timeout(cfg.WriteTimeout)
	cfg.ReadTimeout = timeout(cfg.ReadTimeout)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{cfg: cfg, listeners: map[net.Listener]struct{}{}, conns: map[*ServerConn]struct{}{}}
	s.draining, s.drain = context.WithCancel(context.Background())
	return s
}

// Serve accepts connections until Shutdown, then returns nil. It closes lis.
func (s *Server) Serve(lis net.Listener) error {
	defer lis.Close() //nolint:errcheck // Shutdown may have closed it
	if !s.addListener(lis) {
		return nil
	}
	defer s.removeListener(lis)
	for delay := time.Duration(0); ; {
		conn, err := lis.Accept()
		if err == nil {
			delay = 0
			s.start(conn)
			continue
		}
		if s.draining.Err() != nil {
			return nil
		}
		// Too many open files and the like pass; other errors do not.
		var temporary interface{ Temporary() bool }
		if !errors.As(err, &temporary) || !temporary.Temporary() {
			return err
		}
		delay = min(max(2*delay, 5*time.Millisecond), time.Second)
		s.cfg.Logger.Warn("accepting failed; trying again", "error", err, "after", delay)
		select {
		case <-time.After(delay):
		case <-s.draining.Done():
			return nil
		}
	}
}

// ServeConn serves one connection that was accepted elsewhere, until it ends.
func (s *Server) ServeConn(conn net.Conn) {
	if c := s.add(conn); c != nil {
		defer s.remove(c)
		c.serve()
	}
}

func (s *Server) start(conn net.Conn) {
	if c := s.add(conn); c != nil {
		go func() {
			defer s.remove(c)
			c.serve()
		}()
	}
}

// Shutdown stops accepting, refuses new requests, lets the tasks under way
// finish and their replies go out, and closes each connection then. If ctx ends
// first it closes what is left, and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.drain()
	for lis := range s.listeners {
		_ = lis.Close() // nothing can be done about it
	}
	conns := make([]*ServerConn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.drain()
	}
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, c := range conns {
		c.close(errors.New("the server is shutting down"))
	}
	return ctx.Err()
}

func (s *Server) addListener(lis net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.listeners[lis] = struct{}{}
	return true
}

func (s *Server) removeListener(lis net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, lis)
}

// add returns nil, with conn closed, if the server is closing.
func (s *Server) add(conn net.Conn) *ServerConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		_ = conn.Close() // nobody has used it
		return nil
	}
	c := newServerConn(s, conn)
	s.conns[c] = struct{}{}
	s.running.Add(1)
	return c
}

func (s *Server) remove(c *ServerConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.running.Done()
}
