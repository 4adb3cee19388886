package foreign

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/wire"
)

// Calls against the direction of the connection: a foreign server calls our
// client, and our server a foreign client.

// dialOffering connects a client that offers reg to its server.
func dialOffering(t *testing.T, target string, reg *everywire.Registry, opts ...wire.DialOption) *wire.Conn {
	t.Helper()
	conn, err := wire.Dial(target, append(opts, wire.WithOffers(reg))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return conn
}

// askBack adds a method to reg that calls the method at the other end of its
// connection with the value that it gets, and answers what that answers.
func askBack(reg *everywire.Registry, method string) {
	everywire.Handle(reg, "peer.Peer/Ask", func(ctx context.Context, in *everywire.Document) (*everywire.Document, error) {
		conn, ok := wire.Caller(ctx)
		if !ok {
			return nil, status.Error(codes.Internal, "there is nobody to ask")
		}
		out := new(everywire.Document)
		return out, conn.Invoke(ctx, "/"+method, in, out)
	}, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "ask"}))
}

func TestNeovimCallsOurClient(t *testing.T) {
	reg := everywire.NewRegistry()
	arith.Register(reg)
	var conn *wire.Conn
	everywire.Handle(reg, "peer.Peer/Eval", func(ctx context.Context, in *text) (*everywire.Document, error) {
		// Neovim waits for this call, and answers another one meanwhile.
		return everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/Eval", in)
	})
	conn = dialOffering(t, "msgpackrpc+tcp://"+startNvim(t, "127.0.0.1:0"), reg, wire.WithMethods(nvimMethods()))
	ctx := testContext(t)
	info, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/GetAPIInfo", &empty{})
	if err != nil {
		t.Fatal(err)
	}
	us := info.Value.([]any)[0] // the channel that this connection is to Neovim
	for call, want := range map[string]any{
		"rpcrequest(%d, 'arith.Arith/Sum', {'numbers': [20, 21]}).sum":                     int64(41),
		"map(range(100), {_, n -> rpcrequest(%d, 'sum', n, 1)})[99]":                       int64(100),
		"rpcrequest(%d, 'peer.Peer/Eval', {'text': '6 * 7'})":                              int64(42),
		"rpcrequest(%d, 'peer.Peer/Eval', {'text': 'strlen(repeat(''x'', 1000000))'}) + 1": int64(1000001),
	} {
		out, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/Eval", &text{fmt.Sprintf(call, us)})
		if err != nil || out.Value != want {
			t.Errorf("%s: %v, %v", call, out, err)
		}
	}
	_, err = everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/Eval", &text{fmt.Sprintf("rpcrequest(%d, 'nope')", us)})
	if status.Code(err) != codes.Unknown {
		t.Errorf("a method that our client does not offer: %v", err)
	}
}

// TestNeovimCallsNobody: a client that offers nothing says so.
func TestNeovimCallsNobody(t *testing.T) {
	conn, err := wire.Dial("msgpackrpc+tcp://"+startNvim(t, "127.0.0.1:0"), wire.WithMethods(nvimMethods()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	ctx := testContext(t)
	info, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/GetAPIInfo", &empty{})
	if err != nil {
		t.Fatal(err)
	}
	call := fmt.Sprintf("rpcrequest(%d, 'sum', 1)", info.Value.([]any)[0])
	if _, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/Eval", &text{call}); status.Code(err) != codes.Unknown {
		t.Errorf("%v", err)
	}
}

// TestOurServerCallsNeovim: by the connection that Neovim opened.
func TestOurServerCallsNeovim(t *testing.T) {
	s := newService()
	askBack(s.reg, "nvim_eval")
	results := runNvim(t, "ask.vim", "tcp", s.serve(t, "msgpackrpc+tcp://127.0.0.1:0"))
	check(t, results, map[string]string{"asked": `[42, "ü", {"a": [1]}]`, "failed": `1`, "last": `{"sum": 41}`})
}

func TestJRPC2CallsOurClient(t *testing.T) {
	back := func(method string) jrpc2.Handler {
		return handler.New(func(ctx context.Context, in []json.RawMessage) (json.RawMessage, error) {
			rsp, err := jrpc2.ServerFromContext(ctx).Callback(ctx, method, in)
			if err != nil {
				return nil, err
			}
			var out json.RawMessage
			return out, rsp.UnmarshalResult(&out)
		})
	}
	addr := listen(t, func(conn net.Conn) {
		server := jrpc2.NewServer(handler.Map{"sum": back("sum"), "same": back("nope")}, &jrpc2.ServerOptions{AllowPush: true})
		wantParted(t, server.Start(channel.Line(conn, conn)).Wait())
	})
	s := newService()
	conn := dialOffering(t, "jsonrpc+tcp://"+addr, s.reg, wire.WithMethods(s.reg))
	ctx := testContext(t)
	sum, err := everywire.Call[arith.SumReply](ctx, conn, arith.Sum, &arith.SumRequest{Numbers: []int64{20, 21}})
	if err != nil || sum.Sum != 41 {
		t.Errorf("%v, %v", sum, err)
	}
	_, err = everywire.Call[text](ctx, conn, "peer.Peer/Same", &text{"x"})
	if got := status.Convert(err); got.Code() != codes.Unimplemented || got.Message() != `unknown method "nope"` {
		t.Errorf("%v", err)
	}
	for range 10 {
		futures := make([]*everywire.Future[arith.SumReply], 20)
		for i := range futures {
			futures[i] = everywire.Start[arith.SumReply](ctx, conn, arith.Sum, &arith.SumRequest{Numbers: []int64{int64(i), 1}})
		}
		for i, f := range futures {
			if out, err := f.Wait(ctx); err != nil || out.Sum != int64(i)+1 {
				t.Errorf("%d: %v, %v", i, out, err)
			}
		}
	}
}

func TestOurServerCallsJRPC2(t *testing.T) {
	s := newService()
	askBack(s.reg, "twice")
	raw := connect(t, s.serve(t, "jsonrpc+tcp://127.0.0.1:0"))
	client := jrpc2.NewClient(channel.Line(raw, raw), &jrpc2.ClientOptions{
		OnCallback: func(_ context.Context, r *jrpc2.Request) (any, error) {
			var in []int
			if err := r.UnmarshalParams(&in); err != nil || r.Method() != "twice" {
				return nil, fmt.Errorf("%s: %w", r.Method(), err)
			}
			if in[0] < 0 {
				return nil, jrpc2.Errorf(jrpc2.InvalidParams, "negative")
			}
			return 2 * in[0], nil
		},
	})
	defer func() {
		if err := client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	ctx := testContext(t)
	var got int
	if err := client.CallResult(ctx, "ask", []int{21}, &got); err != nil || got != 42 {
		t.Errorf("%d, %v", got, err)
	}
	if err := client.CallResult(ctx, "ask", []int{-1}, &got); jrpc2.ErrorCode(err) != jrpc2.InvalidParams {
		t.Errorf("%v", err)
	}
}

func TestVSCodeBothWays(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		s := newService()
		askBack(s.reg, "twice")
		results := runNode(t, "vscode-asked.js", map[string]any{"port": portOf(t, s.serve(t, "jsonrpc+tcp://127.0.0.1:0"))})
		check(t, results, map[string]string{"asked": `42`, "unknown": `-32601`})
	})
	t.Run("server", func(t *testing.T) {
		s := newService()
		askBack(s.reg, "unused")
		conn := dialOffering(t, "jsonrpc+tcp://"+startNode(t, "vscode-server.js", nil)+"?framing=header", s.reg, wire.WithMethods(s.reg))
		var out everywire.Document
		err := grpc.ClientConnInterface(conn).Invoke(testContext(t), "/peer.Peer/Ask", &everywire.Document{Value: []any{int64(20), int64(21)}}, &out)
		if err != nil || out.Value != int64(41) {
			t.Errorf("%v, %v", out.Value, err)
		}
	})
}
