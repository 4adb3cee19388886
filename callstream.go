package everywire

import (
	"context"

	"google.golang.org/grpc"
)

// CallServerStream starts a call that has one request and any number of
// replies. Names, types and errors are as for [Call]. The stream must be read
// until Recv fails, which is io.EOF at its end, or ctx must end; otherwise it
// is open until the connection is closed.
func CallServerStream[Out, In any](ctx context.Context, conn grpc.ClientConnInterface, name string, in *In, opts ...grpc.CallOption) (grpc.ServerStreamingClient[Out], error) {
	x, err := newStream[In, Out](ctx, conn, name, ServerStream, opts)
	if err != nil {
		return nil, err
	}
	if err := x.SendMsg(in); err != nil {
		return nil, err
	}
	if err := x.CloseSend(); err != nil {
		return nil, err
	}
	return x, nil
}

// CallClientStream starts a call that has any number of requests and one reply,
// which CloseAndRecv waits for.
func CallClientStream[In, Out any](ctx context.Context, conn grpc.ClientConnInterface, name string, opts ...grpc.CallOption) (grpc.ClientStreamingClient[In, Out], error) {
	x, err := newStream[In, Out](ctx, conn, name, ClientStream, opts)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// CallBidi starts a call on which both sides send any number of messages. It
// must be read to its end like that of [CallServerStream].
func CallBidi[In, Out any](ctx context.Context, conn grpc.ClientConnInterface, name string, opts ...grpc.CallOption) (grpc.BidiStreamingClient[In, Out], error) {
	x, err := newStream[In, Out](ctx, conn, name, BidiStream, opts)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func newStream[In, Out any](ctx context.Context, conn grpc.ClientConnInterface, name string, kind StreamKind, opts []grpc.CallOption) (*grpc.GenericClientStream[In, Out], error) {
	path, err := callPath(name)
	if err != nil {
		return nil, err
	}
	_, method, _ := SplitMethod(name) // callPath has checked it
	desc := &grpc.StreamDesc{StreamName: method, ClientStreams: kind != ServerStream, ServerStreams: kind != ClientStream}
	stream, err := conn.NewStream(ctx, desc, path, opts...)
	if err != nil {
		return nil, err
	}
	return &grpc.GenericClientStream[In, Out]{ClientStream: stream}, nil
}
