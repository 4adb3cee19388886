package resilience_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/resilience"
	"github.com/everywire/everywire/wire"
)

type name struct {
	Text string `wire:"1"`
}

// A server that is away for a moment: the call that may run twice is made again,
// the other one is reported. It is the same on every wire.
func Example() {
	ctx := context.Background()
	reg := everywire.NewRegistry()
	calls := 0
	greet := func(_ context.Context, in *name) (*name, error) {
		if calls++; calls%2 == 1 {
			return nil, status.Error(codes.Unavailable, "the database restarts")
		}
		return &name{"Hello, " + in.Text}, nil
	}
	everywire.Handle(reg, "hello.Hello/Greet", greet, everywire.WithIdempotency(everywire.NoSideEffects))
	everywire.Handle(reg, "hello.Hello/Invite", greet)
	srv, err := wire.Serve(ctx, reg, []string{"jsonrpc+tcp://127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Shutdown(ctx)

	guard, err := resilience.New(resilience.Policy{
		Methods: reg,
		Default: resilience.Rules{Attempts: 5, Backoff: time.Millisecond},
		Breaker: &resilience.Breaker{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, err := wire.Dial(srv.Targets()[0].String(),
		wire.WithMethods(reg), wire.WithUnaryInterceptor(guard.Unary), wire.WithStreamInterceptor(guard.Stream))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	for _, method := range []string{"hello.Hello/Greet", "hello.Hello/Invite"} {
		out, err := everywire.Call[name](ctx, conn, method, &name{"you"})
		if err != nil {
			fmt.Printf("%s: %s; may have run: %v\n", method, status.Convert(err).Message(), everywire.MayHaveRun(err))
			continue
		}
		fmt.Printf("%s: %s\n", method, out.Text)
	}
	// Output:
	// hello.Hello/Greet: Hello, you
	// hello.Hello/Invite: the database restarts; may have run: true
}
