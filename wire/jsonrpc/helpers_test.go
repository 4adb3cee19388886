package jsonrpc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// codec is that of servers and clients without options.
var codec json.Codec

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sumRequest struct {
	Numbers []int64 `wire:"1"`
}

type sumReply struct {
	Sum int64 `wire:"1"`
}

type pair struct {
	Minuend    int64 `wire:"1"`
	Subtrahend int64 `wire:"2"`
}

type difference struct {
	Value int64 `wire:"1"`
}

type textMessage struct {
	Text string `wire:"1"`
}

type empty struct{}

// A fixture is a registry with methods of every form.
type fixture struct {
	reg *everywire.Registry
	// began gets a value when a Block handler begins, ended its context's
	// error when it ends.
	began chan struct{}
	ended chan error
	// noted gets the texts of Note.
	noted chan string
	gate  chan struct{} // lets a Wait handler go
}

func newFixture() *fixture {
	f := &fixture{
		reg: everywire.NewRegistry(everywire.WithLogger(slog.New(slog.DiscardHandler)), everywire.MaxCallTime(-1)), began: make(chan struct{}, 100),
		ended: make(chan error, 100), noted: make(chan string, 100), gate: make(chan struct{}),
	}
	form := func(name string, p everywire.ParamsForm, field, result string) everywire.MethodOption {
		return everywire.WithJSONRPC(everywire.JSONRPCForm{Name: name, Params: p, Field: field, Result: result})
	}
	everywire.Handle(f.reg, "arith.Arith/Sum", func(_ context.Context, in *sumRequest) (*sumReply, error) {
		out := &sumReply{}
		for _, n := range in.Numbers {
			out.Sum += n
		}
		return out, nil
	}, form("sum", everywire.ParamsList, "numbers", "sum"))
	everywire.Handle(f.reg, "arith.Arith/Subtract", func(_ context.Context, in *pair) (*difference, error) {
		return &difference{in.Minuend - in.Subtrahend}, nil
	}, form("subtract", everywire.ParamsInOrder, "", "value"))
	everywire.Handle(f.reg, "t.Text/Upper", func(_ context.Context, in *textMessage) (*textMessage, error) {
		return &textMessage{strings.ToUpper(in.Text)}, nil
	}, form("upper", everywire.ParamsScalar, "text", "text"))
	everywire.Handle(f.reg, "t.Text/Same", func(_ context.Context, in *textMessage) (*textMessage, error) { return in, nil },
		form("same", everywire.ParamsObject, "", ""))
	everywire.Handle(f.reg, "t.Text/Plain", func(_ context.Context, in *textMessage) (*textMessage, error) { return in, nil })
	everywire.Handle(f.reg, "t.Text/Note", func(_ context.Context, in *textMessage) (*empty, error) {
		f.noted <- in.Text
		return &empty{}, nil
	})
	everywire.Handle(f.reg, "t.Echo/Any", func(_ context.Context, in *everywire.Document) (*everywire.Document, error) { return in, nil })
	everywire.Handle(f.reg, "t.Echo/Value", func(_ context.Context, in *structpb.Value) (*structpb.Value, error) { return in, nil })
	everywire.Handle(f.reg, "t.Data/Get", func(context.Context, *empty) (*everywire.Document, error) {
		return &everywire.Document{Value: []any{"hello", int64(5)}}, nil
	}, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "get_data"}))
	everywire.Handle(f.reg, "t.Ctl/Block", func(ctx context.Context, _ *empty) (*empty, error) {
		f.began <- struct{}{}
		<-ctx.Done()
		f.ended <- ctx.Err()
		return nil, ctx.Err()
	}, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "block"}))
	everywire.Handle(f.reg, "t.Ctl/Wait", func(ctx context.Context, in *textMessage) (*textMessage, error) {
		f.began <- struct{}{}
		select {
		case <-f.gate:
		case <-ctx.Done():
		}
		return in, nil
	}, form("wait", everywire.ParamsScalar, "text", "text"))
	everywire.Handle(f.reg, "t.Ctl/Fail", func(_ context.Context, in *textMessage) (*empty, error) {
		switch in.Text {
		case "odd":
			return nil, status.Error(codes.Code(4242), "an odd code")
		case "details":
			s, err := status.New(codes.NotFound, "no such thing").WithDetails(structpb.NewStringValue("why"))
			if err != nil {
				return nil, err
			}
			return nil, s.Err()
		case "long":
			return nil, errors.New(strings.Repeat("x", 1<<20))
		}
		return nil, status.Error(codes.FailedPrecondition, in.Text)
	}, form("fail", everywire.ParamsScalar, "text", ""))
	everywire.Handle(f.reg, "t.Meta/Mirror", func(ctx context.Context, _ *empty) (*textMessage, error) {
		in, _ := metadata.FromIncomingContext(ctx)
		_, deadline := ctx.Deadline()
		return &textMessage{strings.Join(in.Get("key"), ",")}, errors.Join(
			grpc.SetHeader(ctx, metadata.MD{"h-bin": in.Get("k-bin")}),
			grpc.SetTrailer(ctx, metadata.Pairs("has-deadline", map[bool]string{true: "yes", false: "no"}[deadline])),
		)
	}, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "mirror"}))
	return f
}

type constructors struct {
	name   string
	server func(*rpc.ServerConfig) (rpc.Server, error)
	conn   func(*rpc.ClientConfig) (rpc.Conn, error)
}

var transports = []constructors{{"tcp", NewServer, NewConn}, {"http", NewHTTPServer, NewHTTPConn}, {"ws", NewWebSocketServer, NewWebSocketConn}}

func serverConfig(reg *everywire.Registry, limits everywire.Limits) *rpc.ServerConfig {
	return &rpc.ServerConfig{Registry: reg, Limits: limits.WithDefaults(), Logger: slog.New(slog.DiscardHandler)}
}

// serve starts a server and returns its address. It is shut down at the end of
// the test.
func serve(t testing.TB, construct func(*rpc.ServerConfig) (rpc.Server, error), cfg *rpc.ServerConfig) string {
	t.Helper()
	srv, err := construct(cfg)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return lis.Addr().String()
}

func clientConfig(addr string, methods *everywire.Registry) *rpc.ClientConfig {
	return &rpc.ClientConfig{
		Target: "test://" + addr, Limits: everywire.Limits{}.WithDefaults(), Methods: methods, Addrs: []string{addr}, UserAgent: "everywire",
		DialAddr: func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
	}
}

func dial(t testing.TB, construct func(*rpc.ClientConfig) (rpc.Conn, error), cfg *rpc.ClientConfig) rpc.Conn {
	t.Helper()
	conn, err := construct(cfg)
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

// A rawConn is a foreign peer on a stream.
type rawConn struct {
	net.Conn
	t     testing.TB
	lines *bufio.Reader
}

func dialRaw(t testing.TB, addr string) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // tests close it themselves where it matters
	return newRaw(t, conn)
}

func newRaw(t testing.TB, conn net.Conn) *rawConn { return &rawConn{conn, t, bufio.NewReader(conn)} }

func (c *rawConn) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawConn) line() string {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatalf("reading a reply: %v (have %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *rawConn) wantLine(want string) {
	c.t.Helper()
	if got := c.line(); got != want {
		c.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A lockedBuffer is a log that a server writes while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
