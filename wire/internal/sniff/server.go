package sniff

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/everywire/everywire/wire/internal/rpc"
)

const (
	// patience is how long a client may take to show what it speaks, its TLS
	// handshake included, and for a frame of HTTP/2 that has begun.
	patience = 10 * time.Second
	// goodbye is how long a client has to take the last that it is told.
	goodbye = time.Second
	// look is how much is read at first.
	look = 512
)

// Config is what a [Server] is made from.
type Config struct {
	// TLS is nil if there is none.
	TLS *tls.Config
	// Protocols are TLS's names (ALPN) of the kinds. A client that names one must
	// speak it; one that names none is known by its first bytes.
	Protocols map[string]Kind
	// Cleartext lets clients do without TLS.
	Cleartext bool
	// MaxHeader bounds the header of the first request on HTTP/2.
	MaxHeader int
	// Idle is how long a client of HTTP/2 may be there without a request.
	Idle time.Duration
	// Take takes a connection over. It gets no Unknown, More or TLS.
	Take   func(Kind, net.Conn)
	Logger *slog.Logger
}

// A Server accepts connections and finds out what each is.
type Server struct {
	cfg      Config
	stopping context.Context //nolint:containedctx // a signal
	stop     context.CancelFunc
	running  sync.WaitGroup // connections that are not handed over yet

	mu    sync.Mutex
	lis   net.Listener
	conns map[net.Conn]struct{} // the same, as they were accepted
}

// NewServer makes a server.
func NewServer(cfg Config) *Server {
	s := &Server{cfg: cfg, conns: map[net.Conn]struct{}{}}
	if cfg.TLS != nil {
		var names []string
		for _, name := range []string{"h2", "http/1.1"} { // what a client that knows both gets
			if _, ok := cfg.Protocols[name]; ok {
				names = append(names, name)
			}
		}
		for name := range cfg.Protocols {
			if name != "h2" && name != "http/1.1" {
				names = append(names, name)
			}
		}
		s.cfg.TLS = rpc.WithProtocols(cfg.TLS, names...)
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s
}

// Serve accepts connections until Shutdown, then returns nil. It closes lis.
func (s *Server) Serve(lis net.Listener) error {
	defer lis.Close() //nolint:errcheck // Shutdown may have closed it
	s.mu.Lock()
	s.lis = lis
	s.mu.Unlock()
	return rpc.Accept(s.stopping, lis, s.cfg.Logger, s.start)
}

// Shutdown stops accepting and closes the connections that have not shown what
// they are; nothing of theirs has run. Those of HTTP/2 are told so. It waits until
// the others have been taken over. If ctx ends first, it returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stop()
	if s.lis != nil {
		_ = s.lis.Close() // nothing can be done about it
	}
	for conn := range s.conns {
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // one that fails is closed anyway
	}
	s.mu.Unlock()
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
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close() // whoever waits for it learns of it
	}
	s.mu.Unlock()
	<-done
	return ctx.Err()
}

// setReadDeadline sets a deadline unless Shutdown has set its own.
func (s *Server) setReadDeadline(conn net.Conn, t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		return false
	}
	_ = conn.SetReadDeadline(t) // if it fails, so does the read
	return true
}

func (s *Server) start(raw net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		_ = raw.Close() // nobody has used it
		return
	}
	s.conns[raw] = struct{}{}
	s.running.Add(1)
	go s.serve(raw)
}

// serve finds out what a connection is, and hands it over.
func (s *Server) serve(raw net.Conn) {
	defer s.running.Done()
	kind, conn, err := s.identify(raw)
	s.mu.Lock()
	delete(s.conns, raw)
	s.mu.Unlock()
	if err == nil {
		err = raw.SetDeadline(time.Time{})
	}
	if err != nil {
		s.refused(raw, err)
		_ = raw.Close() // err is what there is to tell
		return
	}
	s.cfg.Take(kind, disguise(conn))
}

// errStopping ends what Shutdown finds under way.
var errStopping = errors.New("the server is shutting down")

// An errRefused says why a connection is closed.
type errRefused struct{ why string }

func (e errRefused) Error() string { return e.why }

func refuse(format string, args ...any) error { return errRefused{fmt.Sprintf(format, args...)} }

// identify returns the connection to hand over.
func (s *Server) identify(raw net.Conn) (Kind, *Conn, error) {
	if err := raw.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return More, nil, err
	}
	if !s.setReadDeadline(raw, time.Now().Add(patience)) {
		return More, nil, errStopping
	}
	kind, conn, err := begin(raw)
	switch {
	case err != nil:
		return kind, nil, err
	case kind == TLS:
		kind, conn, err = s.secure(conn)
	case s.cfg.TLS != nil && !s.cfg.Cleartext:
		if kind == HTTP1 {
			SayUseTLS(raw)
		}
		return kind, nil, refuse("%v without TLS, which this port asks for", kind)
	}
	if err == nil && kind == HTTP2 {
		return s.receive(conn)
	}
	return kind, conn, err
}

// SayUseTLS answers a client of HTTP on a port that asks for TLS: most are
// browsers. The caller closes the connection.
func SayUseTLS(conn net.Conn) {
	if conn.SetWriteDeadline(time.Now().Add(goodbye)) == nil {
		_, _ = io.WriteString(conn, plainAnswer) // it is closed then
	}
}

const plainAnswer = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" +
	"This port speaks TLS: use https.\n"

// begin reads the first bytes of a connection.
func begin(conn net.Conn) (Kind, *Conn, error) {
	buf := make([]byte, look)
	for n := 0; ; {
		more, err := conn.Read(buf[n:])
		n += more
		switch kind := Of(buf[:n]); {
		case kind == Unknown:
			return kind, nil, refuse("it begins with %q, which is no wire's", buf[:min(n, maxMethod)])
		case kind != More:
			return kind, &Conn{Conn: conn, replay: buf[:n]}, nil // an error comes again
		case err != nil && n > 0 && !isTimeout(err):
			return kind, nil, refuse("it ended behind %q", buf[:n])
		case err != nil:
			return kind, nil, err
		}
	}
}

// secure does the handshake of TLS and looks at what comes then.
func (s *Server) secure(raw *Conn) (Kind, *Conn, error) {
	if s.cfg.TLS == nil {
		return TLS, nil, refuse("TLS, on a port without it")
	}
	conn := tls.Server(raw, s.cfg.TLS)
	if err := conn.HandshakeContext(s.stopping); err != nil {
		return TLS, nil, fmt.Errorf("TLS handshake: %w", err)
	}
	kind, first, err := begin(conn)
	if err != nil {
		return kind, nil, err
	}
	name := conn.ConnectionState().NegotiatedProtocol
	if want, named := s.cfg.Protocols[name]; named && kind != want {
		return kind, nil, refuse("%v, where TLS has agreed on %q", kind, name)
	}
	if kind == TLS {
		return kind, nil, refuse("TLS within TLS")
	}
	return kind, first, nil
}

func isTimeout(err error) bool {
	var op net.Error
	return errors.As(err, &op) && op.Timeout()
}

// refused logs why a connection is closed. Who connects and goes, or says
// nothing, is a probe.
func (s *Server) refused(raw net.Conn, err error) {
	if s.stopping.Err() != nil || isTimeout(err) || errors.Is(err, io.EOF) {
		return
	}
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, "closed a connection",
		slog.String("remote", raw.RemoteAddr().String()), slog.String("reason", err.Error()))
}
