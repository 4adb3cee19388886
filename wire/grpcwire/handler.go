package grpcwire

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// A Handler serves gRPC behind a server of HTTP/2 that is another's, or that has
// other requests on the same connection. grpc-go's own server of HTTP/2 is
// quicker and drains by itself: see [NewServer].
//
// A Handler is a server apart, for grpc-go cuts such calls off when it drains:
// here the server of HTTP is drained first, and waits for them.
type Handler struct {
	server *server
	once   sync.Once
}

// NewHandler makes a handler for all of the registry's methods.
func NewHandler(cfg *rpc.ServerConfig) (*Handler, error) {
	return &Handler{server: newServer(cfg, true)}, nil
}

// ServeHTTP is [http.Handler]'s. It refuses what is not gRPC.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.server.grpc.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, peerOf(r))))
}

// Drain ends the calls that have no end of their own, those that watch the
// service's health.
func (h *Handler) Drain() {
	h.server.health.Shutdown()
	h.server.stopWatches()
}

// Close ends what is left. The server of HTTP must have been drained.
func (h *Handler) Close() {
	h.Drain()
	h.once.Do(h.server.grpc.Stop)
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

// peerOf describes the client of a request.
func peerOf(r *http.Request) *peer.Peer {
	p := &peer.Peer{Addr: &net.UnixAddr{Name: r.RemoteAddr, Net: "unix"}, AuthInfo: rpc.Insecure}
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		p.Addr = net.TCPAddrFromAddrPort(ap)
	}
	p.LocalAddr, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if r.TLS != nil {
		p.AuthInfo = rpc.TLSInfo(*r.TLS)
	}
	return p
}
