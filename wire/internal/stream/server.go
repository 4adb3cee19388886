package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// ServerConfig is what a [Server] is made from.
type ServerConfig struct {
	// Open makes the protocol's state of a new connection.
	Open func(c *Conn) Session
	// MaxFrame is the longest frame in bytes that may come in.
	MaxFrame int
	// MaxInFlight is the number of tasks of one connection that may run at a
	// time. Reading stops until one ends; so it does while the frames of running
	// tasks are longer than two of the longest.
	MaxInFlight int
	// TLS is nil for cleartext. A connection that comes with its TLS state has had
	// its handshake.
	TLS *tls.Config
	// Logger gets a warning for each connection that is closed because of what
	// its peer sent. Nil means slog.Default().
	Logger *slog.Logger
	Timeouts
}

const (
	handshakeTimeout = 10 * time.Second
	// lingerTimeout is how long a closing connection reads and drops what still
	// comes: closed with unread bytes, TCP would reset, and the peer could lose
	// the last replies.
	lingerTimeout = time.Second
)

// A Server runs the tasks of a protocol's connections.
type Server struct {
	cfg    ServerConfig
	common connConfig
	watch  watch
	// draining ends when Shutdown begins: handshakes under way are given up.
	draining context.Context //nolint:containedctx // a signal
	drain    context.CancelFunc

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*serverConn]struct{}
	closing   bool
	running   sync.WaitGroup // connections
}

// A serverConn is a connection from accept to close.
type serverConn struct {
	raw  net.Conn
	conn *Conn // nil until the handshake is done; Server.mu
	// closed is closed when the connection is.
	closed chan struct{}
}

// NewServer makes a server.
func NewServer(cfg ServerConfig) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{cfg: cfg, listeners: map[net.Listener]struct{}{}, conns: map[*serverConn]struct{}{}}
	s.common.set(cfg.MaxFrame, max(1, cfg.MaxInFlight), cfg.Timeouts, cfg.Logger)
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
	return rpc.Accept(s.draining, lis, s.cfg.Logger, func(conn net.Conn) { s.start(conn) })
}

// Start begins to serve a connection that was accepted elsewhere, and returns.
func (s *Server) Start(raw net.Conn) { s.start(raw) }

// start begins to serve a connection. It returns nil, with raw closed, if the
// server is closing.
func (s *Server) start(raw net.Conn) *serverConn {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()   // TLS may take seconds to close
		_ = raw.Close() // nobody has used it
		return nil
	}
	defer s.mu.Unlock()
	sc := &serverConn{raw: raw, closed: make(chan struct{})}
	s.conns[sc] = struct{}{}
	s.running.Add(1)
	go s.serve(sc)
	return sc
}

// serve begins a connection and becomes its first reader. Its end is over's.
func (s *Server) serve(sc *serverConn) {
	raw, err := s.handshake(sc.raw)
	if err != nil {
		if s.draining.Err() == nil {
			s.warn(sc.raw, "TLS handshake failed", err)
		}
		_ = sc.raw.Close() // the handshake's error is the one to tell
		s.remove(sc)
		return
	}
	c := newConn(&servedConn{s, sc}, raw, &s.watch)
	c.session = s.cfg.Open(c)
	c.rd.framer = c.session
	s.mu.Lock()
	sc.conn = c
	closing := s.closing
	s.mu.Unlock()
	if closing {
		c.drain()
	}
	c.mu.Lock()
	c.take(context.Background())
	c.mu.Unlock()
	c.read(nil)
}

func (s *Server) handshake(raw net.Conn) (net.Conn, error) {
	if s.cfg.TLS == nil || rpc.IsSecure(raw) {
		return raw, nil
	}
	ctx, cancel := context.WithTimeout(s.draining, handshakeTimeout)
	defer cancel()
	conn := tls.Server(raw, s.cfg.TLS)
	return conn, conn.HandshakeContext(ctx)
}

// A servedConn is the [owner] of one connection.
type servedConn struct {
	*Server
	sc *serverConn
}

func (s *Server) config() *connConfig { return &s.common }

func (s *Server) keepsReading() bool { return true }

// over is [owner]'s: what runs may finish, what it answers goes out.
func (o *servedConn) over(c *Conn, err error, head []byte) {
	s := o.Server
	defer s.remove(o.sc)
	c.cancel()
	cause := c.w.cause(err)
	c.failTooLong(err, head)
	c.endCalls(cause)
	c.waitIdle()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, errStopped), errors.Is(err, errIdle):
		c.part(err)
	case isNetError(err):
		c.fail(cause)
		return
	default:
		s.warn(c.raw, "closed a connection", cause)
		unit := newBuffer()
		unit.b = c.session.LastWords(head, err, unit.b)
		c.write(unit)
		c.part(err)
	}
	c.linger()
	c.w.fail(net.ErrClosed)
}

// linger sends what is queued, says that nothing more will come, and waits for
// the peer to close too.
func (c *Conn) linger() {
	c.beWatched() // what the peer does not read must not hold us
	if c.w.drain(context.Background()) != nil {
		return
	}
	half, ok := c.raw.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.raw.SetReadDeadline(time.Now().Add(lingerTimeout)) == nil {
		_, _ = io.Copy(io.Discard, c.raw) // any end will do
	}
}

// isNetError tells the connection's own errors from what the peer sent.
func isNetError(err error) bool {
	var op net.Error
	return errors.As(err, &op) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
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
	conns := make([]*Conn, 0, len(s.conns))
	for sc := range s.conns {
		if sc.conn != nil {
			conns = append(conns, sc.conn)
		}
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
	var cut sync.WaitGroup
	for _, c := range conns {
		cut.Go(func() { c.cutOff(errors.New("the server is shutting down")) })
	}
	cut.Wait()
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

func (s *Server) remove(sc *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, sc)
	close(sc.closed)
	s.running.Done()
}

func (s *Server) warn(raw net.Conn, msg string, err error) {
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, msg,
		slog.String("remote", raw.RemoteAddr().String()), slog.String("reason", err.Error()))
}
