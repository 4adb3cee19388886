package jsonrpc

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"

	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// A webSocketServer upgrades connections with net/http and serves them with the
// engine.
type webSocketServer struct {
	handler *WebSocketHandler
	tls     *tls.Config
	http    *http.Server
}

// NewWebSocketServer makes a server of JSON-RPC over WebSockets. It upgrades at
// cfg.Path, or at any path.
func NewWebSocketServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	handler, err := NewWebSocketHandler(cfg)
	if err != nil {
		return nil, err
	}
	server := &webSocketServer{handler: handler, tls: cfg.TLS}
	server.http = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout, // of requests that are refused
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    2 * httpmeta.Bounded(cfg.Limits.MaxMetadata),
		Protocols:         new(http.Protocols),
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
	}
	server.http.Protocols.SetHTTP1(true)
	return server, nil
}

// Serve is [rpc.Server]'s.
func (s *webSocketServer) Serve(lis net.Listener) error {
	return serveHTTP1(s.http, lis, s.tls)
}

// Shutdown is [rpc.Server]'s. Handshakes under way are given up.
func (s *webSocketServer) Shutdown(ctx context.Context) error {
	_ = s.http.Close() // of what has not been upgraded; it fails only if it is closed already
	return s.handler.Shutdown(ctx)
}
