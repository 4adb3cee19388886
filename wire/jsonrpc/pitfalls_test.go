package jsonrpc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// The faults that other implementations were reported for, as far as no other
// test has them. The rest: ids and params in TestReplies, framing in
// TestStreamFraming, batches in TestSpecificationExamples and TestBatchLimits,
// ids in flight in TestDuplicateIDInFlight, content types in TestHTTPRequests.

type bytesMessage struct {
	Data []byte `wire:"1"`
}

func registerBytes(reg *everywire.Registry) {
	everywire.Handle(reg, "t.Bytes/Echo", func(_ context.Context, in *bytesMessage) (*bytesMessage, error) { return in, nil })
}

func registerEmpty(reg *everywire.Registry, full, short string) {
	everywire.Handle(reg, full, func(context.Context, *empty) (*empty, error) { return &empty{}, nil }, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: short}))
}

// TestFramesAreNotMixed: frames of many writers are whole, whatever the framing
// puts around them.
func TestFramesAreNotMixed(t *testing.T) {
	const n = 300
	for _, framing := range []string{"line", "header", "netstring"} {
		t.Run("server/"+framing, func(t *testing.T) {
			c := dialRaw(t, serve(t, NewServer, serverConfig(newFixture().reg, everywire.Limits{})))
			text := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), i*i%5000) }
			var sent sync.WaitGroup
			sent.Go(func() {
				for i := range n {
					c.send(framed(framing, fmt.Sprintf(`{"jsonrpc":"2.0","method":"upper","params":[%q],"id":%d}`, text(i), i)))
				}
			})
			seen := map[string]bool{}
			for range n {
				seen[c.next(framing)] = true
			}
			for i := range n {
				if want := fmt.Sprintf(`{"jsonrpc":"2.0","result":%q,"id":%d}`, strings.ToUpper(text(i)), i); !seen[want] {
					t.Errorf("reply %d is missing or broken", i)
				}
			}
			sent.Wait()
		})
		t.Run("client/"+framing, func(t *testing.T) {
			conn, server := scripted(t, rpc.Options{"framing": framing})
			var callers sync.WaitGroup
			for i := range 30 {
				callers.Go(func() {
					for j := range n / 30 {
						text := strings.Repeat("x", (i*37+j*911)%5000)
						out, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{text})
						if err != nil || out.Text != text {
							t.Errorf("%d bytes: %v", len(text), err)
						}
					}
				})
			}
			for range n {
				request := server.next(framing)
				params, id, ok := strings.Cut(strings.TrimPrefix(request, `{"jsonrpc":"2.0","method":"t.Text/Plain","params":`), `,"id":`)
				if !ok {
					t.Fatalf("a broken request: %.200s", request)
				}
				server.send(framed(framing, `{"jsonrpc":"2.0","result":`+params+`,"id":`+id))
			}
			callers.Wait()
		})
	}
}

// TestCancelRacesWithReply: whichever comes first, the call has an end, and the
// connection goes on.
func TestCancelRacesWithReply(t *testing.T) {
	each(t, func(t *testing.T, _ *fixture, conn grpc.ClientConnInterface) {
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				for j := range 100 {
					ctx, cancel := context.WithCancel(t.Context())
					timer := time.AfterFunc(time.Duration((i*j)%200)*time.Microsecond, cancel)
					out, err := everywire.Call[textMessage](ctx, conn, "t.Text/Plain", &textMessage{"x"})
					if err == nil && out.Text != "x" || err != nil && status.Code(err) != codes.Canceled {
						t.Errorf("%v, %v", out, err)
					}
					timer.Stop()
					cancel()
				}
			})
		}
		callers.Wait()
		if out, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{"after"}); err != nil || out.Text != "after" {
			t.Errorf("%v, %v", out, err)
		}
	})
}

// TestOddNames: a name may be anything that JSON can say, if a method has it.
func TestOddNames(t *testing.T) {
	reg := everywire.NewRegistry()
	names := []string{"toString", "__proto__", "constructor", "hasOwnProperty", "été", "名前", "a b", "null", "0", "RPC.x", "rpc", "rpcx", "\U0001F600", "a\"b\\c\n"}
	for i, name := range names {
		registerEmpty(reg, fmt.Sprintf("t.T/M%d", i), name)
	}
	c := dialRaw(t, serve(t, NewServer, serverConfig(reg, everywire.Limits{})))
	for _, name := range names {
		c.send(`{"jsonrpc":"2.0","method":` + string(appendQuoted(nil, name)) + `,"id":1}`)
		c.wantLine(`{"jsonrpc":"2.0","result":{},"id":1}`)
	}
	// The same text in another form of Unicode is another name.
	c.send(`{"jsonrpc":"2.0","method":"e\u0301te\u0301","id":1}`)
	if got := c.line(); !strings.Contains(got, "-32601") {
		t.Error(got)
	}
}

// TestLargeNumbersKeepTheirDigits on the way through a document.
func TestLargeNumbersKeepTheirDigits(t *testing.T) {
	c := dialRaw(t, serve(t, NewServer, serverConfig(newFixture().reg, everywire.Limits{})))
	for _, n := range []string{"9007199254740993", "-9223372036854775809", "18446744073709551616", "123456789012345678901234567890"} {
		c.send(`{"jsonrpc":"2.0","method":"t.Echo/Any","params":[` + n + `],"id":` + n + `}`)
		c.wantLine(`{"jsonrpc":"2.0","result":` + n + `,"id":` + n + `}`)
	}
}

// TestContentTypes in any letter case, with parameters of any kind.
func TestContentTypes(t *testing.T) {
	url := "http://" + serve(t, NewHTTPServer, serverConfig(newFixture().reg, everywire.Limits{})) + DefaultPath
	for contentType, want := range map[string]int{
		"application/json": 200, "APPLICATION/JSON": 200, "application/JSON-RPC": 200, "Application/JsonRequest": 200,
		"application/json;charset=utf-8": 200, "application/json ; CHARSET=\"UTF-8\"": 200, "application/json-rpc; version=2.0; a=b": 200, "application/json;": 200,
		"application/json2": 415, "text/json": 415, "application/json, application/json": 415, "json": 415, "application/xml; a=application/json": 415,
	} {
		if got, body := post(t, url, contentType, sumRequestLine); got != want {
			t.Errorf("%q: %d %s", contentType, got, body)
		}
	}
}
