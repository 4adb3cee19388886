package everywire

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// methodHandler is how a method runs: one of unary and stream is set.
type methodHandler struct {
	reg    *Registry
	impl   any
	unary  grpc.MethodHandler
	stream grpc.StreamHandler
}

// Unary runs a unary method: dec decodes the request into the value that it is
// given. The registry's interceptors run inside; a panic is logged and becomes
// Internal; the context is clamped to the registry's [MaxCallTime]. The wire
// has put the incoming metadata, the peer and a grpc.ServerTransportStream into
// ctx. The error is as the handler returned it.
func (m *Method) Unary(ctx context.Context, dec func(any) error) (any, error) {
	return m.grpcUnary(nil, ctx, dec, nil)
}

// grpcUnary has the signature of grpc.MethodHandler. The interceptor is the
// one of a grpc.Server that the registry is mounted on; it is outermost.
func (m *Method) grpcUnary(_ any, ctx context.Context, dec func(any) error, outer grpc.UnaryServerInterceptor) (reply any, err error) {
	h := &m.handler
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, h.panicked(ctx, m, p)
		}
	}()
	if h.unary == nil {
		return nil, status.Errorf(codes.Unimplemented, "method %s is %s, not unary", m.FullName(), m.Kind)
	}
	if h.reg.maxCallTime > 0 {
		var stop func()
		ctx, stop = clamp(ctx, h.reg.maxCallTime)
		defer stop()
	}
	if outer == nil && len(h.reg.chainUnary) == 0 {
		if reply, err = h.unary(h.impl, ctx, dec, nil); err != nil {
			err = ofHandler(err)
		}
		return reply, err
	}
	var began atomic.Bool
	began.Store(true) // of a handler that does not ask its interceptor
	reply, err = h.unary(h.impl, ctx, dec, chainUnary(outer, h.reg.chainUnary, &began))
	if err != nil && began.Load() {
		err = ofHandler(err)
	}
	return reply, err
}

// Stream runs a streaming method over the given stream. Interceptors and
// panics are as in [Method.Unary].
func (m *Method) Stream(stream grpc.ServerStream) error {
	return m.grpcStream(nil, stream)
}

// grpcStream has the signature of grpc.StreamHandler.
func (m *Method) grpcStream(_ any, stream grpc.ServerStream) (err error) {
	h := &m.handler
	defer func() {
		if p := recover(); p != nil {
			err = h.panicked(stream.Context(), m, p)
		}
	}()
	if h.stream == nil {
		return status.Errorf(codes.Unimplemented, "method %s is unary", m.FullName())
	}
	if d := m.MaxStreamTime(); d > 0 {
		// The wires have done so: this is for servers that the registry is mounted on.
		ctx, stop := clamp(stream.Context(), d)
		defer stop()
		if ctx != stream.Context() {
			stream = clampedStream{stream, ctx}
		}
	}
	info := &grpc.StreamServerInfo{
		FullMethod:     m.Path(),
		IsClientStream: m.Kind != ServerStream,
		IsServerStream: m.Kind != ClientStream,
	}
	var began atomic.Bool
	if err = chainStream(h.reg.chainStream, info, h.stream, &began)(h.impl, stream); err != nil && began.Load() {
		err = ofHandler(err)
	}
	return err
}

// MaxStreamTime is the registry's [MaxStreamTime], 0 for a method that is unary or
// has no bound.
func (m *Method) MaxStreamTime() time.Duration {
	if m.Kind == Unary || m.handler.reg == nil {
		return 0
	}
	return max(m.handler.reg.maxStreamTime, 0)
}

// A clampedStream is a stream with another context.
type clampedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // grpc.ServerStream has a method that returns it
}

func (s clampedStream) Context() context.Context { return s.ctx }

func (h *methodHandler) panicked(ctx context.Context, m *Method, p any) error {
	h.reg.logger.LogAttrs(ctx, slog.LevelError, "panic in handler",
		slog.String("method", m.FullName()), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	// The panic's text may hold secrets; it goes to the log only.
	return status.Errorf(codes.Internal, "panic in the handler of %s", m.FullName())
}

// chainUnary makes one interceptor of outer (if any) and chain. It sets began
// when the handler begins: an interceptor may not let it.
func chainUnary(outer grpc.UnaryServerInterceptor, chain []grpc.UnaryServerInterceptor, began *atomic.Bool) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, last grpc.UnaryHandler) (any, error) {
		began.Store(false)
		handler := func(ctx context.Context, req any) (any, error) {
			began.Store(true)
			return last(ctx, req)
		}
		for i := len(chain) - 1; i >= 0; i-- {
			handler = bindUnary(chain[i], info, handler)
		}
		if outer != nil {
			return outer(ctx, req, info, handler)
		}
		return handler(ctx, req)
	}
}

func bindUnary(ic grpc.UnaryServerInterceptor, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) grpc.UnaryHandler {
	return func(ctx context.Context, req any) (any, error) { return ic(ctx, req, info, next) }
}

// chainStream is chainUnary for streams.
func chainStream(chain []grpc.StreamServerInterceptor, info *grpc.StreamServerInfo, handler grpc.StreamHandler, began *atomic.Bool) grpc.StreamHandler {
	last := handler
	handler = func(srv any, ss grpc.ServerStream) error {
		began.Store(true)
		return last(srv, ss)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		ic, next := chain[i], handler
		handler = func(srv any, ss grpc.ServerStream) error { return ic(srv, ss, info, next) }
	}
	return handler
}
