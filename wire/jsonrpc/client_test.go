package jsonrpc

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// scripted is a server that the test plays by hand: the other end of the
// client's one connection.
func scripted(t *testing.T, options rpc.Options) (rpc.Conn, *rawConn) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() // one connection is all it is for
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := lis.Accept()
		if err == nil {
			accepted <- conn
		}
	}()
	cfg := clientConfig(lis.Addr().String(), nil)
	cfg.Options = options
	raw, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dialed := false
	cfg.DialAddr = func(context.Context, string) (net.Conn, error) {
		if dialed {
			return nil, io.ErrClosedPipe
		}
		dialed = true
		return raw, nil
	}
	conn := dial(t, NewConn, cfg)
	server := <-accepted
	if err := server.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(); _ = raw.Close() }) // the client may have closed it
	return conn, newRaw(t, server)
}

func plainCall(ctx context.Context, conn grpc.ClientConnInterface, opts ...grpc.CallOption) *everywire.Future[textMessage] {
	return everywire.Start[textMessage](ctx, conn, "t.Text/Plain", &textMessage{"x"}, opts...)
}

const plainRequest = `{"jsonrpc":"2.0","method":"t.Text/Plain","params":{"text":"x"}`

func TestStreamForeignServers(t *testing.T) {
	for name, tc := range map[string]struct {
		reply string
		code  codes.Code
		has   string
	}{
		"a reply":                {`{"jsonrpc":"2.0","result":{"text":"y"},"id":1}`, codes.OK, ""},
		"CRLF, other order":      {`{ "id" : 1 , "result" : { "text" : "y" } }` + "\r\n", codes.OK, ""},
		"JSON-RPC 1.0":           {`{"result":{"text":"y"},"error":null,"id":1}`, codes.OK, ""},
		"after strangers":        {`{"jsonrpc":"2.0","result":1,"id":7}{"jsonrpc":"2.0","result":1,"id":"1"}{"jsonrpc":"2.0","result":1,"id":1.0}[{}]` + `{"jsonrpc":"2.0","result":{},"id":1}`, codes.OK, ""},
		"after a request of its": {`{"jsonrpc":"2.0","method":"m","params":[],"id":1}{"jsonrpc":"2.0","method":"n"}{"jsonrpc":"2.0","result":{},"id":1}`, codes.OK, ""},
		"its own code":           {`{"jsonrpc":"2.0","error":{"code":42,"message":"boom"},"id":1}`, codes.Unknown, "boom (code 42)"},
		"a null id":              {`{"jsonrpc":"2.0","error":{"code":-32008,"message":"too long"},"id":null}`, codes.ResourceExhausted, "too long"},
		"bad result":             {`{"jsonrpc":"2.0","result":{"text":1},"id":1}`, codes.Internal, "text"},
		"bad meta":               {`{"jsonrpc":"2.0","result":{},"meta":{"header":1},"id":1}`, codes.Internal, `member "meta" must be an object`},
		"both":                   {`{"jsonrpc":"2.0","result":1,"error":{},"id":1}`, codes.Internal, "both a result and an error"},
		"no JSON":                {"{'a'}\n", codes.Unavailable, "unexpected '\\''"},
		"not JSON-RPC at all":    {"220 mail.example.org ESMTP\r\n", codes.Unavailable, "must begin with"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, server := scripted(t, nil)
			call := plainCall(t.Context(), conn)
			server.wantLine(plainRequest + `,"id":1}`)
			server.send(tc.reply)
			_, err := call.Wait(t.Context())
			if s := status.Convert(err); s.Code() != tc.code || !strings.Contains(s.Message(), tc.has) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRepliesInAnyOrder(t *testing.T) {
	conn, server := scripted(t, nil)
	first := plainCall(t.Context(), conn)
	server.wantLine(plainRequest + `,"id":1}`)
	second := plainCall(t.Context(), conn)
	server.wantLine(plainRequest + `,"id":2}`)
	server.send(`{"jsonrpc":"2.0","result":{"text":"two"},"id":2}` + "\n" + `{"jsonrpc":"2.0","result":{"text":"one"},"id":1}`)
	for call, want := range map[*everywire.Future[textMessage]]string{first: "one", second: "two"} {
		if out, err := call.Wait(t.Context()); err != nil || out.Text != want {
			t.Errorf("%v, %v, want %s", out, err, want)
		}
	}
}

func TestClientMembers(t *testing.T) {
	conn, server := scripted(t, nil)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "b", "1", "a-bin", "\xff", "b", "2")
	call := plainCall(ctx, conn)
	server.wantLine(plainRequest + `,"meta":{"a-bin":["/w"],"b":["1","2"]},"id":1}`)
	server.send(`{"jsonrpc":"2.0","result":{},"id":1}`)
	if _, err := call.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	var trailer metadata.MD
	call = plainCall(t.Context(), conn, grpc.Trailer(&trailer))
	server.wantLine(plainRequest + `,"meta":{},"id":2}`)
	server.send(`{"jsonrpc":"2.0","error":{"code":-32005,"message":"x"},"id":2,"meta":{"trailer":{"k":["v"]}}}`)
	if _, err := call.Wait(t.Context()); status.Code(err) != codes.NotFound || len(trailer.Get("k")) != 1 {
		t.Errorf("%v, trailer %v", err, trailer)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	call = plainCall(ctx, conn)
	server.wantLine(plainRequest + `,"timeout_ms":3600000,"id":3}`)
	server.send(`{"jsonrpc":"2.0","result":{},"id":3}`)
	if _, err := call.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if err := everywire.Notify(t.Context(), conn, "t.Text/Plain", &textMessage{"x"}); err != nil {
		t.Error(err)
	}
	server.wantLine(plainRequest + `}`)
	// A service in the package rpc is reached by the name that is not reserved.
	other := everywire.Start[empty](t.Context(), conn, "rpc.Service/M", &empty{})
	server.wantLine(`{"jsonrpc":"2.0","method":"/rpc.Service/M","id":4}`)
	server.send(`{"jsonrpc":"2.0","result":null,"id":4}`)
	if _, err := other.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestClientWithoutMeta: with meta=off a server sees nothing that the specification
// does not know, and metadata are not dropped in silence.
func TestClientWithoutMeta(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() // one connection is all it is for
	cfg := clientConfig(lis.Addr().String(), nil)
	cfg.Options = rpc.Options{"meta": "off"}
	conn := dial(t, NewConn, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	call := plainCall(ctx, conn)
	raw, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	server := newRaw(t, raw)
	server.wantLine(plainRequest + `,"id":1}`)
	server.send(`{"jsonrpc":"2.0","result":{},"id":1}`)
	if _, err := call.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	var trailer metadata.MD
	for _, call := range []*everywire.Future[textMessage]{
		plainCall(metadata.AppendToOutgoingContext(t.Context(), "k", "v"), conn), plainCall(t.Context(), conn, grpc.Trailer(&trailer)),
	} {
		if _, err := call.Wait(t.Context()); status.Code(err) != codes.Unimplemented {
			t.Error(err)
		}
	}
}

func TestClientCancel(t *testing.T) {
	for _, on := range []bool{true, false} {
		options := rpc.Options{"cancel": map[bool]string{true: "on", false: "off"}[on]}
		conn, server := scripted(t, options)
		ctx, cancel := context.WithCancel(t.Context())
		call := plainCall(ctx, conn)
		server.wantLine(plainRequest + `,"id":1}`)
		cancel()
		if _, err := call.Wait(t.Context()); status.Code(err) != codes.Canceled {
			t.Error(err)
		}
		if on {
			server.wantLine(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
		}
		// The late reply is dropped, and the next call has another id.
		server.send(`{"jsonrpc":"2.0","error":{"code":-32001,"message":"context canceled"},"id":1}` + "\n")
		next := plainCall(t.Context(), conn)
		server.wantLine(plainRequest + `,"id":2}`)
		server.send(`{"jsonrpc":"2.0","result":{"text":"late"},"id":1}{"jsonrpc":"2.0","result":{"text":"y"},"id":2}`)
		if out, err := next.Wait(t.Context()); err != nil || out.Text != "y" {
			t.Errorf("%v, %v", out, err)
		}
	}
}

func TestBrokenConnectionFailsCalls(t *testing.T) {
	conn, server := scripted(t, nil)
	call := plainCall(t.Context(), conn)
	server.wantLine(plainRequest + `,"id":1}`)
	server.send(`{"jsonrpc":"2.0","result":`)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := call.Wait(t.Context()); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "may have run") {
		t.Error(err)
	}
}

func TestTooLongReply(t *testing.T) {
	conn, server := scripted(t, nil)
	call := plainCall(t.Context(), conn)
	server.wantLine(plainRequest + `,"id":1}`)
	go func() {
		// The client closes the connection in the middle.
		_, _ = io.WriteString(server.Conn, `{"id":1,"result":"`+strings.Repeat("x", 6<<20)+`"}`)
	}()
	if _, err := call.Wait(t.Context()); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
}

func TestUnknownOptions(t *testing.T) {
	cfg := clientConfig("127.0.0.1:1", nil)
	cfg.Options = rpc.Options{"framing": "netstrings"}
	_, err := NewConn(cfg)
	if err == nil || !strings.Contains(err.Error(), "framing") || !strings.Contains(err.Error(), `"line"`) {
		t.Error(err)
	}
	cfg.Options = rpc.Options{"cancel": "maybe"}
	if _, err = NewConn(cfg); err == nil || !strings.Contains(err.Error(), "maybe") {
		t.Error(err)
	}
	srv := serverConfig(everywire.NewRegistry(), everywire.Limits{})
	srv.Options = rpc.Options{"framing": "netstrings"}
	if _, err = NewServer(srv); err == nil || !strings.Contains(err.Error(), "netstrings") {
		t.Error(err)
	}
}

// TestStatusRoundTrip: every code with and without details, there and back.
func TestStatusRoundTrip(t *testing.T) {
	for c := codes.Code(1); c < 40; c++ {
		for _, withDetails := range []bool{false, true} {
			s := status.New(c, "message \xff\"é")
			if withDetails {
				var err error
				if s, err = s.WithDetails(structpb.NewBoolValue(true), structpb.NewStringValue("x")); err != nil {
					t.Fatal(err)
				}
			}
			raw := appendStatus(nil, s)
			got := statusOf(raw)
			if got.Code() != c || got.Message() != "message \uFFFD\"é" || len(got.Details()) != len(s.Details()) {
				t.Errorf("%v became %v over %s", s, got, raw)
			}
			if !withDetails && code.Known(c) && strings.Contains(string(raw), "data") {
				t.Errorf("needless data: %s", raw)
			}
		}
	}
}

func TestForeignErrors(t *testing.T) {
	for raw, want := range map[string]*status.Status{
		`{"code":-32000,"message":"m"}`:                              status.New(codes.Unknown, "m (code -32000)"),
		`{"code":-32000,"message":"m","data":"d"}`:                   status.New(codes.Unknown, `m (code -32000, data "d")`),
		`{"code":-32601,"message":"m","data":{"code":5}}`:            status.New(codes.Unimplemented, "m"),
		`{"code":1,"message":"m","data":{"code":5}}`:                 status.New(codes.Unknown, `m (code 1, data {"code":5})`),
		`{"code":1.5,"message":"m"}`:                                 status.New(codes.Unknown, "m (code 1.5)"),
		`{"code":99999999999999999999,"message":"m"}`:                status.New(codes.Unknown, "m (code 99999999999999999999)"),
		`{"code":-32602,"message":"m","data":{"details":"strange"}}`: status.New(codes.InvalidArgument, "m"),
		`{"code":-32600,"message":"m"}`:                              status.New(codes.Internal, "m"),
		`{"code":7}`:                                                 status.New(codes.Unknown, "(code 7)"),
		`"a \"text\""`:                                               status.New(codes.Unknown, `a "text"`),
		`5`:                                                          status.New(codes.Unknown, `the server answered with the error 5`),
		`{"message":5}`:                                              status.New(codes.Unknown, `the server answered with the error {"message":5}`),
	} {
		got := statusOf([]byte(raw))
		if got.Code() != want.Code() || got.Message() != want.Message() {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}

func TestTimeoutMembers(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		-time.Second: 0, 0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, 1<<63 - 1: 9223372036855,
	} {
		if got := timeoutMS(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
	for raw, want := range map[string]time.Duration{
		"1": time.Millisecond, "0": -1, "-0": -1, "-5": -1, "9223372036854775807": 1<<63 - 1, "9223372036854": 9223372036854 * time.Millisecond,
	} {
		if got, err := parseTimeout([]byte(raw)); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", raw, got, err, want)
		}
	}
	for _, raw := range []string{`"1"`, "1.0", "1e3", "null", "-", "{}"} {
		if got, err := parseTimeout([]byte(raw)); err == nil {
			t.Errorf("%s: %v", raw, got)
		}
	}
}
