package rest

import (
	"cmp"
	"context"
	"net"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

type server struct {
	handler *handler
	web     *web.Server
}

// NewServer returns a server of the wire, over HTTP/1.1 and HTTP/2. It refuses
// routes that it does not support and routes in conflict; the error names them
// all.
func NewServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	h, err := newHandler(cfg)
	if err != nil {
		return nil, err
	}
	return &server{h, web.NewServer(web.Config{Handler: cfg.Around(h), TLS: cfg.TLS, Limits: cfg.Limits, Logger: h.logger})}, nil
}

// Serve is [rpc.Server]'s.
func (s *server) Serve(lis net.Listener) error { return s.web.Serve(lis) }

// Shutdown is [rpc.Server]'s.
func (s *server) Shutdown(ctx context.Context) error {
	s.handler.sockets.close()
	err := s.web.Shutdown(ctx)
	return cmp.Or(err, s.handler.Shutdown(ctx))
}
