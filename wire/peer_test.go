package wire_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

// A handler sees its client at an address of the network that carries the calls,
// and the same peer in all calls of a connection.
func TestHandlersPeer(t *testing.T) {
	type empty struct{}
	type seen struct {
		Network string `wire:"1"`
		Auth    string `wire:"2"`
		Same    bool   `wire:"3"`
	}
	server, client := certificates(t)
	for target, want := range map[string]string{
		"rest+tls://127.0.0.1:0":    "tcp",
		"rest+h3://127.0.0.1:0":     "udp",
		"connect+tls://127.0.0.1:0": "tcp",
	} {
		t.Run(target, func(t *testing.T) {
			var last *peer.Peer
			reg := everywire.NewRegistry()
			everywire.Handle(reg, "test.Peers/Look", func(ctx context.Context, _ *empty) (*seen, error) {
				p, ok := peer.FromContext(ctx)
				if !ok {
					return nil, fmt.Errorf("the call has no peer")
				}
				same := p == last
				last = p
				return &seen{p.Addr.Network(), p.AuthInfo.AuthType(), same}, nil
			})
			to := serveAny(t, reg, target, wire.WithTLSConfig(server)).Targets()[0].String()
			conn := dial(t, to, wire.WithTLSConfig(client))
			for i := range 2 {
				got, err := everywire.Call[seen](t.Context(), conn, "test.Peers/Look", &empty{})
				if err != nil {
					t.Fatal(err)
				}
				if *got != (seen{want, "tls", i > 0}) {
					t.Errorf("call %d: the peer is %+v, want %s, tls and the same one", i, *got, want)
				}
			}
		})
	}
}
