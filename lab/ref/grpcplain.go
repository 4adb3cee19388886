package ref

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/echo"
	"github.com/everywire/everywire/service/kv"
)

// plainProtobuf is codec/protobuf as grpc-go has codecs.
type plainProtobuf struct{}

func (plainProtobuf) Name() string { return "proto" }

func (plainProtobuf) Marshal(v any) (mem.BufferSlice, error) {
	data, err := protobuf.Codec{}.Append(nil, v)
	return mem.BufferSlice{mem.SliceBuffer(data)}, err
}

func (plainProtobuf) Unmarshal(data mem.BufferSlice, v any) error {
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	return protobuf.Codec{}.Decode(b.ReadOnlyData(), v)
}

// newPlainGRPCServer is newGRPCServer with plain structs for messages.
func newPlainGRPCServer(o Options) server {
	s := grpc.NewServer(grpc.MaxRecvMsgSize(o.MaxMessage), grpc.ForceServerCodecV2(plainProtobuf{}))
	switch o.Service {
	case "arith":
		plainService(s, map[string]grpc.MethodHandler{arith.Sum: plainHandler(plainSum)})
	case "echo":
		plainService(s, map[string]grpc.MethodHandler{
			echo.Echo: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				message := o.newMessage()
				return message, decode(message)
			},
		})
	case "kv":
		plainKV(s, newKVStore(o))
	}
	return grpcServer{s}
}

func plainSum(_ context.Context, in *arith.SumRequest) (*arith.SumReply, error) {
	out := new(arith.SumReply)
	for _, n := range in.Numbers {
		out.Sum += n
	}
	return out, nil
}

// plainHandler makes a handler as generated code has it.
func plainHandler[In, Out any](handle func(context.Context, *In) (*Out, error)) grpc.MethodHandler {
	return func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(In)
		if err := decode(in); err != nil {
			return nil, err
		}
		return handle(ctx, in)
	}
}

// plainService registers methods of one service, by their full names.
func plainService(s *grpc.Server, handlers map[string]grpc.MethodHandler) {
	var desc grpc.ServiceDesc
	for name, handler := range handlers {
		service, method, err := everywire.SplitMethod(name)
		if err != nil {
			panic(err) // the names are constants
		}
		desc.ServiceName = service
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: method, Handler: handler})
	}
	s.RegisterService(&desc, nil)
}

type plainGRPCConn struct {
	unary
	conn    *grpc.ClientConn
	options Options
}

func (c *plainGRPCConn) Invoke(ctx context.Context, _ string, in, out any, opts ...grpc.CallOption) error {
	var method string
	switch in.(type) {
	case *arith.SumRequest:
		method = arith.Sum
	case *kv.CreateRequest:
		method = kv.Create
	case *kv.RetrieveRequest:
		method = kv.Retrieve
	case *kv.UpdateRequest:
		method = kv.Update
	case *kv.DeleteRequest:
		method = kv.Delete
	default:
		if !c.options.isMessage(in, out) {
			return unknownMessage(in, out)
		}
		method = echo.Echo
	}
	return c.conn.Invoke(ctx, "/"+method, in, out, opts...)
}

func (c *plainGRPCConn) Close() error { return c.conn.Close() }

func dialPlainGRPC(_ context.Context, addr string, dial Dialer, o Options) (Conn, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(o.MaxMessage), grpc.ForceCodecV2(plainProtobuf{})))
	if err != nil {
		return nil, err
	}
	return &plainGRPCConn{conn: conn, options: o}, nil
}
