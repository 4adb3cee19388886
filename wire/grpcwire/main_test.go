package grpcwire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The plain service has the names of service/arith/arithpb, so that generated
// clients can call it.
type sumRequest struct {
	_       struct{} `wire:"name=arith.SumRequest"`
	Numbers []int64  `wire:"1"`
}

type sumReply struct {
	_   struct{} `wire:"name=arith.SumReply"`
	Sum int64    `wire:"1"`
}

const sumMethod = "arith.Arith/Sum"

func sum(_ context.Context, in *sumRequest) (*sumReply, error) {
	out := new(sumReply)
	for _, n := range in.Numbers {
		out.Sum += n
	}
	if out.Sum < 0 {
		s, err := status.New(codes.OutOfRange, "negative").WithDetails(protoadapt.MessageV1Of(&errdetails.ErrorInfo{Reason: "NEGATIVE", Domain: "arith"}))
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	}
	return out, nil
}

func echo(_ context.Context, in *everywire.Document) (*everywire.Document, error) { return in, nil }

// probe is the generated service of the conformance suite, as far as these
// tests need it.
type probe struct {
	probepb.UnimplementedProbeServer
}

func (probe) Run(ctx context.Context, in *probepb.RunRequest) (*probepb.RunReply, error) {
	if d := in.GetWait(); d != nil {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(d.AsDuration()):
		}
	}
	header, trailer := metadata.MD{}, metadata.MD{}
	for k, vs := range in.GetHeader() {
		for _, v := range vs.GetValues() {
			header.Append(k, string(v))
		}
	}
	for k, vs := range in.GetTrailer() {
		for _, v := range vs.GetValues() {
			trailer.Append(k, string(v))
		}
	}
	if err := errors.Join(grpc.SetHeader(ctx, header), grpc.SetTrailer(ctx, trailer)); err != nil {
		return nil, err
	}
	if c := in.GetCode(); c != 0 {
		return nil, status.Error(codes.Code(c), in.GetMessage())
	}
	if in.GetPanic() {
		panic("as asked")
	}
	method, _ := grpc.Method(ctx)
	return &probepb.RunReply{
		Name: in.GetName(), Payload: in.GetPayload(), Numbers: in.GetNumbers(), Big: in.GetBig(), Ubig: in.GetUbig(),
		Labels: in.GetLabels(), At: in.GetAt(), Tree: in.GetTree(), Method: method,
	}, nil
}

func (probe) Download(in *probepb.RunRequest, s grpc.ServerStreamingServer[probepb.RunReply]) error {
	for _, n := range in.GetNumbers() {
		if err := s.Send(&probepb.RunReply{Numbers: []int64{n}}); err != nil {
			return err
		}
	}
	return nil
}

func (probe) Upload(s grpc.ClientStreamingServer[probepb.RunRequest, probepb.RunReply]) error {
	reply := new(probepb.RunReply)
	for {
		in, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.SendAndClose(reply)
		}
		if err != nil {
			return err
		}
		reply.Numbers = append(reply.Numbers, in.GetNumbers()...)
	}
}

func (p probe) Chat(s grpc.BidiStreamingServer[probepb.RunRequest, probepb.RunReply]) error {
	for {
		in, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := p.Run(s.Context(), in)
		if err != nil {
			return err
		}
		if err := s.Send(out); err != nil {
			return err
		}
	}
}

// testCodecs are those of every server and connection.
var testCodecs = func() *rpc.Codecs {
	set, err := rpc.NewCodecs(json.Codec{}, msgpack.Codec{}, cbor.Codec{}, protobuf.Codec{})
	if err != nil {
		panic(err)
	}
	return set
}()

func testRegistry(opts ...everywire.RegistryOption) *everywire.Registry {
	reg := everywire.NewRegistry(append(opts, everywire.WithLogger(slog.New(slog.DiscardHandler)))...)
	everywire.Handle(reg, sumMethod, sum)
	everywire.Handle(reg, "echo.Echo/Echo", echo)
	probepb.RegisterProbeServer(reg, probe{})
	return reg
}

// start serves reg until the test ends and returns the address.
func start(t testing.TB, reg *everywire.Registry, with ...func(*rpc.ServerConfig)) (string, rpc.Server) {
	t.Helper()
	cfg := &rpc.ServerConfig{Registry: reg, Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Logger: slog.New(slog.DiscardHandler)}
	for _, f := range with {
		f(cfg)
	}
	srv, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = srv.Shutdown(ctx) // the tests of Shutdown look at its error
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return lis.Addr().String(), srv
}

func clientConfig(options rpc.Options, addrs ...string) *rpc.ClientConfig {
	return &rpc.ClientConfig{
		Target: "grpc://" + addrs[0], Addrs: addrs, Options: options, UserAgent: "everywire-test",
		Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(),
		DialAddr: func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
	}
}

func connect(t testing.TB, cfg *rpc.ClientConfig) rpc.Conn {
	t.Helper()
	c, err := NewConn(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

var codecNames = []string{"protobuf", "json", "msgpack", "cbor"}

// eachCodec runs a test over a connection with each codec to one server.
func eachCodec(t *testing.T, addr string, test func(t *testing.T, codec string, conn rpc.Conn)) {
	t.Helper()
	for _, name := range codecNames {
		t.Run(name, func(t *testing.T) {
			test(t, name, connect(t, clientConfig(rpc.Options{"codec": name}, addr)))
		})
	}
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func wantCode(t testing.TB, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
}

func values(vs ...string) *probepb.Values {
	out := new(probepb.Values)
	for _, v := range vs {
		out.Values = append(out.Values, []byte(v))
	}
	return out
}

// rawCodec sends bytes as they are, under any content-subtype.
type rawCodec struct{ name string }

func (c rawCodec) Name() string                { return c.name }
func (rawCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}
