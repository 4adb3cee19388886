package rpc

import (
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// A ServerTransport is one stream as a wire carries it to the server. A
// goroutine may call Recv while another sends.
type ServerTransport interface {
	// Recv waits for the client's next message and returns it encoded; the
	// slice is valid until the next call. It returns io.EOF when the client has
	// closed its side, and ctx's error when ctx has ended.
	Recv(ctx context.Context) ([]byte, error)
	// Send appends a message by encode, which may call SendHeader, and sends it
	// when the client has given room for it. An error of encode is returned as
	// it is, and then nothing was sent; ctx's error when it has ended.
	Send(ctx context.Context, encode func(dst []byte) ([]byte, error)) error
	// SendHeader sends the headers, if the client wants any; md is nil if there
	// are none and a message follows, which says so too. It is called at most
	// once, and before a message is sent; for headers that the handler set and
	// that no message followed it is not called: they are in the [Outcome].
	SendHeader(md metadata.MD) error
}

// IncomingStream is one streaming call as a wire read its beginning. Its fields
// are those of [Incoming].
type IncomingStream struct {
	Method    *everywire.Method
	Metadata  metadata.MD
	Peer      *peer.Peer
	Timeout   time.Duration
	Codec     everywire.Codec
	Transport ServerTransport
}

// Stream runs one streaming call as every wire owes it, like
// [ServerConfig.Unary]. It returns when the handler has; the outcome's headers
// are those that were not sent. ctx must end when the client cancels the call
// or is gone.
func (c *ServerConfig) Stream(ctx context.Context, in *IncomingStream) *Outcome {
	call := ctx
	timeout := in.Timeout
	if most := in.Method.MaxStreamTime(); most > 0 && (timeout == 0 || timeout > most) {
		timeout = most
	}
	ctx, cancel := withTimeout(ctx, timeout)
	defer cancel()
	ctx = metadata.NewIncomingContext(ctx, in.Metadata)
	ctx = peer.NewContext(ctx, in.Peer)
	s := &serverStream{
		in: in, limits: c.Limits, cancel: cancel,
		clientStreams: in.Method.Kind != everywire.ServerStream,
		serverStreams: in.Method.Kind != everywire.ClientStream,
	}
	s.meta = transportStream{method: in.Method.Path(), send: s.sendHeader}
	ctx = grpc.NewContextWithServerTransportStream(ctx, &s.meta)
	if s.stats = c.beginStats(ctx, in.Method, in.Metadata, in.Peer); s.stats != nil {
		ctx = s.stats.ctx
	}
	defer s.stats.lost()
	s.ctx = ctx

	err := s.run()
	header, trailer := s.meta.finish()
	out := &Outcome{Status: StatusOf(err), Header: header, Trailer: trailer}
	if call.Err() == nil { // else nobody is there to send them to
		if len(header) > 0 {
			s.stats.sentHeader(header)
		}
		s.stats.sentTrailer(trailer)
	}
	s.stats.end(out, err)
	return out
}

// withTimeout is context.WithTimeout for a timeout that 0 stands for none of.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// A serverStream is a grpc.ServerStream. gRPC's rules hold: an error of SendMsg
// or RecvMsg ends the stream, whatever the handler makes of it.
type serverStream struct {
	ctx    context.Context //nolint:containedctx // grpc.ServerStream has a method that returns it
	cancel context.CancelFunc
	in     *IncomingStream
	limits everywire.Limits
	meta   transportStream
	stats  *serverStats

	clientStreams, serverStreams bool
	received                     bool // by the goroutine that receives
	replied                      bool // by the goroutine that sends

	mu     sync.Mutex
	failed error // the first error of SendMsg or RecvMsg
}

func (s *serverStream) run() error {
	if err := checkSize(s.in.Metadata, s.limits); err != nil {
		return err
	}
	err := s.in.Method.Stream(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil:
		return s.failed
	case err == nil && !s.serverStreams && !s.replied:
		return status.Errorf(codes.Internal, "the handler of %s returned neither a reply nor an error", s.in.Method.FullName())
	}
	return err
}

func (s *serverStream) Context() context.Context        { return s.ctx }
func (s *serverStream) SetHeader(md metadata.MD) error  { return s.meta.SetHeader(md) }
func (s *serverStream) SendHeader(md metadata.MD) error { return s.meta.SendHeader(md) }

// SetTrailer has no error to return; trailers that are none are not sent.
func (s *serverStream) SetTrailer(md metadata.MD) { _ = s.meta.SetTrailer(md) }

func (s *serverStream) sendHeader(md metadata.MD) error {
	err := s.ctx.Err()
	if err == nil {
		err = s.in.Transport.SendHeader(md)
	}
	if err != nil {
		return s.failure(err)
	}
	s.stats.sentHeader(md)
	return nil
}

// SendMsg sends a message, and the headers before the first one. It waits until
// the client has room for it.
func (s *serverStream) SendMsg(m any) error {
	n, err := s.send(m)
	if err != nil {
		return s.abort(err)
	}
	s.replied = true
	s.stats.sent(m, n)
	return nil
}

func (s *serverStream) send(m any) (n int, err error) {
	if !s.serverStreams && s.replied {
		return 0, status.Errorf(codes.Internal, "%s has one reply, and its handler sent a second", s.in.Method.FullName())
	}
	if err := s.ctx.Err(); err != nil {
		return 0, s.failure(err)
	}
	err = s.in.Transport.Send(s.ctx, func(dst []byte) ([]byte, error) {
		before := len(dst)
		out, err := s.in.Codec.Append(dst, m)
		if err != nil {
			return dst, status.Errorf(codes.Internal, "reply of %s: %v", s.in.Method.FullName(), err)
		}
		if n = len(out) - before; n > s.limits.MaxMessage {
			return dst, tooLarge("trying to send", n, s.limits.MaxMessage)
		}
		return out, s.meta.beforeMessage()
	})
	return n, s.failure(err)
}

// RecvMsg waits for the next message, or io.EOF when the client has closed its
// side.
func (s *serverStream) RecvMsg(m any) error {
	err := s.recv(m)
	if err != nil && err != io.EOF { //nolint:errorlint // it is returned as it is
		return s.abort(err)
	}
	return err
}

func (s *serverStream) recv(m any) error {
	data, err := s.in.Transport.Recv(s.ctx)
	switch {
	case err == io.EOF && !s.clientStreams && !s.received: //nolint:errorlint // transports return it as it is
		return status.Errorf(codes.Internal, "the client of %s sent no request", s.in.Method.FullName())
	case err != nil:
		return s.failure(err)
	case len(data) > s.limits.MaxMessage:
		return tooLarge("received", len(data), s.limits.MaxMessage)
	}
	if err := s.in.Codec.Decode(data, m); err != nil {
		return badRequest(s.in.Method, err)
	}
	s.received = true
	if s.stats != nil {
		s.stats.received(m, len(data), time.Now())
	}
	if s.clientStreams {
		return nil
	}
	switch _, err := s.in.Transport.Recv(s.ctx); {
	case err == io.EOF: //nolint:errorlint // as above
		return nil
	case err != nil:
		return s.failure(err)
	}
	return status.Errorf(codes.Internal, "the client of %s sent a second request", s.in.Method.FullName())
}

// failure is the status of an error of the transport. io.EOF stays.
func (s *serverStream) failure(err error) error {
	if err == io.EOF { //nolint:errorlint // transports return it as it is
		return err
	}
	return callError(s.ctx, err)
}

// abort ends the stream with err, unless it has failed before.
func (s *serverStream) abort(err error) error {
	s.mu.Lock()
	if s.failed == nil {
		s.failed = err
	}
	s.mu.Unlock()
	s.cancel()
	return err
}
