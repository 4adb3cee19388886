package wire_test

import (
	"context"
	"fmt"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

type point struct {
	X int `wire:"1"`
	Y int `wire:"2"`
}

// A type with an encoding of its own is served by gRPC and by REST. The service
// knows nothing of it.
func ExampleWithCodecs() {
	own := everywire.NewCodec("point")
	everywire.Encode(own,
		func(dst []byte, p *point) ([]byte, error) { return fmt.Appendf(dst, "%d,%d", p.X, p.Y), nil },
		func(data []byte, p *point) error { _, err := fmt.Sscanf(string(data), "%d,%d", &p.X, &p.Y); return err })

	reg := everywire.NewRegistry()
	everywire.Handle(reg, "geo.Geo/Mirror", func(_ context.Context, p *point) (*point, error) { return &point{-p.X, -p.Y}, nil })
	server, err := wire.Serve(context.Background(), reg, []string{"grpc://127.0.0.1:0", "rest://127.0.0.1:0"}, wire.WithCodecs(own))
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Shutdown(context.Background()) }()
	for _, target := range server.Targets() {
		conn, err := wire.Dial(target.String()+"?codec=point", wire.WithCodecs(own))
		if err != nil {
			panic(err)
		}
		p, err := everywire.Call[point](context.Background(), conn, "geo.Geo/Mirror", &point{3, 4})
		fmt.Println(target.Wire, p, err, conn.Close())
	}
	// Output:
	// grpc &{-3 -4} <nil> <nil>
	// rest &{-3 -4} <nil> <nil>
}
