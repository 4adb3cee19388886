package jsonrpc

import (
	"cmp"
	"context"
	"net"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// A webSocketServer upgrades connections of HTTP/1.1 and serves them with the
// engine.
type webSocketServer struct {
	handler *WebSocketHandler
	web     *web.Server
}

// NewWebSocketServer makes a server of JSON-RPC over WebSockets. It upgrades at
// cfg.Path, or at any path.
func NewWebSocketServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	handler, err := NewWebSocketHandler(cfg)
	if err != nil {
		return nil, err
	}
	return &webSocketServer{handler, web.NewServer(web.Config{Handler: cfg.Around(handler), TLS: cfg.TLS, Limits: cfg.Limits, Logger: cfg.Logger})}, nil
}

// Serve is [rpc.Server]'s.
func (s *webSocketServer) Serve(lis net.Listener) error { return s.web.Serve(lis) }

// Shutdown is [rpc.Server]'s.
func (s *webSocketServer) Shutdown(ctx context.Context) error {
	err := s.web.Shutdown(ctx) // handshakes are soon done
	return cmp.Or(err, s.handler.Shutdown(ctx))
}
