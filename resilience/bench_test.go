package resilience_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"github.com/everywire/everywire/resilience"
)

// What a Guard costs a call that succeeds.
func BenchmarkUnary(b *testing.B) {
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	for name, policy := range map[string]resilience.Policy{
		"retries": {Methods: methods()},
		"breaker": {Methods: methods(), Breaker: &resilience.Breaker{}},
	} {
		b.Run(name, func(b *testing.B) {
			g, err := resilience.New(policy)
			if err != nil {
				b.Fatal(err)
			}
			ctx, in, out := b.Context(), &ticket{}, &ticket{}
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Unary(ctx, get, in, out, nil, invoke); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
