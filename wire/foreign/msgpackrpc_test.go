package foreign

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
)

func TestMsgpack5Client(t *testing.T) {
	wholeAndCut(t, func(t *testing.T, via func(string) string) {
		s := newService()
		port := portOf(t, via(s.serve(t, "msgpackrpc+tcp://127.0.0.1:0")))
		detail := `[{"type":"google.protobuf.Value","value":"GgdiZWNhdXNl"}]`
		check(t, runNode(t, "msgpack5-client.js", map[string]any{"port": port}), map[string]string{
			"sum": `[1,1,null,{"sum":41}]`, "lowestID": `[1,0,null,{"sum":0}]`, "highestID": `[1,4294967295,null,{"sum":0}]`,
			"widths": "[" + strings.Repeat("true,", 18) + "true]", "text": `true`, "bytes": `true`, "document": `true`, "large": `true`,
			"created": `[1,22,null,{"version":1}]`, "inFlight": `100`,
			"failed":  `[{"code":5,"message":"no such thing: ü","details":` + detail + `},null]`,
			"unknown": `12`, "wrongParams": `3`,
			"mapped": `{"jsonrpc":"2.0","result":41,"id":"id"}`, "mappedNamed": `{"sum":3}`, "mappedText": `true`,
			"mappedFailed": `{"code":-32005,"message":"no such thing: ü","data":{"details":` + detail + `}}`, "mappedUnknown": `-32601`,
			"together": `[[1,1001,null,{"sum":0}],{"jsonrpc":"2.0","result":0,"id":"1002"}]`,
			"cut":      `[1,1003,null,{"sum":1099511627777}]`,
		})
		s.wantNotes(t, "an array", "a map")
	})
}

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
