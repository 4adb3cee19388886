package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

const defaultDrain = 10 * time.Second

// A Server serves one registry on any number of targets.
type Server struct {
	targets []Target
	servers []ending

	wg   sync.WaitGroup // one for each server's Serve
	once sync.Once      // guards the one shutdown
	done chan struct{}
	err  error // set before done is closed
	// patience ends when the first of the contexts of the calls of Shutdown does.
	patience context.Context //nolint:containedctx // shared by the calls of Shutdown
	cutOff   context.CancelCauseFunc

	mu       sync.Mutex
	stop     func() bool // takes back the hook on Serve's context
	serveErr error
}

// Serve binds every target, or none and returns an error, and then serves reg
// on all of them until ctx ends or Shutdown is called. When ctx ends, calls in
// flight have the drain timeout to finish.
func Serve(ctx context.Context, reg *everywire.Registry, targets []string, opts ...ServeOption) (*Server, error) {
	cfg := config{drain: defaultDrain, logger: slog.Default()}
	for _, o := range opts {
		o.applyServe(&cfg)
	}
	if len(targets) == 0 {
		return nil, errors.New("no targets to serve on: give one such as rest://:8080")
	}
	s := &Server{done: make(chan struct{})}
	s.patience, s.cutOff = context.WithCancelCause(context.WithoutCancel(ctx))
	var all []bound
	for _, target := range targets {
		b, err := s.bind(ctx, reg, target, &cfg)
		if err != nil {
			s.cutOff(err) // nothing is in flight to be waited for
			for i, b := range all {
				_ = b.Close() // nobody has connected; the error to tell is err
				_ = s.servers[i].Shutdown(s.patience)
			}
			return nil, err
		}
		all = append(all, b)
	}
	drain := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.drain)
		defer cancel()
		_ = s.Shutdown(ctx) // Wait returns it
	}
	// Held until stop is set: ctx may have ended already, and a listener may fail
	// at once.
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range all {
		s.wg.Go(func() {
			if err := b.serve(); err != nil {
				s.mu.Lock()
				s.serveErr = errors.Join(s.serveErr, fmt.Errorf("%v: %w", s.targets[i], err))
				s.mu.Unlock()
				go drain() // a server that lost one of its targets serves none
			}
		})
	}
	s.stop = context.AfterFunc(ctx, drain)
	return s, nil
}

// configOf is a server's configuration for the target's wire; those of a port of
// all wires are made where they are.
func (t *Target) configOf(cfg *rpc.ServerConfig) *rpc.ServerConfig {
	if t.Wire == "any" {
		return cfg
	}
	return cfg.Of(t.Wire)
}

// ParseServed reads a target to serve on, and refuses one that only a client can
// have. Whether its address is free and its files are there is not looked at.
func ParseServed(target string) (Target, error) {
	t, err := ParseTarget(target)
	if err != nil {
		return Target{}, err
	}
	if err := t.checkOptions(serveSide); err != nil {
		return Target{}, targetError(target, "%v", err)
	}
	if len(t.Addrs) != 1 {
		return Target{}, targetError(target, "a server listens on one address: give one target for each")
	}
	return t, nil
}

// bound is what a target's server listens on.
type bound struct {
	io.Closer
	addr  net.Addr
	serve func() error
}

// bind makes one target's server and listener.
func (s *Server) bind(ctx context.Context, reg *everywire.Registry, target string, cfg *config) (bound, error) {
	t, err := ParseServed(target)
	if err != nil {
		return bound{}, err
	}
	if err := cfg.serves(&t); err != nil {
		return bound{}, targetError(target, "%v", err)
	}
	logger := cfg.logger.With(slog.String("target", target))
	tlsConfig, err := t.serverTLS(cfg.tls, logger)
	if err != nil {
		return bound{}, targetError(target, "%v", err)
	}
	codecs, err := cfg.codecsFor(&t)
	if err != nil {
		return bound{}, targetError(target, "%v", err)
	}
	rc := rpc.ServerConfig{
		Registry: reg,
		Limits:   cfg.limits.WithDefaults(),
		StatsOf:  cfg.serverStats(reg),
		Codecs:   codecs,
		Logger:   logger,
		TLS:      tlsConfig,
		Path:     t.Path,
		Options:  t.Options,
		GRPC:     cfg.grpcServe,
		HTTP:     cfg.around,
	}
	b, server, err := t.listen(ctx, target, cfg, t.configOf(&rc))
	if err != nil {
		return bound{}, err
	}
	if t.Transport != "unix" {
		t = t.At(b.addr.String())
	}
	s.targets = append(s.targets, t)
	s.servers = append(s.servers, server)
	return b, nil
}

// listen binds the address of a target, written as it is, and then makes its
// server.
func (t *Target) listen(ctx context.Context, written string, cfg *config, rc *rpc.ServerConfig) (bound, ending, error) {
	maker := makers[t.shape()]
	if maker.packets != nil {
		if cfg.listen != nil {
			return bound{}, nil, targetError(written, "HTTP/3 is on packets: WithListener is for streams")
		}
		conn, err := new(net.ListenConfig).ListenPacket(ctx, t.network(), t.Addrs[0])
		if err != nil {
			return bound{}, nil, listenError(written, t.Transport, err)
		}
		server, err := maker.packets(rc)
		if err != nil {
			_ = conn.Close() // nobody has been heard
			return bound{}, nil, targetError(written, "%v", err)
		}
		serve := func() error { return errors.Join(server.ServePacket(conn), conn.Close()) }
		return bound{conn, conn.LocalAddr(), serve}, server, nil
	}
	listen := cfg.listen
	if listen == nil {
		listen = new(net.ListenConfig).Listen
	}
	lis, err := listen(ctx, t.network(), t.Addrs[0])
	if err != nil && t.Transport == "unix" && removeStale(ctx, t.Addrs[0]) {
		lis, err = listen(ctx, t.network(), t.Addrs[0])
	}
	if err != nil {
		return bound{}, nil, listenError(written, t.Transport, err)
	}
	server, err := maker.server(rc)
	if err != nil {
		_ = lis.Close() // nobody has connected
		return bound{}, nil, targetError(written, "%v", err)
	}
	return bound{lis, lis.Addr(), func() error { return server.Serve(lis) }}, server, nil
}

// removeStale removes a socket that nobody listens on any more, as a server
// that was killed leaves it behind. It touches nothing but sockets.
func removeStale(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // somebody is there
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED) && os.Remove(path) == nil
}

func listenError(target, transport string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && transport == "unix":
		return fmt.Errorf("%s: the file is there already: choose another, or remove it if it is of no use", target)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: the address is in use: choose another port, or stop what listens there", target)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: not allowed to listen there: choose a port of 1024 or more, or a folder that is yours", target)
	}
	return fmt.Errorf("%s: cannot listen: %w", target, err)
}

// Targets returns what is served, with the addresses that were bound: a target
// with port 0 has its real port here.
func (s *Server) Targets() []Target { return s.targets }

// Shutdown stops accepting calls, waits for those in flight until ctx ends,
// and then closes what is left. It may be called more than once, also at the
// same time; then the ctx that ends first counts, and all return the same.
func (s *Server) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { s.cutOff(ctx.Err()) })()
	s.once.Do(func() { go s.shutdown() })
	<-s.done
	return s.err
}

func (s *Server) shutdown() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	errs := make([]error, len(s.servers))
	var wg sync.WaitGroup
	for i, server := range s.servers {
		wg.Go(func() { errs[i] = server.Shutdown(reasoned{s.patience}) })
	}
	wg.Wait()
	s.wg.Wait()
	s.mu.Lock()
	s.err = errors.Join(append(errs, s.serveErr)...)
	s.mu.Unlock()
	close(s.done)
}

// A reasoned context ends with the error of the context that ended it.
type reasoned struct{ context.Context } //nolint:containedctx // it is one

func (c reasoned) Err() error {
	if c.Context.Err() == nil {
		return nil
	}
	return context.Cause(c.Context)
}

// Wait waits until the server has shut down and returns what went wrong.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}
