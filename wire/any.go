package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/everywire/everywire/wire/grpcwire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/sniff"
	"github.com/everywire/everywire/wire/internal/web"
	"github.com/everywire/everywire/wire/jsonrpc"
	"github.com/everywire/everywire/wire/msgpackrpc"
)

// protocols are the names by which TLS agrees on a wire.
var protocols = map[string]sniff.Kind{web.HTTP2: sniff.HTTP2, web.HTTP11: sniff.HTTP1, jsonrpc.ALPN: sniff.JSON}

// An anyServer serves every wire on one port. Each has its own server, which gets
// the connections that the door has found to be its.
type anyServer struct {
	door   *sniff.Server
	guests []*guest
	byKind map[sniff.Kind]*guest

	serving sync.WaitGroup // the guests' Serve
	mu      sync.Mutex
	closing bool
}

// A guest is the server of one wire behind the door.
type guest struct {
	name   string
	server rpc.Server
	lis    *sniff.Listener // since Serve
}

// newAnyServer makes the server of any://.
func newAnyServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	_, cleartext := cfg.Options["cleartext"]
	_, demandsCert := cfg.Options["ca"]
	switch {
	case cleartext && cfg.TLS == nil:
		return nil, errors.New("the option cleartext is for any+tls: here there is nothing else")
	case cleartext && demandsCert:
		return nil, errors.New("the options ca and cleartext contradict each other: without TLS nobody shows a certificate")
	}
	plain := *cfg
	plain.TLS = nil
	// Handlers that call their clients may use credentials that ask for TLS.
	streams := plain
	if !cleartext {
		streams.TLS = cfg.TLS
	}
	s := &anyServer{byKind: map[sniff.Kind]*guest{}}
	for _, g := range []struct {
		name   string
		make   func(*rpc.ServerConfig) (rpc.Server, error)
		cfg    *rpc.ServerConfig
		serves []sniff.Kind
	}{
		{"jsonrpc", jsonrpc.NewServer, streams.Of("jsonrpc"), []sniff.Kind{sniff.JSON}},
		{"msgpackrpc", msgpackrpc.NewServer, streams.Of("msgpackrpc"), []sniff.Kind{sniff.MessagePack}},
		{"grpc", grpcwire.NewServer, plain.Of("grpc"), []sniff.Kind{sniff.GRPC}},
		{"http", newAnyHTTPServer, &plain, []sniff.Kind{sniff.HTTP1, sniff.HTTP2}},
	} {
		server, err := g.make(g.cfg)
		if err != nil {
			s.discard()
			return nil, err
		}
		made := &guest{name: g.name, server: server}
		s.guests = append(s.guests, made)
		for _, kind := range g.serves {
			s.byKind[kind] = made
		}
	}
	s.door = sniff.NewServer(sniff.Config{
		TLS: cfg.TLS, Protocols: protocols, Cleartext: cleartext,
		MaxHeader: web.MaxHead(cfg.Limits),
		Idle:      web.IdleTimeout,
		Take:      func(kind sniff.Kind, conn net.Conn) { s.byKind[kind].lis.Give(conn) },
		Logger:    cfg.Logger,
	})
	return s, nil
}

// discard ends the servers of a port that is not going to be.
func (s *anyServer) discard() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is in flight to be waited for
	for _, g := range s.guests {
		_ = g.server.Shutdown(ctx) // says only that ctx has ended
	}
}

// Serve is [rpc.Server]'s. If the server of one wire fails, so does the port.
func (s *anyServer) Serve(lis net.Listener) error {
	failed := make(chan error, len(s.guests))
	if !s.open(lis, failed) {
		return lis.Close()
	}
	err := s.door.Serve(lis)
	select {
	case err = <-failed:
	default:
	}
	return err
}

// open starts the servers behind the door, unless Shutdown has come first.
func (s *anyServer) open(lis net.Listener, failed chan<- error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	for _, g := range s.guests {
		g.lis = sniff.NewListener(lis.Addr())
		s.serving.Go(func() {
			if err := g.server.Serve(g.lis); err != nil {
				failed <- fmt.Errorf("%s: %w", g.name, err)
				_ = lis.Close() // the door's Serve returns
			}
		})
	}
	return true
}

// Shutdown is [rpc.Server]'s. Connections that have not shown which wire they
// are, are closed; the wires drain at the same time.
func (s *anyServer) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	errs := make([]error, len(s.guests)+1)
	errs[len(s.guests)] = s.door.Shutdown(ctx)
	var wg sync.WaitGroup
	for i, g := range s.guests {
		wg.Go(func() { errs[i] = g.server.Shutdown(ctx) })
	}
	wg.Wait()
	s.serving.Wait()
	return cmp.Or(errs...) // that ctx has ended, from whoever noticed
}
