package rpc

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// Incoming is one unary call as a wire read it.
type Incoming struct {
	Method *everywire.Method
	// Metadata as the client sent it: lower-case keys, binary values decoded.
	Metadata metadata.MD
	Peer     *peer.Peer
	// Timeout is the client's, counted from now; 0 if it sent none. A negative
	// timeout has passed already.
	Timeout time.Duration
	// Size is the length of the request message in bytes, for stats.
	Size int
	// Decode decodes the request into v. Its error becomes InvalidArgument,
	// unless it is a status already.
	Decode func(v any) error
	// Encode encodes the reply and keeps it; it returns its length in bytes.
	Encode func(v any) (int, error)

	stats *serverStats
	// decode is decodeRequest, bound once for all calls that use the Incoming.
	decode func(v any) error
}

func (in *Incoming) decodeRequest(v any) error {
	if err := in.Decode(v); err != nil {
		return badRequest(in.Method, err)
	}
	if in.stats != nil {
		in.stats.received(v, in.Size, in.stats.begin)
	}
	return nil
}

// Outcome is how a call ended. Header and Trailer are what the handler set.
type Outcome struct {
	Status  *status.Status // never nil; OK if Encode has the reply
	Header  metadata.MD
	Trailer metadata.MD
}

// Lookup finds a method by its path; the error is Unimplemented, worded as
// grpc-go words it.
func (c *ServerConfig) Lookup(path string) (*everywire.Method, error) {
	if m, found := c.Registry.Lookup(path); found {
		return m, nil
	}
	service, method, err := everywire.SplitMethod(path)
	if err != nil {
		return nil, status.Errorf(codes.Unimplemented, "malformed method name: %q", path)
	}
	if _, found := c.Registry.GetServiceInfo()[service]; !found {
		return nil, status.Errorf(codes.Unimplemented, "unknown service %v", service)
	}
	return nil, status.Errorf(codes.Unimplemented, "unknown method %v for service %v", method, service)
}

// Unary runs one unary call as every wire owes it: deadline, metadata, peer,
// transport stream, stats, interceptors, panics, limits. It returns when the
// handler has. ctx is the call's own if it is a [*CallContext], else that of a
// request.
func (c *ServerConfig) Unary(ctx context.Context, in *Incoming) *Outcome {
	call, own := ctx.(*CallContext)
	if !own {
		call = newContext(ctx)
		defer call.end(context.Canceled)
		ctx = call
	}
	stream, out := call.begin(in.Method, in.Metadata, in.Peer, in.Timeout), &call.outcome
	st := c.beginStats(ctx, in.Method, in.Metadata, in.Peer)
	if st != nil {
		ctx = st.ctx
	}
	defer st.lost()

	err := c.run(ctx, in, st)
	header, trailer := stream.finish()
	*out = Outcome{Status: StatusOf(err), Header: header, Trailer: trailer}
	st.sentHeader(header)
	st.sentTrailer(trailer)
	st.end(out, err)
	return out
}

func (c *ServerConfig) run(ctx context.Context, in *Incoming, st *serverStats) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Panicked(ctx, c.Logger, in.Method.FullName(), p)
		}
	}()
	if err := checkSize(in.Metadata, c.Limits); err != nil {
		return err
	}
	if in.Size > c.Limits.MaxMessage {
		return tooLarge("received", in.Size, c.Limits.MaxMessage)
	}
	in.stats = st
	if in.decode == nil {
		in.decode = in.decodeRequest
	}
	reply, err := in.Method.Unary(ctx, in.decode)
	if err != nil {
		return err
	}
	n, err := in.Encode(reply)
	if err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", in.Method.FullName(), err)
	}
	if n > c.Limits.MaxMessage {
		return tooLarge("trying to send", n, c.Limits.MaxMessage)
	}
	st.sent(reply, n)
	return nil
}

// badRequest is the status of a request that could not be decoded: its own, or
// InvalidArgument.
func badRequest(m *everywire.Method, err error) error {
	if _, is := status.FromError(err); is {
		return err
	}
	return status.Errorf(codes.InvalidArgument, "request of %s: %v", m.FullName(), err)
}

// Panicked is the status of a call during which something other than its
// handler panicked, such as the encoding of its reply. It is called while the
// panic is recovered; the panic's text goes to the log only.
func Panicked(ctx context.Context, logger *slog.Logger, method string, p any) error {
	if logger == nil {
		logger = slog.Default()
	}
	logger.LogAttrs(ctx, slog.LevelError, "panic in a call",
		slog.String("method", method), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	return status.Errorf(codes.Internal, "panic in the call of %s", method)
}

// DidNotReturn is the status of a call whose handler ended its goroutine
// (runtime.Goexit).
var DidNotReturn = status.New(codes.Internal, "the handler ended without a reply")

// Returns runs f on a goroutine of its own and reports whether it came back,
// which it does not if it ends its goroutine. Its panics are the caller's.
func Returns(f func()) (ok bool) {
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if !ok {
				panicked = recover()
			}
		}()
		f()
		ok = true
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
	return ok
}

func checkSize(md metadata.MD, limits everywire.Limits) error {
	if n := SizeOf(md); n > limits.MaxMetadata {
		return status.Errorf(codes.ResourceExhausted, "metadata of %d bytes is larger than the limit of %d", n, limits.MaxMetadata)
	}
	return nil
}

// tooLarge is worded as grpc-go words it.
func tooLarge(verb string, n, limit int) error {
	return status.Errorf(codes.ResourceExhausted, "%s message larger than max (%d vs. %d)", verb, n, limit)
}

// ok is the status of every call that went well; nobody changes a status.
var ok = status.New(codes.OK, "")

// StatusOf is the status of an error that a handler or a wire returned: its
// own, or that of a context error, or Unknown. nil is OK, and nothing else is:
// an error that says OK is Unknown, for there is no reply.
func StatusOf(err error) *status.Status {
	if err == nil {
		return ok
	}
	if s, is := status.FromError(err); is {
		if s.Code() == codes.OK {
			return status.New(codes.Unknown, s.Message())
		}
		return s
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err)
	}
	return status.New(codes.Unknown, err.Error())
}
