package msgpackrpc_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/msgpackrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type Numbers struct {
	Numbers []int64 `wire:"1"`
	Text    string  `wire:"2"`
}

type Sum struct {
	Sum int64 `wire:"1"`
}

// A fixture is a server with the methods of these tests.
type fixture struct {
	addr     string
	registry *everywire.Registry
	srv      rpc.Server
	told     chan int64
	waiting  chan struct{} // a call of Wait runs
	ended    chan error    // a call of Wait has ended, with its context's error
}

func sum(_ context.Context, in *Numbers) (*Sum, error) {
	var out Sum
	for _, n := range in.Numbers {
		out.Sum += n
	}
	return &out, nil
}

func newFixture(t testing.TB, edit ...func(*rpc.ServerConfig)) *fixture {
	t.Helper()
	f := &fixture{told: make(chan int64, 10), waiting: make(chan struct{}, 10), ended: make(chan error, 10)}
	reg := everywire.NewRegistry(everywire.WithLogger(slog.New(slog.DiscardHandler)))
	everywire.Handle(reg, "arith.Arith/Sum", sum, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "sum"}))
	formed := func(name string, params everywire.ParamsForm, field, result string) everywire.MethodOption {
		return everywire.WithJSONRPC(everywire.JSONRPCForm{Name: name, Params: params, Field: field, Result: result})
	}
	same := func(_ context.Context, in *Numbers) (*Numbers, error) { return in, nil }
	everywire.Handle(reg, "arith.Arith/Add", sum, formed("add", everywire.ParamsList, "numbers", "sum"))
	everywire.Handle(reg, "arith.Arith/Order", same, formed("order", everywire.ParamsInOrder, "", ""))
	everywire.Handle(reg, "arith.Arith/Say", same, formed("say", everywire.ParamsScalar, "text", "text"))
	everywire.Handle(reg, "arith.Arith/Same", same, formed("same", everywire.ParamsObject, "", ""))
	everywire.Handle(reg, "arith.Arith/Exit", func(context.Context, *Numbers) (*Sum, error) {
		runtime.Goexit()
		return nil, nil
	})
	everywire.Handle(reg, "arith.Arith/Echo", func(_ context.Context, in *everywire.Document) (*everywire.Document, error) { return in, nil })
	everywire.Handle(reg, "arith.Arith/Tell", func(ctx context.Context, in *Numbers) (*Sum, error) {
		out, err := sum(ctx, in)
		f.told <- out.Sum
		return out, err
	})
	everywire.Handle(reg, "arith.Arith/Wait", func(ctx context.Context, _ *Numbers) (*Sum, error) {
		f.waiting <- struct{}{}
		<-ctx.Done()
		f.ended <- ctx.Err()
		return nil, ctx.Err()
	})
	everywire.Handle(reg, "arith.Arith/Fail", func(context.Context, *Numbers) (*Sum, error) {
		s, err := status.New(codes.NotFound, "no such number").WithDetails(&errdetails.ErrorInfo{Reason: "R"})
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	})
	everywire.Handle(reg, "arith.Arith/Long", func(context.Context, *Numbers) (*Numbers, error) {
		return &Numbers{Text: strings.Repeat("x", 100_000)}, nil
	})
	everywire.Handle(reg, "arith.Arith/Meta", func(ctx context.Context, in *Numbers) (*Sum, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		err := errors.Join(
			grpc.SetHeader(ctx, metadata.Pairs("got", md.Get("key")[0], "raw-bin", md.Get("raw-bin")[0])),
			grpc.SetTrailer(ctx, metadata.Pairs("after", "yes")))
		if in.Text != "" {
			return nil, status.Error(codes.Aborted, in.Text)
		}
		return &Sum{Sum: int64(len(md.Get("key")))}, err
	})
	cfg := &rpc.ServerConfig{Registry: reg, Limits: everywire.Limits{}.WithDefaults(), Logger: slog.New(slog.DiscardHandler)}
	for _, e := range edit {
		e(cfg)
	}
	srv, err := msgpackrpc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.addr, f.srv, f.registry = lis.Addr().String(), srv, reg
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(srv.Shutdown(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) dial(t testing.TB, options rpc.Options, edit ...func(*rpc.ClientConfig)) rpc.Conn {
	t.Helper()
	return dial(t, f.addr, options, edit...)
}

func dial(t testing.TB, addr string, options rpc.Options, edit ...func(*rpc.ClientConfig)) rpc.Conn {
	t.Helper()
	cfg := &rpc.ClientConfig{
		Target: "msgpackrpc+tcp://" + addr, Limits: everywire.Limits{}.WithDefaults(), Addrs: []string{addr}, Options: options,
		DialAddr: func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
	}
	for _, e := range edit {
		e(cfg)
	}
	conn, err := msgpackrpc.NewConn(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func metaOn() rpc.Options { return rpc.Options{"meta": "on"} }
