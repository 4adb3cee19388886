package grpcwire

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith/arithpb"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

func TestPlainService(t *testing.T) {
	addr, _ := start(t, testRegistry())
	eachCodec(t, addr, func(t *testing.T, _ string, conn rpc.Conn) {
		ctx := testContext(t)
		t.Run("Call", func(t *testing.T) {
			out, err := everywire.Call[sumReply](ctx, conn, sumMethod, &sumRequest{Numbers: []int64{20, 21, 1 << 60}})
			if err != nil || out.Sum != 41+1<<60 {
				t.Errorf("got %+v, %v", out, err)
			}
		})
		t.Run("generated client", func(t *testing.T) {
			out, err := arithpb.NewArithClient(conn).Sum(ctx, &arithpb.SumRequest{Numbers: []int64{20, 21}})
			if err != nil || out.GetSum() != 41 {
				t.Errorf("got %v, %v", out, err)
			}
		})
		t.Run("error with details", func(t *testing.T) {
			_, err := arithpb.NewArithClient(conn).Sum(ctx, &arithpb.SumRequest{Numbers: []int64{-1}})
			wantCode(t, err, codes.OutOfRange)
			want := []any{&errdetails.ErrorInfo{Reason: "NEGATIVE", Domain: "arith"}}
			if diff := cmp.Diff(want, status.Convert(err).Details(), protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
		t.Run("document", func(t *testing.T) {
			in := everywire.Document{Value: map[string]any{"a": []any{"x", true, nil, 1.5}}}
			out, err := everywire.Call[everywire.Document](ctx, conn, "echo.Echo/Echo", &in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(in, *out); diff != "" {
				t.Error(diff)
			}
		})
	})
}

func TestGeneratedService(t *testing.T) {
	addr, _ := start(t, testRegistry())
	eachCodec(t, addr, func(t *testing.T, _ string, conn rpc.Conn) {
		client := probepb.NewProbeClient(conn)
		t.Run("data and metadata", func(t *testing.T) {
			in := &probepb.RunRequest{
				Name: "ünï", Payload: []byte{0, 255}, Numbers: []int64{-1 << 63, 1<<63 - 1}, Big: 1<<53 + 1, Ubig: 1<<64 - 1,
				Labels: map[string]string{"k": "v"}, At: timestamppb.New(time.Unix(1700000000, 5)),
				Tree:    &probepb.Node{Label: "root", Children: []*probepb.Node{{Label: "leaf"}}},
				Header:  map[string]*probepb.Values{"h": values("1", "2"), "h-bin": values("\x00\xff")},
				Trailer: map[string]*probepb.Values{"t": values("3")},
			}
			var header, trailer metadata.MD
			var from peer.Peer
			out, err := client.Run(testContext(t), in, grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&from))
			if err != nil {
				t.Fatal(err)
			}
			want := &probepb.RunReply{
				Name: in.GetName(), Payload: in.GetPayload(), Numbers: in.GetNumbers(), Big: in.GetBig(), Ubig: in.GetUbig(),
				Labels: in.GetLabels(), At: in.GetAt(), Tree: in.GetTree(), Method: probepb.Probe_Run_FullMethodName,
			}
			if diff := cmp.Diff(want, out, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"1", "2", "\x00\xff", "3"}, append(append(header["h"], header["h-bin"]...), trailer["t"]...)); diff != "" {
				t.Error(diff)
			}
			if from.Addr == nil || from.Addr.String() != addr {
				t.Errorf("the peer is %v, want %v", from.Addr, addr)
			}
		})
		t.Run("plain client", func(t *testing.T) {
			type run struct {
				_       struct{} `wire:"name=test.Run"`
				Name    string   `wire:"1"`
				Numbers []int64  `wire:"3"`
			}
			out, err := everywire.Call[run](testContext(t), conn, "everywire.wiretest.Probe/Run", &run{Name: "n", Numbers: []int64{7}})
			if err != nil || out.Name != "n" || len(out.Numbers) != 1 || out.Numbers[0] != 7 {
				t.Errorf("got %+v, %v", out, err)
			}
		})
		t.Run("every code", func(t *testing.T) {
			for c := codes.Code(1); c <= codes.Unauthenticated; c++ {
				_, err := client.Run(testContext(t), &probepb.RunRequest{Code: uint32(c), Message: "why"})
				if s := status.Convert(err); s.Code() != c || s.Message() != "why" {
					t.Errorf("got %v %q, want %v", s.Code(), s.Message(), c)
				}
			}
		})
		t.Run("panic", func(t *testing.T) {
			_, err := client.Run(testContext(t), &probepb.RunRequest{Panic: true})
			wantCode(t, err, codes.Internal)
		})
		t.Run("unknown method and service", func(t *testing.T) {
			for _, name := range []string{"everywire.wiretest.Probe/Nope", "no.Service/Run"} {
				_, err := everywire.Call[sumReply](testContext(t), conn, name, &sumRequest{})
				wantCode(t, err, codes.Unimplemented)
			}
		})
		t.Run("deadline", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			_, err := client.Run(ctx, &probepb.RunRequest{Wait: durationpb.New(time.Hour)})
			wantCode(t, err, codes.DeadlineExceeded)
		})
	})
}

func TestStreams(t *testing.T) {
	addr, _ := start(t, testRegistry())
	eachCodec(t, addr, func(t *testing.T, _ string, conn rpc.Conn) {
		client := probepb.NewProbeClient(conn)
		t.Run("download", func(t *testing.T) {
			s, err := client.Download(testContext(t), &probepb.RunRequest{Numbers: []int64{1, 2, 3}})
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for {
				m, err := s.Recv()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, m.GetNumbers()...)
			}
			if diff := cmp.Diff([]int64{1, 2, 3}, got); diff != "" {
				t.Error(diff)
			}
		})
		t.Run("upload", func(t *testing.T) {
			s, err := client.Upload(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			for i := range int64(3) {
				if err := s.Send(&probepb.RunRequest{Numbers: []int64{i}}); err != nil {
					t.Fatal(err)
				}
			}
			out, err := s.CloseAndRecv()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]int64{0, 1, 2}, out.GetNumbers()); diff != "" {
				t.Error(diff)
			}
		})
		t.Run("chat", func(t *testing.T) {
			s, err := client.Chat(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"", "b", strings.Repeat("c", 100_000)} {
				if err := s.Send(&probepb.RunRequest{Name: name}); err != nil {
					t.Fatal(err)
				}
				if m, err := s.Recv(); err != nil || m.GetName() != name {
					t.Fatalf("got %v, %v", m, err)
				}
			}
			if err := s.Send(&probepb.RunRequest{Code: uint32(codes.Aborted), Message: "enough"}); err != nil {
				t.Fatal(err)
			}
			_, err = s.Recv()
			wantCode(t, err, codes.Aborted)
		})
	})
}

// Metadata that the client sends, and the interceptors of the registry.
func TestInterceptorSeesMessageAndMetadata(t *testing.T) {
	var got any
	var md metadata.MD
	reg := testRegistry(everywire.ChainUnary(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		got = req
		md, _ = metadata.FromIncomingContext(ctx)
		return next(ctx, req)
	}))
	addr, _ := start(t, reg)
	conn := connect(t, clientConfig(nil, addr))
	ctx := metadata.AppendToOutgoingContext(testContext(t), "key", "value", "key-bin", "\x00\x01")
	if _, err := everywire.Call[sumReply](ctx, conn, sumMethod, &sumRequest{Numbers: []int64{1}}); err != nil {
		t.Fatal(err)
	}
	if in, ok := got.(*sumRequest); !ok || len(in.Numbers) != 1 {
		t.Errorf("the interceptor got %T %v", got, got)
	}
	want := []string{"value", "\x00\x01", "application/grpc"}
	if diff := cmp.Diff(want, []string{md.Get("key")[0], md.Get("key-bin")[0], md.Get("content-type")[0]}); diff != "" {
		t.Error(diff)
	}
	if ua := md.Get("user-agent"); len(ua) != 1 || !strings.HasPrefix(ua[0], "everywire-test grpc-go/") {
		t.Errorf("the user agent is %q", ua)
	}
}

func TestCallOptions(t *testing.T) {
	addr, _ := start(t, testRegistry())
	conn := connect(t, clientConfig(nil, addr))
	for name, opt := range map[string]grpc.CallOption{
		"one-way":         everywire.OneWayCallOption{},
		"content-subtype": grpc.CallContentSubtype("json"),
		"codec":           grpc.ForceCodec(rawCodec{"json"}),
		"codec v2":        grpc.ForceCodecV2(framesOnly{}),
	} {
		t.Run(name, func(t *testing.T) {
			finished := []error{}
			onFinish := grpc.OnFinish(func(err error) { finished = append(finished, err) })
			err := conn.Invoke(testContext(t), "/"+sumMethod, &sumRequest{}, &sumReply{}, opt, onFinish)
			wantCode(t, err, codes.Unimplemented)
			if len(finished) != 1 || !errors.Is(finished[0], err) {
				t.Errorf("OnFinish got %v", finished)
			}
			_, err = conn.NewStream(testContext(t), &probepb.Probe_ServiceDesc.Streams[0], probepb.Probe_Chat_FullMethodName, opt)
			wantCode(t, err, codes.Unimplemented)
		})
	}
	t.Run("authority", func(t *testing.T) {
		err := conn.Invoke(testContext(t), "/"+sumMethod, &sumRequest{}, &sumReply{}, grpc.CallAuthority("example.com"))
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("Notify", func(t *testing.T) {
		wantCode(t, everywire.Notify(testContext(t), conn, sumMethod, &sumRequest{}), codes.Unimplemented)
	})
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []rpc.Options{{"codec": "avro"}, {"codec": ""}, {"lb": "random"}} {
		_, err := NewConn(clientConfig(o, "127.0.0.1:1"))
		if err == nil || !strings.Contains(err.Error(), "it is one of ") {
			t.Errorf("%v: got error %v", o, err)
		}
	}
	if _, err := NewConn(&rpc.ClientConfig{Codecs: testCodecs}); err == nil {
		t.Error("no address is no error")
	}
}

func TestUnencodable(t *testing.T) {
	addr, _ := start(t, testRegistry())
	conn := connect(t, clientConfig(nil, addr))
	err := conn.Invoke(testContext(t), "/"+sumMethod, new(int), new(sumReply))
	wantCode(t, err, codes.Internal)
}

// A prepared message is encoded without its stream, so without its codec.
func TestPreparedMessageIsRefused(t *testing.T) {
	desc := &grpc.ServiceDesc{ServiceName: "x.X", Streams: []grpc.StreamDesc{{
		StreamName: "S", ServerStreams: true,
		Handler: func(_ any, ss grpc.ServerStream) error {
			var m grpc.PreparedMsg
			return errors.Join(m.Encode(ss, &arithpb.SumReply{Sum: 1}), ss.SendMsg(&m))
		},
	}}}
	reg := everywire.NewRegistry()
	reg.RegisterService(desc, nil)
	addr, _ := start(t, reg)
	s, err := connect(t, clientConfig(nil, addr)).NewStream(testContext(t), &desc.Streams[0], "/x.X/S")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMsg(&arithpb.SumRequest{}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.RecvMsg(new(arithpb.SumReply)), codes.Internal)
}
