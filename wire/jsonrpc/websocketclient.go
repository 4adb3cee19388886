package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
	"github.com/everywire/everywire/wire/internal/web"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// NewWebSocketConn makes a client of JSON-RPC over WebSockets. The path is
// cfg.Path, or else "/".
func NewWebSocketConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	return newStreamConn(cfg, framingWebSocketMasked, web.HTTP11, func(engine *stream.ClientConfig) {
		dial, open := engine.Dial, engine.Open
		engine.Dial = func(ctx context.Context) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			if err := handshake(ctx, cfg, conn); err != nil {
				_ = conn.Close() // the error to tell is the handshake's
				return nil, err
			}
			return conn, nil
		}
		engine.Open = func(c *stream.Conn) stream.Session { return newWebSocketSession(c, open(c), false, 0) }
	})
}

// handshake makes the connection a WebSocket. The error is a *[rpc.DialError], or
// a status if the server has refused.
func handshake(ctx context.Context, cfg *rpc.ClientConfig, conn net.Conn) error {
	path := url.URL{Path: cfg.Path}
	request := websocket.Request{Host: hostOf(cfg.Addrs), Target: path.EscapedPath(), Header: http.Header{}}
	if cfg.UserAgent != "" {
		request.Header["User-Agent"] = []string{cfg.UserAgent}
	}
	_, err := websocket.Handshake(ctx, conn, &request)
	var refused *websocket.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return status.Errorf(code.FromHTTP(refused.StatusCode), "%s refused the WebSocket handshake: HTTP status %s: %s",
			cfg.Target, refused.Status, excerptData(bytes.TrimSpace(refused.Body)))
	case ctx.Err() == nil:
		err = fmt.Errorf("WebSocket handshake: %w", err)
	}
	return &rpc.DialError{Target: cfg.Target, Err: err}
}
