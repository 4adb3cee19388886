package jsonrpc

import (
	"context"
	"fmt"
	"net/http"

	"github.com/everywire/everywire/wire/internal/origin"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// subprotocols are those that a client may name; it need not.
var subprotocols = []string{"jsonrpc", "jsonrpc-2.0"}

// A WebSocketHandler is JSON-RPC over WebSockets as an http.Handler: it upgrades
// requests and serves their connections. The server that it is mounted in does
// not know these connections any more, so both are to be shut down.
type WebSocketHandler struct {
	engine   *stream.Server
	path     string // "" for any
	upgrader websocket.Upgrader
}

// NewWebSocketHandler makes a handler that upgrades at cfg.Path, or at any path.
func NewWebSocketHandler(cfg *rpc.ServerConfig) (*WebSocketHandler, error) {
	engine, s, err := streamServerConfig(cfg, framingWebSocket)
	if err != nil {
		return nil, err
	}
	h := &WebSocketHandler{path: cfg.Path, upgrader: websocket.Upgrader{Subprotocols: subprotocols}}
	if v, ok := cfg.Options["origins"]; ok {
		if h.upgrader.Origins, err = origin.Parse(v); err != nil {
			return nil, err
		}
	}
	engine.TLS = nil // it ends before the upgrade
	open := engine.Open
	engine.Open = func(c *stream.Conn) stream.Session { return newWebSocketSession(c, open(c), true, s.maxText()) }
	// The framer bounds messages. The engine counts the headers of fragments too.
	engine.MaxFrame += engine.MaxFrame / 4
	h.engine = stream.NewServer(engine)
	return h, nil
}

// Shutdown lets the calls in flight finish until ctx ends, then closes what is
// left.
func (h *WebSocketHandler) Shutdown(ctx context.Context) error { return h.engine.Shutdown(ctx) }

// ServeHTTP answers a request, and hands its connection to the engine.
func (h *WebSocketHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, why := http.StatusNotFound, fmt.Sprintf("the WebSocket is at %s, not at %s", h.path, r.URL.Path)
	if h.path == "" || r.URL.Path == h.path {
		status, why = h.upgrader.Check(w.Header(), r)
	}
	if status != 0 {
		websocket.Refuse(w, r, status, why)
		return
	}
	conn, _, err := h.upgrader.Upgrade(w, r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case conn != nil:
		// The handler ends, so that the server can let go of what it has for requests.
		h.engine.Start(conn)
	}
}
