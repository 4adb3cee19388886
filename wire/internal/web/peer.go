package web

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// connKey is the context key of a connection's *connInfo.
type connKey struct{}

// connInfo is what the requests of a connection share. It is made when it is
// asked for, at the first request at the earliest: TLS's handshake is done then.
type connInfo struct {
	conn net.Conn
	once sync.Once
	peer *peer.Peer
	tls  *tls.ConnectionState
}

// connContext is the ConnContext of both servers.
func (s *Server) connContext(ctx context.Context, conn net.Conn) context.Context {
	if hidden, ok := conn.(http2Conn); ok {
		conn = hidden.Conn
	}
	ctx = WithConn(ctx, conn)
	if s.cfg.ConnContext != nil {
		ctx = s.cfg.ConnContext(ctx, conn)
	}
	return ctx
}

// WithConn returns the context that those of a connection's requests are made
// from, on a server that is ours but no [Server]: [Peer] and [IsOwn] read it. Of
// conn it is only asked who the peer is.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &connInfo{conn: conn})
}

func (c *connInfo) learn() {
	c.once.Do(func() {
		c.peer = rpc.PeerOf(c.conn)
		if secure, ok := c.conn.(stater); ok {
			state := secure.ConnectionState()
			c.tls = &state
		}
	})
}

func (c *connInfo) tlsState() *tls.ConnectionState {
	c.learn()
	return c.tls
}

// Peer describes the client of a request, on a server of ours or on another's. All
// requests of a connection of ours have the same.
func Peer(r *http.Request) *peer.Peer {
	if c, ok := r.Context().Value(connKey{}).(*connInfo); ok {
		c.learn()
		return c.peer
	}
	// net/http tells the client's address as text.
	p := &peer.Peer{Addr: textAddr(r.RemoteAddr), AuthInfo: rpc.Insecure}
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		p.Addr = net.TCPAddrFromAddrPort(ap)
	}
	p.LocalAddr, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if r.TLS != nil {
		p.AuthInfo = rpc.TLSInfo(*r.TLS)
	}
	return p
}

// IsOwn reports whether a request came to a server of ours. There a handler may set
// deadlines, and what could be taken for two requests has been refused; on
// another's server both are the other's business.
func IsOwn(r *http.Request) bool {
	_, ok := r.Context().Value(connKey{}).(*connInfo)
	return ok
}

// textAddr is an address that is no TCP address.
type textAddr string

func (textAddr) Network() string  { return "unknown" }
func (a textAddr) String() string { return string(a) }
