package ref

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/arith/arithpb"
	"github.com/everywire/everywire/service/echo/echopb"
	"github.com/everywire/everywire/service/kv/kvpb"
	"github.com/everywire/everywire/service/sample"
	"github.com/everywire/everywire/service/sample/samplepb"
)

type grpcServer struct{ *grpc.Server }

func newGRPCServer(o Options) server {
	s := grpc.NewServer(grpc.MaxRecvMsgSize(o.MaxMessage))
	switch o.Service {
	case "arith":
		arithpb.RegisterArithServer(s, arithServer{})
	case "echo":
		echopb.RegisterEchoServer(s, echoServer{})
	case "kv":
		kvpb.RegisterKeyValueServiceServer(s, kvServer{store: newKVStore(o)})
	case "relay":
		samplepb.RegisterSampleDataServiceServer(s, sampleServer{delay: o.Delay})
	}
	return grpcServer{s}
}

func (s grpcServer) serve(lis net.Listener) error { return s.Serve(lis) }

func (s grpcServer) stop(context.Context) error {
	s.Stop()
	return nil
}

type arithServer struct {
	arithpb.UnimplementedArithServer
}

func (arithServer) Sum(_ context.Context, in *arithpb.SumRequest) (*arithpb.SumReply, error) {
	out := &arithpb.SumReply{}
	for _, n := range in.GetNumbers() {
		out.Sum += n
	}
	return out, nil
}

type echoServer struct{ echopb.UnimplementedEchoServer }

// Echo makes plain Go values of the document and a message of them again: what
// a handler that wants to read it must do, and what our handlers get.
func (echoServer) Echo(_ context.Context, in *structpb.Value) (*structpb.Value, error) {
	return structpb.NewValue(in.AsInterface())
}

type grpcConn struct {
	unary
	conn  *grpc.ClientConn
	arith arithpb.ArithClient
	echo  echopb.EchoClient
	kv    kvpb.KeyValueServiceClient
}

func dialGRPC(_ context.Context, addr string, dial Dialer, o Options) (Conn, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(o.MaxMessage)))
	if err != nil {
		return nil, err
	}
	return &grpcConn{conn: conn, arith: arithpb.NewArithClient(conn), echo: echopb.NewEchoClient(conn), kv: kvpb.NewKeyValueServiceClient(conn)}, nil
}

func (c *grpcConn) Invoke(ctx context.Context, _ string, in, out any, _ ...grpc.CallOption) error {
	switch in := in.(type) {
	case *arith.SumRequest:
		if out, ok := out.(*arith.SumReply); ok {
			reply, err := c.arith.Sum(ctx, &arithpb.SumRequest{Numbers: in.Numbers})
			out.Sum = reply.GetSum()
			return err
		}
	case *everywire.Document:
		if out, ok := out.(*everywire.Document); ok {
			doc, err := structpb.NewValue(in.Value)
			if err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
			reply, err := c.echo.Echo(ctx, doc)
			if err != nil {
				return err
			}
			out.Value = reply.AsInterface()
			return nil
		}
	}
	if data, ok := out.(*sample.SampleData); ok {
		return getSample(ctx, c.conn, data)
	}
	if known, err := invokeKV(ctx, c.kv, in, out); known {
		return err
	}
	return unknownMessage(in, out)
}

func (c *grpcConn) Close() error { return c.conn.Close() }
