package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
)

// jrpc2's framings, and what they are called in our targets.
var jrpc2Framings = []struct {
	name, option string
	framing      channel.Framing
}{
	{"line", "line", channel.Line},
	{"header", "header", channel.Header("")},
	{"header with a type", "header", channel.Header("application/json; charset=utf-8")},
	{"LSP", "header", channel.LSP},
	{"raw", "concat", channel.RawJSON},
}

func TestJRPC2Client(t *testing.T) {
	for _, test := range jrpc2Framings {
		t.Run(test.name, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				s := newService()
				raw := connect(t, via(s.serve(t, "jsonrpc+tcp://127.0.0.1:0")))
				client := jrpc2.NewClient(test.framing(raw, raw), nil)
				defer func() {
					if err := client.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
				}()
				checkClient(t, s, &goClient{
					call: func(ctx context.Context, method string, params, result any) error {
						rsp, err := client.Call(ctx, method, params)
						if err != nil || result == nil {
							return err
						}
						return rsp.UnmarshalResult(result)
					},
					notify: client.Notify,
					failure: func(err error) (code int64, message, data string) {
						var e *jrpc2.Error
						if !errors.As(err, &e) {
							return 0, err.Error(), ""
						}
						return int64(e.Code), e.Message, string(e.Data)
					},
				})
				checkJRPC2Batch(t, s, client)
			})
		})
	}
}

func checkJRPC2Batch(t *testing.T, s *service, client *jrpc2.Client) {
	t.Helper()
	replies, err := client.Batch(testContext(t), []jrpc2.Spec{
		{Method: "sum", Params: []int{1, 2}},
		{Method: "note", Params: []string{"in a batch"}, Notify: true},
		{Method: "nope"},
		{Method: "arith.Arith/Sum", Params: map[string][]int{"numbers": {3}}},
	})
	if err != nil || len(replies) != 3 {
		t.Fatalf("batch: %v, %v", replies, err)
	}
	if got := replies[0].ResultString(); got != "3" {
		t.Errorf("batch: %s", got)
	}
	if e := replies[1].Error(); e == nil || e.Code != jrpc2.MethodNotFound {
		t.Errorf("batch: %v", e)
	}
	if got := replies[2].ResultString(); got != `{"sum":3}` {
		t.Errorf("batch: %s", got)
	}
	s.wantNotes(t, "in a batch")
}

// jrpc2Methods are m for jrpc2, whose servers know notifications from calls and
// cancel by a method of their own.
func jrpc2Methods(m *goMethods) handler.Map {
	return handler.Map{
		"sum": handler.New(func(_ context.Context, numbers []int64) int64 {
			var total int64
			for _, n := range numbers {
				total += n
			}
			return total
		}),
		"subtract": handler.NewPos(func(_ context.Context, a, b int64) int64 { return a - b }, "minuend", "subtrahend"),
		"same":     handler.New(func(_ context.Context, in []string) string { return in[0] }),
		"fail": handler.NewPos(func(_ context.Context, code int64, message string) error {
			return &jrpc2.Error{Code: jrpc2.Code(code), Message: message, Data: json.RawMessage(`{"why":"because"}`)}
		}, "code", "message"),
		"note":      handler.New(func(_ context.Context, in []string) error { m.note(in[0]); return nil }),
		"noted":     handler.New(func(context.Context) []string { return m.notes() }),
		"meet":      handler.New(func(_ context.Context, in []int64) int64 { return m.meet(in[0]) }),
		"block":     handler.New(func(ctx context.Context) error { m.block(ctx); return ctx.Err() }),
		"cancelled": handler.New(func(context.Context) int64 { return m.cancels() }),
		"$/cancelRequest": handler.New(func(ctx context.Context, in struct {
			ID json.RawMessage `json:"id"`
		}) error {
			jrpc2.ServerFromContext(ctx).CancelRequest(string(in.ID))
			return nil
		}),
	}
}

// TestJRPC2Server: jrpc2 refuses requests with members that it does not know,
// hence meta=off.
func TestJRPC2Server(t *testing.T) {
	for _, test := range jrpc2Framings {
		t.Run(test.name, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				addr := listen(t, func(conn net.Conn) {
					server := jrpc2.NewServer(jrpc2Methods(new(goMethods)), &jrpc2.ServerOptions{Concurrency: 200})
					wantParted(t, server.Start(test.framing(conn, conn)).Wait())
				})
				conn := newService().dial(t, "jsonrpc+tcp://%s?meta=off&framing=%s", via(addr), test.option)
				checkServer(t, conn)
				checkCancel(t, conn)
			})
		})
	}
}
