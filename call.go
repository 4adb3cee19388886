package everywire

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Call calls a unary method on any connection and returns its reply. The name
// is "arith.Arith/Sum"; in is a plain struct, a generated message or a
// [Document], and so is Out. The error is a status.Status: InvalidArgument for
// a malformed name, otherwise what the connection and the server say. There is
// no deadline but that of ctx.
//
//	sum, err := everywire.Call[arith.SumReply](ctx, conn, "arith.Arith/Sum", &arith.SumRequest{Numbers: n})
func Call[Out, In any](ctx context.Context, conn grpc.ClientConnInterface, name string, in *In, opts ...grpc.CallOption) (*Out, error) {
	path, err := callPath(name)
	if err != nil {
		return nil, err
	}
	out := new(Out)
	if err := conn.Invoke(ctx, path, in, out, opts...); err != nil {
		return nil, err
	}
	return out, nil
}

// Notify sends a one-way call: it returns when the request has been handed to
// the network, and nobody answers it. Wires without one-way calls (gRPC, REST)
// answer Unimplemented.
func Notify[In any](ctx context.Context, conn grpc.ClientConnInterface, name string, in *In, opts ...grpc.CallOption) error {
	path, err := callPath(name)
	if err != nil {
		return err
	}
	if _, foreign := conn.(*grpc.ClientConn); foreign {
		return status.Error(codes.Unimplemented, "gRPC has no one-way calls")
	}
	return conn.Invoke(ctx, path, in, nil, append(opts[:len(opts):len(opts)], OneWayCallOption{})...)
}

// OneWayCallOption marks a call as one-way; [Notify] sets it. Connections of
// this module recognise it by type.
type OneWayCallOption struct{ grpc.EmptyCallOption }

func callPath(name string) (string, error) {
	service, method, err := SplitMethod(name)
	if err != nil {
		return "", status.Error(codes.InvalidArgument, err.Error())
	}
	return "/" + service + "/" + method, nil
}
