package connectwire

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

func (h *handler) bidiStream(ctx context.Context, stream *connect.BidiStream[message, message]) error {
	return h.stream(ctx, &serverTransport{conn: stream.Conn()})
}

// serverStream runs a call with one request, which connect-go has read.
func (h *handler) serverStream(ctx context.Context, req *connect.Request[message], stream *connect.ServerStream[message]) error {
	return h.stream(ctx, &serverTransport{conn: stream.Conn(), one: true, first: req.Msg})
}

// clientStream runs a call with one reply, which connect-go sends when all is
// done.
func (h *handler) clientStream(ctx context.Context, stream *connect.ClientStream[message]) (*connect.Response[message], error) {
	t := &serverTransport{conn: stream.Conn(), reply: &message{}}
	if err := h.stream(ctx, t); err != nil {
		return nil, err
	}
	return connect.NewResponse(t.reply), nil
}

func (h *handler) stream(ctx context.Context, t *serverTransport) error {
	t.call, t.ctx = callOf(ctx), ctx
	defer t.stop()
	md, err := takeMetadata(t.conn.RequestHeader())
	if err != nil {
		return connectError(status.New(codes.InvalidArgument, err.Error()), t.call.protocol)
	}
	out := &rpc.Outcome{Status: rpc.DidNotReturn}
	rpc.Returns(func() { // as for unary calls
		out = h.cfg.Stream(ctx, &rpc.IncomingStream{
			Method: t.call.method, Metadata: md, Peer: t.call.peer, Codec: t.call.codec, Transport: t,
		})
	})
	return finish(t.call, t.conn.ResponseHeader(), t.conn.ResponseTrailer(), out)
}

// A serverTransport is the rpc.ServerTransport of a stream that connect-go
// carries.
type serverTransport struct {
	call  *call
	ctx   context.Context //nolint:containedctx // of the request, for what has none of its own
	conn  connect.StreamingHandlerConn
	one   bool     // there is one request
	first *message // it, unless it has been received
	reply *message // where the one reply goes; nil if there may be more

	in  message
	buf []byte

	mu       sync.Mutex
	unwatch  func() bool
	encoding bool // a message: headers go out with it
	reading  bool
	writing  bool
	over     bool // ctx has ended, or the call has
}

// past is a time that has passed.
var past = time.Unix(1, 0)

// watch lets the end of the stream's context interrupt what reads or writes:
// connect-go passes no context on, and that of the request knows only of the
// client.
func (t *serverTransport) watch(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unwatch == nil && !t.over {
		t.unwatch = context.AfterFunc(ctx, t.interrupt)
	}
}

// begin and end stand around what reads or writes, of which doing tells.
func (t *serverTransport) begin(doing *bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	*doing = !t.over
	return *doing
}

func (t *serverTransport) end(doing *bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*doing = false
}

func (t *serverTransport) interrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	if t.reading {
		_ = t.call.controller.SetReadDeadline(past) // fails if the connection is gone, and then nothing waits
	}
	if t.writing {
		_ = t.call.controller.SetWriteDeadline(past) // as above; the end of the stream cannot be told any more
	}
}

// stop is called when the call is over: its ResponseWriter must not be touched
// any more.
func (t *serverTransport) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.unwatch != nil {
		t.unwatch()
	}
}

func (t *serverTransport) Recv(ctx context.Context) ([]byte, error) {
	if t.one {
		m := t.first
		if m == nil {
			return nil, io.EOF
		}
		t.first = nil
		return t.call.codec.bytesOf(m), nil
	}
	t.watch(ctx)
	if !t.begin(&t.reading) {
		return nil, ended(ctx)
	}
	t.in.read = false
	err := t.conn.Receive(&t.in)
	t.end(&t.reading)
	switch {
	case err == nil:
		return t.call.codec.bytesOf(&t.in), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	}
	return nil, statusOf(err).Err()
}

func (t *serverTransport) Send(ctx context.Context, encode func(dst []byte) ([]byte, error)) error {
	t.watch(ctx)
	t.mu.Lock()
	t.encoding = true
	t.mu.Unlock()
	var err error
	t.buf, err = encode(t.buf[:0])
	t.end(&t.encoding)
	if err != nil {
		return err
	}
	if t.reply != nil {
		t.reply.data = append(t.reply.data[:0], t.buf...)
		return nil
	}
	return t.write(ctx, func() error { return t.conn.Send(&message{data: t.buf}) })
}

// SendHeader sends the headers at once if no message follows.
func (t *serverTransport) SendHeader(md metadata.MD) error {
	putMetadata(t.conn.ResponseHeader(), md)
	t.mu.Lock()
	follows := t.encoding
	t.mu.Unlock()
	if follows {
		return nil
	}
	return t.write(t.ctx, func() error { return t.conn.Send(nil) })
}

// write runs send in such a way that ctx's end interrupts it.
func (t *serverTransport) write(ctx context.Context, send func() error) error {
	if !t.begin(&t.writing) {
		return ended(ctx)
	}
	err := send()
	t.end(&t.writing)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return statusOf(err).Err()
}

// ended is the error of what comes too late.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}
