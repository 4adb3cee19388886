package grpcwire

import (
	"context"
	"net/http"
	"sync"

	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// A Handler serves gRPC behind a server of HTTP/2 that is another's, or that has
// other requests on the same connection. grpc-go's own server of HTTP/2 is
// quicker and drains by itself: see [NewServer].
//
// It is a server apart, for to drain grpc-go cuts such calls off. Here they are
// counted, and waited for.
type Handler struct {
	server   *server
	registry *everywire.Registry

	mu     sync.Mutex
	calls  int
	idle   chan struct{} // closed when there are no calls, if somebody waits
	closed bool
}

// NewHandler makes a handler for all of the registry's methods.
func NewHandler(cfg *rpc.ServerConfig) *Handler {
	return &Handler{server: newServer(cfg, true, cfg.GRPC), registry: cfg.Registry}
}

// ServeHTTP is [http.Handler]'s. It refuses what is not gRPC.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.enter() {
		http.Error(w, "the server is shutting down", http.StatusServiceUnavailable)
		return
	}
	defer h.leave()
	r = r.WithContext(context.WithValue(r.Context(), peerKey{}, web.Peer(r)))
	if d := streamTime(h.registry, r.URL.Path); d > 0 {
		r.Header = clampTimeout(r.Header, d)
	}
	h.server.grpc.ServeHTTP(w, r)
}

func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.calls++
	return true
}

func (h *Handler) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls--; h.calls == 0 && h.idle != nil {
		close(h.idle)
		h.idle, h.closed = nil, true
	}
}

// Drain ends the calls that have no end of their own, those that watch the
// service's health.
func (h *Handler) Drain() {
	h.server.health.Shutdown()
	h.server.stopWatches()
}

// Shutdown waits until no call is in flight, or ctx ends, and ends the handler
// then. Until then calls may still come in: whether they do is for the server
// before it.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.Drain()
	h.mu.Lock()
	idle := h.idle
	switch {
	case h.calls == 0:
		h.closed = true
	case idle == nil:
		idle = make(chan struct{})
		h.idle = idle
	}
	h.mu.Unlock()
	var err error
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.server.grpc.Stop()
	return err
}

// peerKey is the context key of a request's *peer.Peer.
type peerKey struct{}

// withPeer puts the peer of a request in place of grpc-go's, whose address is
// text and which has no AuthInfo without TLS.
func withPeer(ctx context.Context) context.Context {
	if p, ok := ctx.Value(peerKey{}).(*peer.Peer); ok {
		return peer.NewContext(ctx, p)
	}
	return ctx
}
