package connectwire

import (
	"context"
	"errors"
	"io"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

func (c *conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, path string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	open := func(ctx context.Context, call *rpc.Outgoing, broken func(error)) (rpc.ClientTransport, error) {
		if err := checkPath(path); err != nil {
			return nil, err
		}
		return c.open(ctx, call, desc, broken)
	}
	return c.cfg.NewStream(ctx, desc, path, c.codec.Codec, opts, open)
}

// open begins a stream: it returns when its headers are on the way.
func (c *conn) open(ctx context.Context, call *rpc.Outgoing, desc *grpc.StreamDesc, broken func(error)) (rpc.ClientTransport, error) {
	if c.conns.Closed() {
		return nil, errClosing
	}
	t := &clientTransport{x: newExchange(c, call)}
	t.ctx, t.cancel = context.WithCancel(t.x.context(ctx))
	client := c.client(call)
	var err error
	if desc.ServerStreams && desc.ClientStreams {
		t.stream, err = client.CallBidiStream(t.ctx).Conn()
	} else {
		// That of a stream of requests serves for a stream of replies as well:
		// it lets the one request come later than the headers.
		t.stream, err = client.CallClientStream(t.ctx).Conn()
	}
	if err == nil {
		c.putHeader(t.stream.RequestHeader(), call)
		err = t.stream.Send(nil) // the headers alone
	}
	if err != nil {
		t.cancel()
		return nil, t.x.failure(ctx, err)
	}
	select {
	case <-t.x.reached:
	case <-ctx.Done():
	}
	if err := t.x.failed(); err != nil || ctx.Err() != nil {
		t.cancel()
		return nil, t.x.failure(ctx, err)
	}
	t.unwatch = context.AfterFunc(c.conns.Closing(), func() { broken(errClosing) })
	context.AfterFunc(t.ctx, t.CloseSend) // net/http waits for the request's body, whatever its context
	return t, nil
}

// A clientTransport is the rpc.ClientTransport of a stream that connect-go
// carries.
type clientTransport struct {
	x       *exchange
	ctx     context.Context //nolint:containedctx // of the request
	cancel  context.CancelFunc
	stream  connect.StreamingClientConn
	unwatch func() bool

	buf []byte

	mu  sync.Mutex // held by the one who receives
	in  message
	end *rpc.Outcome
	err error
}

func (t *clientTransport) Send(_ context.Context, encode func(dst []byte) ([]byte, error)) error {
	var err error
	if t.buf, err = encode(t.buf[:0]); err != nil {
		return err
	}
	return t.stream.Send(&message{data: t.buf}) // ends with the request's context
}

func (t *clientTransport) CloseSend() {
	_ = t.stream.CloseRequest() // fails only if the stream has ended, and then Recv says so
}

// Header waits for the response; the request's context ends it too.
func (t *clientTransport) Header(ctx context.Context) (metadata.MD, error) {
	h := t.stream.ResponseHeader()
	if err := ctx.Err(); err != nil && len(h) == 0 {
		return nil, err
	}
	return takeHeader(h)
}

func (t *clientTransport) Recv(ctx context.Context) ([]byte, *rpc.Outcome, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil || t.err != nil {
		return nil, t.end, t.err
	}
	t.in.read = false
	err := t.stream.Receive(&t.in)
	switch {
	case err == nil:
		return t.x.conn.codec.bytesOf(&t.in), nil, nil
	case connect.IsWireError(err):
		t.end = &rpc.Outcome{Status: answered(err)}
	case errors.Is(err, io.EOF):
		t.end = &rpc.Outcome{Status: status.New(codes.OK, "")}
	default:
		t.err = t.x.failure(ctx, err)
		return nil, nil, t.err
	}
	if t.end.Trailer, err = takeMetadata(t.stream.ResponseTrailer()); err != nil {
		t.end = &rpc.Outcome{Status: status.Newf(codes.Internal, "reply of %s: %v", t.x.call.Path, err)}
	}
	return nil, t.end, nil
}

func (t *clientTransport) Peer() *peer.Peer { return t.x.peer() }

// Abandon ends the request, if it has not ended.
func (t *clientTransport) Abandon() {
	t.unwatch()
	t.cancel()
}
