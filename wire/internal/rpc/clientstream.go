package rpc

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// A ClientTransport is one stream as a wire carries it from the client. One
// goroutine may receive while another sends.
type ClientTransport interface {
	// Send appends a message by encode and sends it when the server has given
	// room for it. An error of encode is returned as it is, and then nothing
	// was sent. It returns another error if the stream has ended; why, Recv says.
	Send(ctx context.Context, encode func(dst []byte) ([]byte, error)) error
	// CloseSend tells the server that no more messages come. It does not wait.
	CloseSend()
	// Header waits for the headers. They have come, perhaps empty but not nil,
	// when a message has; they are nil if the stream ended without any.
	Header(ctx context.Context) (metadata.MD, error)
	// Recv waits for the next message and returns it encoded; the slice is valid
	// until the next call. After the last one it returns the outcome that the
	// server sent, now and ever after, to any goroutine. An error says how the connection, or ctx,
	// ended.
	Recv(ctx context.Context) (msg []byte, end *Outcome, err error)
	// Peer is the server, nil while there is no connection.
	Peer() *peer.Peer
	// Abandon ends the stream, and tells the server if that does not know. It
	// does not wait, and may be called at any time and more than once.
	Abandon()
}

// NewStream starts a stream as every wire owes it. open begins it: it fails as
// a round trip of [ClientConfig.Invoke] does. If the connection breaks, the
// transport calls broken, so that the stream's end is reported though its owner
// may not look at it again.
func (c *ClientConfig) NewStream(ctx context.Context, desc *grpc.StreamDesc, path string, codec everywire.Codec, opts []grpc.CallOption,
	open func(ctx context.Context, call *Outgoing, broken func(error)) (ClientTransport, error),
) (grpc.ClientStream, error) {
	s := &clientStream{codec: codec, call: &Outgoing{
		Path: path, Method: c.Method(path),
		maxSend: c.Limits.MaxMessage, maxRecv: c.Limits.MaxMessage,
		clientStreams: desc.ClientStreams, serverStreams: desc.ServerStreams,
	}}
	var err error
	if s.options, err = readCallOptions(opts, s.call); err == nil && s.call.OneWay {
		err = status.Error(codes.Unimplemented, "a stream cannot be a one-way call")
	}
	if err == nil {
		ctx, err = c.prepare(ctx, s.call, s.options.creds)
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	// User code may run in finish, and broken comes from where none may.
	broken := func(err error) { go s.finish(callError(s.ctx, err), nil) }
	s.mu.Lock() // finish must find the transport
	s.transport, err = open(s.ctx, s.call, broken)
	s.mu.Unlock()
	if err != nil {
		return nil, s.fail(callError(s.ctx, err), nil)
	}
	s.call.stats.sentHeader(s.call)
	stop := context.AfterFunc(s.ctx, func() { s.finish(status.FromContextError(s.ctx.Err()).Err(), nil) })
	s.mu.Lock()
	s.unwatch = stop
	s.mu.Unlock()
	return s, nil
}

// A clientStream is a grpc.ClientStream.
type clientStream struct {
	ctx       context.Context //nolint:containedctx // grpc.ClientStream has a method that returns it
	cancel    context.CancelFunc
	codec     everywire.Codec
	call      *Outgoing
	options   callOptions
	transport ClientTransport // nil if it was not opened

	closed   bool // for sending: by the goroutine that sends
	received bool // by the goroutine that receives; before that, no message has come

	mu        sync.Mutex
	gotHeader bool
	finished  bool
	err       error       // how it ended; io.EOF if well
	unwatch   func() bool // stops what waits for the end of ctx
}

func (s *clientStream) Context() context.Context { return s.ctx }

// Header waits for the headers. As in gRPC it returns neither headers nor an
// error if the stream has ended without; RecvMsg says why.
func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.transport.Header(s.ctx)
	switch {
	case err != nil:
		s.finish(callError(s.ctx, err), nil)
	case md != nil:
		s.noteHeader(md)
		return md.Copy(), nil
	default:
		_, end, err := s.transport.Recv(s.ctx) // the end, which has come
		s.finish(s.endOf(end, err), end)
	}
	return nil, nil //nolint:nilnil // as in gRPC
}

func (s *clientStream) noteHeader(md metadata.MD) {
	s.mu.Lock()
	first := !s.gotHeader && !s.finished
	if first {
		s.gotHeader = true
		s.call.Header, s.call.Peer = md, s.transport.Peer()
	}
	s.mu.Unlock()
	if first {
		s.call.stats.receivedHeader(s.call)
	}
}

// Trailer returns the trailers once RecvMsg has failed.
func (s *clientStream) Trailer() metadata.MD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.call.Trailer.Copy()
}

// SendMsg sends a message when the server has room for it. It returns io.EOF if
// the stream has ended; RecvMsg says how.
func (s *clientStream) SendMsg(m any) error {
	if s.closed {
		err := status.Error(codes.Internal, "SendMsg called after CloseSend")
		s.finish(err, nil)
		return err
	}
	if s.isFinished() {
		return s.sendFailed()
	}
	n := 0
	var failed error
	err := s.transport.Send(s.ctx, func(dst []byte) ([]byte, error) {
		before := len(dst)
		out, err := s.codec.Append(dst, m)
		if err != nil {
			failed = status.Errorf(codes.Internal, "request of %s: %v", s.call.Path[1:], err)
			return dst, failed
		}
		if n = len(out) - before; n > s.call.maxSend {
			failed = tooLarge("trying to send", n, s.call.maxSend)
			return dst, failed
		}
		return out, nil
	})
	switch {
	case failed != nil:
		s.finish(failed, nil)
		return failed
	case err != nil:
		return s.sendFailed()
	}
	s.call.stats.sent(m, n)
	if !s.call.clientStreams {
		return s.CloseSend()
	}
	return nil
}

// sendFailed is what SendMsg returns when the stream has ended: io.EOF, or as
// in gRPC nothing for a call with one request.
func (s *clientStream) sendFailed() error {
	if s.call.clientStreams {
		return io.EOF
	}
	return nil
}

func (s *clientStream) isFinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished
}

// CloseSend tells the server that no more messages come. As in gRPC it does not
// fail.
func (s *clientStream) CloseSend() error {
	if !s.closed {
		s.closed = true
		s.transport.CloseSend()
	}
	return nil
}

// RecvMsg waits for the next message, or the end: io.EOF if it is a good one,
// else the status. For a call with one reply it waits for the end too.
func (s *clientStream) RecvMsg(m any) error {
	if err := s.recv(m); err != nil || s.call.serverStreams {
		return err
	}
	switch err := s.recv(m); {
	case err == io.EOF: //nolint:errorlint // recv returns it as it is
		return nil
	case err != nil:
		return err
	}
	err := status.Errorf(codes.Internal, "the server sent a second reply to %s, which has one", s.call.Path[1:])
	s.finish(err, nil)
	return err
}

func (s *clientStream) recv(m any) error {
	if s.isFinished() {
		return s.err
	}
	data, end, err := s.transport.Recv(s.ctx)
	if err == nil && !s.received { // headers come before what has come
		if md, err := s.transport.Header(s.ctx); err == nil && md != nil {
			s.noteHeader(md)
		}
	}
	switch {
	case err != nil || end != nil:
		return s.fail(s.endOf(end, err), end)
	case len(data) > s.call.maxRecv:
		return s.fail(tooLarge("received", len(data), s.call.maxRecv), nil)
	}
	if err := s.codec.Decode(data, m); err != nil {
		return s.fail(status.Errorf(codes.Internal, "reply of %s: %v", s.call.Path[1:], err), nil)
	}
	s.received = true
	s.call.stats.received(m, len(data))
	return nil
}

// endOf is the end that Recv of the transport told.
func (s *clientStream) endOf(end *Outcome, err error) error {
	switch {
	case err != nil:
		return callError(s.ctx, err)
	case end.Status.Code() != codes.OK:
		return end.Status.Err()
	case !s.call.serverStreams && !s.received:
		return status.Errorf(codes.Internal, "the server sent no reply to %s", s.call.Path[1:])
	}
	return io.EOF
}

// fail finishes the stream and returns how it ended, now or before.
func (s *clientStream) fail(err error, end *Outcome) error {
	s.finish(err, end)
	return s.err
}

// finish ends the stream with err, which is io.EOF for a good end, unless it
// has ended before. end is what the server sent, if it did.
func (s *clientStream) finish(err error, end *Outcome) {
	s.mu.Lock()
	if s.finished {
		s.mu.Unlock()
		return
	}
	s.finished, s.err = true, err
	if s.unwatch != nil {
		s.unwatch()
	}
	if end != nil {
		s.call.Trailer = end.Trailer
	}
	if s.transport != nil {
		s.call.Peer = s.transport.Peer()
		s.options.deliver(s.call) // before RecvMsg on another goroutine returns
	}
	s.mu.Unlock()
	defer s.cancel()

	told := err
	if told == io.EOF { //nolint:errorlint // callers give it as it is
		told = nil
	}
	if s.transport != nil {
		s.transport.Abandon()
		if end != nil {
			s.call.stats.receivedTrailer(s.call)
		}
	}
	s.call.stats.end(s.call, told)
	for _, f := range s.options.onFinish {
		f(told)
	}
}
