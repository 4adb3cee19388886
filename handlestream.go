package everywire

import "google.golang.org/grpc"

// HandleServerStream registers fn as a method that answers one request with any
// number of replies. Names and types are as for [Handle]; fn has the signature
// that generated code gives such a method.
func HandleServerStream[In, Out any](r *Registry, name string, fn func(*In, grpc.ServerStreamingServer[Out]) error, opts ...MethodOption) {
	handleStream[In, Out](r, name, ServerStream, opts, func(stream grpc.ServerStream) error {
		in := new(In)
		if err := stream.RecvMsg(in); err != nil {
			return err
		}
		return fn(in, &grpc.GenericServerStream[In, Out]{ServerStream: stream})
	})
}

// HandleClientStream registers fn as a method that takes any number of requests
// and answers them with one reply, by SendAndClose.
func HandleClientStream[In, Out any](r *Registry, name string, fn func(grpc.ClientStreamingServer[In, Out]) error, opts ...MethodOption) {
	handleStream[In, Out](r, name, ClientStream, opts, func(stream grpc.ServerStream) error {
		return fn(&grpc.GenericServerStream[In, Out]{ServerStream: stream})
	})
}

// HandleBidi registers fn as a method on which both sides send any number of
// messages, in any order.
func HandleBidi[In, Out any](r *Registry, name string, fn func(grpc.BidiStreamingServer[In, Out]) error, opts ...MethodOption) {
	handleStream[In, Out](r, name, BidiStream, opts, func(stream grpc.ServerStream) error {
		return fn(&grpc.GenericServerStream[In, Out]{ServerStream: stream})
	})
}

func handleStream[In, Out any](r *Registry, name string, kind StreamKind, opts []MethodOption, fn func(grpc.ServerStream) error) {
	m := newMethod[In, Out](name, kind, opts)
	m.handler = methodHandler{reg: r, stream: func(_ any, stream grpc.ServerStream) error { return fn(stream) }}
	r.add(m.Service, nil, m)
}
