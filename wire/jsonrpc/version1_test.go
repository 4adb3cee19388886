package jsonrpc

import (
	"context"
	"fmt"
	"net"
	"net/http"
	netrpc "net/rpc"
	netjsonrpc "net/rpc/jsonrpc"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// TestVersion1Replies sends one request to servers of version 1.0 and compares
// the whole reply and the HTTP status.
func TestVersion1Replies(t *testing.T) {
	f := newFixture()
	cfg := serverConfig(f.reg, everywire.Limits{MaxBatch: 2})
	cfg.Options = rpc.Options{"version": "1.0"}
	tcp := dialRaw(t, serve(t, NewServer, cfg))
	web := "http://" + serve(t, NewHTTPServer, cfg) + DefaultPath
	failure := func(message, id string) string {
		return fmt.Sprintf(`{"result":null,"error":"%s","id":%s}`, message, id)
	}
	for _, tc := range []struct {
		send   string
		status int
		want   string
	}{
		{`{"method":"sum","params":[20,21],"id":1}`, 200, `{"result":41,"error":null,"id":1}`},
		{`{"method":"arith.Arith/Sum","params":[{"numbers":[1]}],"id":"a"}`, 200, `{"result":{"sum":1},"error":null,"id":"a"}`},
		{`{"method":"t.Text/Plain","params":[{"text":"x"}],"id":0}`, 200, `{"result":{"text":"x"},"error":null,"id":0}`},
		{`{"method":"t.Text/Plain","params":[],"id":0}`, 200, `{"result":{"text":""},"error":null,"id":0}`},
		{`{"method":"t.Text/Plain","id":0}`, 200, `{"result":{"text":""},"error":null,"id":0}`},
		{`{"method":"t.Text/Plain","params":{"text":"x"},"id":0}`, 200, `{"result":{"text":"x"},"error":null,"id":0}`},
		{`{"method":"t.Echo/Any","params":[["x"]],"id":0}`, 200, `{"result":["x"],"error":null,"id":0}`},
		{`{"method":"mirror","params":[],"id":1,"meta":{"key":["a"]}}`, 200, `{"result":{"text":"a"},"error":null,"id":1,"meta":{"trailer":{"has-deadline":["no"]}}}`},
		{`{"method":"fail","params":["401 Not Allowed"],"id":1}`, 400, failure("401 Not Allowed", "1")},
		{`{"method":"fail","params":[""],"id":1}`, 400, failure("unknown error", "1")},
		{`{"method":"nope","params":[],"id":1}`, 400, failure(`unknown method \"nope\"`, "1")},
		{`{"method":"t.Text/Plain","params":["x"],"id":1}`, 400, failure(`request of t.Text/Plain: the element of params must be an object, not \"x\"`, "1")},
		{`{"method":"t.Text/Plain","params":[{},{}],"id":1}`, 400, failure(`request of t.Text/Plain: params must be an array of one element`, "1")},
		{`{"method":7,"params":[],"id":1}`, 400, failure(`member \"method\" must be a string, not 7`, "1")},
		{`{"params":[],"id":1}`, 400, failure(`member \"method\" is missing`, "1")},
		{`{"method":"arith.Arith/Sum","params":[1],"id":1}`, 400, failure(`request of arith.Arith/Sum: the element of params must be an object, not 1`, "1")},
		{`7`, 400, failure(`a request must be an object`, "null")},
		{`{"method":"sum","params":[],"id":1,"result":1}`, 400, failure(`member \"result\" belongs to a response, not to a request`, "1")},
		{`[]`, 200, failure(`the batch is empty`, "null")},
		{`[1,2,3]`, 400, failure(`batch of 3 items is larger than the limit of 2`, "null")},
		// Requests of version 2.0 are answered as such, and batches are of 2.0.
		{sumRequestLine, 200, `{"jsonrpc":"2.0","result":41,"id":1}`},
		{`{"jsonrpc":"2.0","method":"nope","id":1}`, 200, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown method \"nope\""},"id":1}`},
		{`{"jsonrpc":"2.0","method":"sum","id":null}`, 200, `{"jsonrpc":"2.0","result":0,"id":null}`},
		{`{"jsonrpc":"2.0","method":"t.Text/Plain","params":[{}],"id":1}`, 200, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"request of t.Text/Plain: named params are needed, that is an object; the method declares no order for an array"},"id":1}`},
		{`{"jsonrpc":"1.0","method":"sum","id":1}`, 200, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"member \"jsonrpc\" is \"1.0\"; this server speaks JSON-RPC \"2.0\""},"id":1}`},
		{`[{"method":"sum","id":1},` + sumRequestLine + `]`, 200, `[{"jsonrpc":"2.0","error":{"code":-32600,"message":"member \"jsonrpc\" is missing; this server speaks JSON-RPC 2.0"},"id":1},{"jsonrpc":"2.0","result":41,"id":1}]`},
	} {
		got, body := post(t, web, "application/json", tc.send)
		if body != tc.want || got != tc.status {
			t.Errorf("%s\nHTTP got %d %s\n    want %d %s", tc.send, got, body, tc.status, tc.want)
		}
		if tc.send == "7" {
			continue // begins no frame
		}
		tcp.send(tc.send + "\n")
		if got := tcp.line(); got != tc.want {
			t.Errorf("%s\nTCP got %s\n   want %s", tc.send, got, tc.want)
		}
	}
	// What is no JSON.
	if got, body := post(t, web, "application/json", "{"); got != 400 || !strings.HasPrefix(body, `{"result":null,"error":"the text is not JSON`) {
		t.Errorf("%d %s", got, body)
	}
	if got, body := post(t, web, "text/plain", "{}"); got != 415 || !strings.HasPrefix(body, `{"result":null,"error":"content type`) {
		t.Errorf("%d %s", got, body)
	}
	res, err := http.Get(web)
	if err != nil || res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != http.MethodPost {
		t.Errorf("GET: %v, %v", res, err)
	}
	if err == nil {
		_ = res.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	// A null id, and none, mark notifications.
	for _, send := range []string{`{"method":"t.Text/Note","params":[{"text":"n"}],"id":null}`, `{"method":"t.Text/Note","params":[{"text":"n"}]}`} {
		if got, body := post(t, web, "application/json", send); got != http.StatusNoContent || body != "" || <-f.noted != "n" {
			t.Errorf("%d %s", got, body)
		}
		tcp.send(send + sumRequestLine)
		tcp.wantLine(`{"jsonrpc":"2.0","result":41,"id":1}`)
		<-f.noted
	}
}

// TestVersion1Requests: what our client of version 1.0 writes.
func TestVersion1Requests(t *testing.T) {
	conn, server := scripted(t, rpc.Options{"version": "1.0"})
	call := plainCall(t.Context(), conn)
	server.wantLine(`{"method":"t.Text/Plain","params":[{"text":"x"}],"id":1}`)
	server.send(`{"id":1,"result":{"text":"y"},"error":null}`)
	if out, err := call.Wait(t.Context()); err != nil || out.Text != "y" {
		t.Errorf("%v, %v", out, err)
	}
	if err := everywire.Notify(t.Context(), conn, "t.Text/Plain", &empty{}); err != nil {
		t.Error(err)
	}
	server.wantLine(`{"method":"t.Text/Plain","params":[{}],"id":null}`)
	// A server that answers notifications does no harm.
	server.send(`{"id":null,"result":null,"error":"rpc: can't find service"}`)
	other := everywire.Start[everywire.Document](t.Context(), conn, "t.Echo/Any", &everywire.Document{Value: []any{"x"}})
	server.wantLine(`{"method":"t.Echo/Any","params":[["x"]],"id":2}`)
	server.send(`{"id":2,"result":null,"error":"403 User 'x' Disabled"}`)
	if _, err := other.Wait(t.Context()); status.Code(err) != codes.Unknown || status.Convert(err).Message() != "403 User 'x' Disabled" {
		t.Error(err)
	}
	// Nobody is told of a call that is given up.
	ctx, cancel := context.WithCancel(t.Context())
	given := plainCall(ctx, conn)
	server.wantLine(`{"method":"t.Text/Plain","params":[{"text":"x"}],"id":3}`)
	cancel()
	if _, err := given.Wait(t.Context()); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	next := plainCall(t.Context(), conn)
	server.wantLine(`{"method":"t.Text/Plain","params":[{"text":"x"}],"id":4}`)
	server.send(`{"id":4,"result":{},"error":null}`)
	if _, err := next.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestVersion1Options(t *testing.T) {
	cfg := clientConfig("127.0.0.1:1", nil)
	for _, options := range []rpc.Options{{"version": "1.1"}, {"version": "1.0", "cancel": "on"}, {"bytes": "hex"}} {
		cfg.Options = options
		if _, err := NewConn(cfg); err == nil {
			t.Errorf("%v: no error", options)
		}
	}
	srv := serverConfig(everywire.NewRegistry(), everywire.Limits{})
	for _, options := range []rpc.Options{{"version": "3"}, {"bytes": "hex"}, {"discover": "no"}} {
		srv.Options = options
		if _, err := NewHTTPServer(srv); err == nil {
			t.Errorf("%v: no error", options)
		}
	}
}

// TestVersion1RoundTrip: our client and our server, both of version 1.0.
func TestVersion1RoundTrip(t *testing.T) {
	for _, tr := range transports {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/known=%v", tr.name, known), func(t *testing.T) {
				f := newFixture()
				srv := serverConfig(f.reg, everywire.Limits{})
				srv.Options = rpc.Options{"version": "1.0"}
				var methods *everywire.Registry
				if known {
					methods = f.reg
				}
				cfg := clientConfig(serve(t, tr.server, srv), methods)
				cfg.Options = rpc.Options{"version": "1.0"}
				conn := dial(t, tr.conn, cfg)
				sum, err := everywire.Call[sumReply](t.Context(), conn, "arith.Arith/Sum", &sumRequest{[]int64{20, 21}})
				if err != nil || sum.Sum != 41 {
					t.Errorf("%v, %v", sum, err)
				}
				if _, err := everywire.Call[empty](t.Context(), conn, "t.Ctl/Fail", &textMessage{"no"}); status.Convert(err).Message() != "no" {
					t.Error(err)
				}
				doc, err := everywire.Call[everywire.Document](t.Context(), conn, "t.Echo/Any", &everywire.Document{Value: map[string]any{"a": true}})
				if err != nil || fmt.Sprint(doc.Value) != "map[a:true]" {
					t.Errorf("%v, %v", doc, err)
				}
				if err := everywire.Notify(t.Context(), conn, "t.Text/Note", &textMessage{"hello"}); err != nil || <-f.noted != "hello" {
					t.Error(err)
				}
			})
		}
	}
}

// Arith is a service of Go's net/rpc.
type Arith struct{}

// Pair has the names that net/rpc's JSON gives its fields.
type Pair struct{ A, B int64 }

// Sum is as net/rpc wants its methods.
func (Arith) Sum(in *Pair, out *int64) error {
	*out = in.A + in.B
	return nil
}

// Fail fails.
func (Arith) Fail(in *string, _ *Pair) error { return fmt.Errorf("fail: %s", *in) }

type wirePair struct {
	A int64 `wire:"1" json:"A"`
	B int64 `wire:"2" json:"B"`
}

// netRPCMethods are Arith's methods as everywire's.
func netRPCMethods() *everywire.Registry {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "demo.Arith/Sum", func(_ context.Context, in *wirePair) (*sumReply, error) { return &sumReply{in.A + in.B}, nil },
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "Arith.Sum", Params: everywire.ParamsObject, Result: "sum"}))
	everywire.Handle(reg, "demo.Arith/Fail", func(_ context.Context, in *textMessage) (*wirePair, error) {
		return nil, status.Error(codes.Aborted, "fail: "+in.Text)
	}, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "Arith.Fail", Params: everywire.ParamsScalar, Field: "text"}))
	return reg
}

// TestClientOfNetRPC: Go's net/rpc/jsonrpc calls our server.
func TestClientOfNetRPC(t *testing.T) {
	cfg := serverConfig(netRPCMethods(), everywire.Limits{})
	cfg.Options = rpc.Options{"version": "1.0"}
	client, err := netjsonrpc.Dial("tcp", serve(t, NewServer, cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	calls := make([]*netrpc.Call, 50)
	for i := range calls {
		calls[i] = client.Go("Arith.Sum", &Pair{int64(i), 1 << 60}, new(int64), nil)
	}
	for i, c := range calls {
		if <-c.Done; c.Error != nil || *c.Reply.(*int64) != 1<<60+int64(i) {
			t.Errorf("call %d: %v, %v", i, *c.Reply.(*int64), c.Error)
		}
	}
	var whole struct{ Sum int64 }
	if err := client.Call("demo.Arith/Sum", &Pair{1, 2}, &whole); err != nil || whole.Sum != 3 {
		t.Errorf("by the full name: %v, %v", whole, err)
	}
	// An error leaves the connection as it was.
	for range 2 {
		if err := client.Call("Arith.Fail", "x", &Pair{}); err == nil || err.Error() != "fail: x" {
			t.Error(err)
		}
		if err := client.Call("Arith.None", "x", &Pair{}); err == nil || err.Error() != `unknown method "Arith.None"` {
			t.Error(err)
		}
	}
}

// TestServerOfNetRPC: our client calls Go's net/rpc/jsonrpc.
func TestServerOfNetRPC(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() // one connection is all it is for
	served := make(chan error, 1)
	go func() {
		conn, err := lis.Accept()
		if err == nil {
			srv := netrpc.NewServer()
			if err = srv.Register(Arith{}); err == nil {
				srv.ServeCodec(netjsonrpc.NewServerCodec(conn)) // until the client has gone
			}
		}
		served <- err
	}()
	cfg := clientConfig(lis.Addr().String(), netRPCMethods())
	cfg.Options = rpc.Options{"version": "1.0"}
	conn := dial(t, NewConn, cfg)
	for i := range int64(20) {
		out, err := everywire.Call[sumReply](t.Context(), conn, "demo.Arith/Sum", &wirePair{i, 1 << 60})
		if err != nil || out.Sum != 1<<60+i {
			t.Errorf("%v, %v", out, err)
		}
	}
	if _, err := everywire.Call[wirePair](t.Context(), conn, "demo.Arith/Fail", &textMessage{"x"}); status.Convert(err).Message() != "fail: x" {
		t.Error(err)
	}
	// It answers notifications, with an error as well.
	for _, name := range []string{"demo.Arith/Sum", "demo.Arith/Fail"} {
		if err := everywire.Notify(t.Context(), conn, name, &textMessage{"x"}); err != nil {
			t.Error(err)
		}
	}
	if out, err := everywire.Call[sumReply](t.Context(), conn, "demo.Arith/Sum", &wirePair{1, 2}); err != nil || out.Sum != 3 {
		t.Errorf("%v, %v", out, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
