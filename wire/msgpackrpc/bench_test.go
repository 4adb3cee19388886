package msgpackrpc_test

import (
	"strings"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// A call over TCP, client and server in one process: the allocations are those
// of both.
func BenchmarkCall(b *testing.B) {
	f := newFixture(b)
	for _, tt := range []struct {
		name    string
		options rpc.Options
	}{{"array", nil}, {"map", mapOn()}} {
		b.Run(tt.name, func(b *testing.B) {
			conn := f.dial(b, tt.options)
			in := &Numbers{Text: strings.Repeat("x", 64)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := everywire.Call[Numbers](b.Context(), conn, "arith.Arith/Same", in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
