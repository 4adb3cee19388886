package grpcwire

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// clientCredentials are those of the target.
func clientCredentials(cfg *rpc.ClientConfig) credentials.TransportCredentials {
	switch {
	case cfg.TLS == nil:
		return insecure.NewCredentials()
	case cfg.Roots == nil:
		return credentials.NewTLS(cfg.TLS)
	}
	return changing{credentials.NewTLS(cfg.TLS), cfg}
}

// changing are credentials whose authorities are asked for at each handshake.
type changing struct {
	credentials.TransportCredentials
	cfg *rpc.ClientConfig
}

// ClientHandshake is [credentials.TransportCredentials]'s.
func (c changing) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(c.cfg.TLSFor(authority)).ClientHandshake(ctx, authority, conn)
}

// Clone is [credentials.TransportCredentials]'s.
func (c changing) Clone() credentials.TransportCredentials { return c }
