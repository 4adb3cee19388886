package foreign

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
)

// TestMsgpack5Server: errors have no form in the specification, so each of those that
// are seen is tried.
func TestMsgpack5Server(t *testing.T) {
	for form, want := range map[string]error{
		"map":   status.Error(codes.NotFound, "its own: ü"), // as ours
		"array": status.Error(codes.Unknown, "its own: ü"),
		"text":  status.Error(codes.Unknown, "its own: ü"),
	} {
		t.Run(form, func(t *testing.T) {
			conn := newService().dial(t, "msgpackrpc+tcp://%s", startNode(t, "msgpack5-server.js", map[string]any{"error": form}))
			ctx := testContext(t)
			for _, numbers := range [][]int64{nil, {20, 21}, {-129, 1 << 40, -(1<<53 - 1), 65536}} {
				var want int64
				for _, n := range numbers {
					want += n
				}
				sum, err := everywire.Call[arith.SumReply](ctx, conn, arith.Sum, &arith.SumRequest{Numbers: numbers})
				if err != nil || sum.Sum != want {
					t.Errorf("sum: %v, %v", sum, err)
				}
			}
			for _, want := range []string{"", noteText, strings.Repeat("é", 512<<10)} {
				got, err := everywire.Call[text](ctx, conn, "peer.Peer/Same", &text{want})
				if err != nil || got.Text != want {
					t.Errorf("same: a text of %d bytes: %v", len(want), err)
				}
			}
			if _, err := everywire.Call[empty](ctx, conn, "peer.Peer/Fail", &failure{5, "its own: ü"}); err == nil || err.Error() != want.Error() {
				t.Errorf("fail: got %v, want %v", err, want)
			}
			if _, err := everywire.Call[empty](ctx, conn, "peer.Peer/Began", &empty{}); status.Convert(err).Message() != "no such method" && form != "map" {
				t.Errorf("an unknown method: %v", err)
			}
			checkNotes(t, ctx, conn)
			checkInFlight(t, ctx, conn, 100)
		})
	}
}
