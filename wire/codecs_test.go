package wire_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire"
)

type amount struct {
	Cents int64 `wire:"1"`
}

// appendAmount and decodeAmount are a form of an amount; some are not allowed.
func appendAmount(dst []byte, a *amount) ([]byte, error) {
	switch a.Cents {
	case 13:
		return dst, errors.New("bad luck")
	case 666:
		panic("encoding an amount panics")
	}
	return strconv.AppendInt(dst, a.Cents, 10), nil
}

func decodeAmount(data []byte, a *amount) (err error) {
	if string(data) == "panic" {
		panic("decoding an amount panics")
	}
	a.Cents, err = strconv.ParseInt(string(data), 10, 64)
	return err
}

func amounts(name string) *everywire.OwnCodec {
	c := everywire.NewCodec(name)
	everywire.Encode(c, appendAmount, decodeAmount)
	return c
}

const doubleMethod, flowMethod = "bank.Bank/Double", "bank.Bank/Flow"

// bank doubles amounts, one at a time or as they come.
func bank() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(slog.New(slog.DiscardHandler)))
	everywire.Handle(reg, doubleMethod, func(_ context.Context, in *amount) (*amount, error) { return &amount{2 * in.Cents}, nil })
	everywire.HandleBidi(reg, flowMethod, func(stream grpc.BidiStreamingServer[amount, amount]) error {
		in, err := stream.Recv()
		if err != nil {
			return err
		}
		return stream.Send(&amount{2 * in.Cents})
	})
	return reg
}

func serveBank(t *testing.T, target string, opts ...wire.ServeOption) wire.Target {
	t.Helper()
	server, err := wire.Serve(t.Context(), bank(), []string{target}, append(opts, quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	return server.Targets()[0]
}

// A goCodec is how a grpc-go program writes the same amounts, under a name of its
// choice.
type goCodec struct{ name string }

func (c goCodec) Name() string { return c.name }

func (goCodec) Marshal(v any) ([]byte, error) {
	if text, ok := v.(string); ok {
		return []byte(text), nil
	}
	return appendAmount(nil, v.(*amount))
}

func (goCodec) Unmarshal(data []byte, v any) error { return decodeAmount(data, v.(*amount)) }

func goClient(t *testing.T, addr, codec string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(goCodec{codec})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A grpc-go client with a codec of its own calls a server that has one of that
// name, on a port of its own and on one of all wires, and is told what is wrong.
func TestGoClientWithItsOwnCodec(t *testing.T) {
	for _, target := range []string{"grpc://127.0.0.1:0", "any://127.0.0.1:0"} {
		addr := serveBank(t, target, wire.WithCodecs(amounts("amount"))).Addrs[0]
		for name, tc := range map[string]struct {
			codec string
			in    any
			want  codes.Code
			says  string
		}{
			"its own":            {"amount", &amount{21}, codes.OK, ""},
			"in capitals":        {"AMOUNT", &amount{21}, codes.OK, ""},
			"with a parameter":   {"amount;v=1", &amount{21}, codes.OK, ""},
			"unknown":            {"amounts", &amount{21}, codes.Unimplemented, `unknown content-subtype "amounts" in "application/grpc+amounts": it is one of amount, cbor, json, msgpack, protobuf`},
			"two names":          {"amount+json", &amount{21}, codes.Unimplemented, `unknown content-subtype "amount+json"`},
			"a space":            {"amount x", &amount{21}, codes.Unimplemented, `unknown content-subtype "amount x"`},
			"no amount":          {"amount", "many", codes.InvalidArgument, "request of bank.Bank/Double: amount: reading a *wire_test.amount"},
			"nothing":            {"amount", "", codes.InvalidArgument, "request of bank.Bank/Double: amount: reading a *wire_test.amount"},
			"decoding panics":    {"amount", "panic", codes.Internal, "panic in"},
			"encoding panics":    {"amount", &amount{333}, codes.Internal, "panic in"},
			"not to be encoded":  {"amount", "6.5", codes.InvalidArgument, "reading a"},
			"another's encoding": {"json", &amount{21}, codes.InvalidArgument, "request of bank.Bank/Double"},
		} {
			conn := goClient(t, addr, tc.codec)
			out := new(amount)
			err := conn.Invoke(t.Context(), "/"+doubleMethod, tc.in, out)
			if s := status.Convert(err); s.Code() != tc.want || !strings.Contains(s.Message(), tc.says) || err == nil && out.Cents != 42 {
				t.Errorf("%s, %s: %v, %v", target, name, out, err)
			}
			stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+flowMethod)
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.SendMsg(tc.in); err != nil {
				t.Fatal(err)
			}
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
			if err = stream.RecvMsg(out); status.Code(err) != tc.want {
				t.Errorf("%s, %s, a stream: %v", target, name, err)
			}
		}
	}
}

// An everywire client with an own codec calls a grpc-go server that has one of the
// name, as its only one.
func TestGoServerWithItsOwnCodec(t *testing.T) {
	server := grpc.NewServer(grpc.ForceServerCodec(goCodec{"amount"}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bank.Bank", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Double", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(amount)
			if err := decode(in); err != nil {
				return nil, err
			}
			return &amount{2 * in.Cents}, nil
		}}},
	}, nil)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(lis) }()
	defer func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	conn, err := wire.Dial("grpc://"+lis.Addr().String()+"?codec=amount", wire.WithCodecs(amounts("amount")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	out, err := everywire.Call[amount](t.Context(), conn, doubleMethod, &amount{21})
	if err != nil || out.Cents != 42 {
		t.Errorf("%v, %v", out, err)
	}
	_, err = everywire.Call[amount](t.Context(), conn, doubleMethod, &amount{13})
	if s := status.Convert(err); s.Code() != codes.Internal || !strings.Contains(s.Message(), "amount: writing a *wire_test.amount: bad luck") {
		t.Errorf("what cannot be encoded: %v", err)
	}
}

// Two servers and two connections in one program may disagree about a name.
func TestCodecsAreNotShared(t *testing.T) {
	other := everywire.NewCodec("amount")
	everywire.Encode(other,
		func(dst []byte, a *amount) ([]byte, error) { return strconv.AppendInt(dst, a.Cents, 2), nil },
		func(data []byte, a *amount) (err error) {
			a.Cents, err = strconv.ParseInt(string(data), 2, 64)
			return err
		})
	for _, codec := range []*everywire.OwnCodec{amounts("amount"), other} {
		for _, scheme := range []string{"grpc", "rest", "connect"} {
			target := serveBank(t, scheme+"://127.0.0.1:0", wire.WithCodecs(codec))
			conn, err := wire.Dial(target.String()+"?codec=amount", wire.WithCodecs(codec))
			if err != nil {
				t.Fatal(err)
			}
			out, err := everywire.Call[amount](t.Context(), conn, doubleMethod, &amount{21})
			if err != nil || out.Cents != 42 {
				t.Errorf("%s: %v, %v", scheme, out, err)
			}
			_, err = everywire.Call[amount](t.Context(), conn, doubleMethod, &amount{333})
			if want := status.Code(err); codec != other && want != codes.Internal || codec == other && want != codes.OK {
				t.Errorf("%s: a reply whose encoding panics: %v", scheme, err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Mistakes are told when a server or a connection is made.
func TestCodecMistakes(t *testing.T) {
	own := wire.WithCodecs(amounts("amount"))
	for _, tc := range []struct {
		target, want string
		opts         []wire.DialOption
	}{
		{"grpc://h:1?codec=avro", `unknown codec "avro": it is one of cbor, json, msgpack, protobuf`, nil},
		{"connect://h:1?codec=amounts", `unknown codec "amounts": it is one of amount, cbor, json, msgpack, protobuf`, []wire.DialOption{own}},
		{"rest://h:1?codec=", `unknown codec "": it is one of`, nil},
		{"grpc://h:1?bytes=array", "the codec is protobuf: add codec=json", nil},
		{"connect://h:1?bytes=array&codec=cbor", "the codec is cbor: add codec=json", nil},
		{"rest://h:1?bytes=hex", `the option "bytes" cannot be "hex"`, nil},
		{"rest://h:1?bytes=array", "whose place another has taken", []wire.DialOption{wire.WithCodecs(json.Codec{})}},
		{"jsonrpc://h:1?codec=json", `no option "codec"`, nil},
		{"grpc://h:1", `the codec name "Amount" has a 'A'`, []wire.DialOption{wire.WithCodecs(amounts("Amount"))}},
		{"rest://h:1", "which is that of streams", []wire.DialOption{wire.WithCodecs(everywire.NewCodec("a", "text/event-stream"))}},
	} {
		if conn, err := wire.Dial(tc.target, tc.opts...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.target, err)
			if conn != nil {
				_ = conn.Close()
			}
		}
	}
	bad := wire.WithCodecs(amounts("grpc"))
	if _, err := wire.Serve(t.Context(), bank(), []string{"grpc://127.0.0.1:0"}, bad); err == nil || !strings.Contains(err.Error(), "is a protocol") {
		t.Errorf("a server: %v", err)
	}
	if _, err := wire.NewHandler(bank(), "any", bad); err == nil || !strings.Contains(err.Error(), "is a protocol") {
		t.Errorf("a handler: %v", err)
	}
}
