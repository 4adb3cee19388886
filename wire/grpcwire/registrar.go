package grpcwire

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// A registrar registers services with a grpc.Server whose codec is
// [framesOnly]: it wraps their handlers so that messages pass in frames.
type registrar struct {
	server *grpc.Server
	cfg    *rpc.ServerConfig
	// requests is set if calls come by [Handler], which knows their peers.
	requests bool
}

func (r registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	framed := *desc
	framed.Methods = make([]grpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		framed.Methods[i] = grpc.MethodDesc{MethodName: m.MethodName, Handler: r.unary(r.framed(desc.ServiceName+"/"+m.MethodName), m.Handler)}
	}
	framed.Streams = make([]grpc.StreamDesc, len(desc.Streams))
	for i, s := range desc.Streams {
		framed.Streams[i] = s
		framed.Streams[i].Handler = r.stream(r.framed(desc.ServiceName+"/"+s.StreamName), s.Handler)
	}
	r.server.RegisterService(&framed, impl)
}

func (r registrar) framed(name string) *framedMethod {
	m, _ := r.cfg.Registry.Lookup("/" + name)
	return &framedMethod{name: name, method: m}
}

// codecFor returns the codec of a call of m. The error says why there is none.
func (r registrar) codecFor(ctx context.Context, m *framedMethod) (everywire.Codec, error) {
	codec, err := codecOf(ctx, r.cfg.Codecs)
	if err == nil && m.method != nil {
		err = rpc.Carries(codec, m.method)
	}
	return codec, err
}

func (r registrar) unary(m *framedMethod, handler grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, dec func(any) error, ic grpc.UnaryServerInterceptor) (any, error) {
		if r.requests {
			ctx = withPeer(ctx)
		}
		codec, err := r.codecFor(ctx, m)
		if err != nil {
			return nil, err
		}
		f := &frame{method: m, codec: codec} // of the request, then of the reply
		reply, err := handler(srv, ctx, func(v any) error { return f.receive(v, dec) }, ic)
		if err != nil {
			return nil, rpc.StatusOf(err).Err()
		}
		f.msg = reply
		return f, nil
	}
}

func (r registrar) stream(m *framedMethod, handler grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, ss grpc.ServerStream) error {
		codec, err := r.codecFor(ss.Context(), m)
		if err != nil {
			return err
		}
		if r.requests {
			ss = streamWithContext{ss, withPeer(ss.Context())}
		}
		return handler(srv, &framedStream{ServerStream: ss, method: m, codec: codec})
	}
}

// receive decodes one message. What the client got wrong is InvalidArgument,
// as on the other wires.
func (f *frame) receive(v any, dec func(any) error) error {
	f.msg = v
	if err := dec(f); err != nil {
		return err
	}
	if f.err == nil {
		return nil
	}
	if _, ok := status.FromError(f.err); ok {
		return f.err
	}
	if err := rpc.HasForm(f.codec, v); err != nil { // of a service that comes with the wire
		return status.Errorf(codes.Unimplemented, "the codec %s has no form for requests of %s: %v", f.codec.Name(), f.method.name, err)
	}
	return status.Errorf(codes.InvalidArgument, "request of %s: %v", f.method.name, f.err)
}

type framedStream struct {
	grpc.ServerStream
	method *framedMethod
	codec  everywire.Codec
}

func (s *framedStream) RecvMsg(v any) error {
	f := &frame{method: s.method, codec: s.codec}
	return f.receive(v, s.ServerStream.RecvMsg)
}

func (s *framedStream) SendMsg(v any) error {
	return s.ServerStream.SendMsg(&frame{method: s.method, codec: s.codec, msg: v})
}

// payloads shows a stats.Handler the messages in place of their frames.
type payloads struct{ stats.Handler }

func (h payloads) HandleRPC(ctx context.Context, event stats.RPCStats) {
	switch event := event.(type) {
	case *stats.InPayload:
		if f, ok := event.Payload.(*frame); ok {
			event.Payload = f.msg
		}
	case *stats.OutPayload:
		if f, ok := event.Payload.(*frame); ok {
			event.Payload = f.msg
		}
	}
	h.Handler.HandleRPC(ctx, event)
}
