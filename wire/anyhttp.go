package wire

import (
	"cmp"
	"context"
	"net"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// An anyHTTPServer serves what is HTTP on a port of all wires.
type anyHTTPServer struct {
	web     *web.Server
	handler *Handler
}

func newAnyHTTPServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	h, err := newAnyHandler(cfg)
	if err != nil {
		return nil, err
	}
	return &anyHTTPServer{web.NewServer(web.Config{Handler: cfg.Around(h), Limits: cfg.Limits, Logger: cfg.Logger}), h}, nil
}

func (s *anyHTTPServer) Serve(lis net.Listener) error { return s.web.Serve(lis) }

// Shutdown is [rpc.Server]'s. Calls of gRPC come in until HTTP's connections are
// drained.
func (s *anyHTTPServer) Shutdown(ctx context.Context) error {
	s.handler.grpc.Drain()
	drained := make(chan error, 1)
	go func() { drained <- s.web.Shutdown(ctx) }()
	err := s.handler.endConnections(ctx)
	err = cmp.Or(<-drained, err)
	return cmp.Or(s.handler.grpc.Shutdown(ctx), err)
}
