package jsonrpc

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

func (c *streamConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, path string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	open := func(ctx context.Context, call *rpc.Outgoing, broken func(error)) (rpc.ClientTransport, error) {
		switch {
		case c.v1:
			return nil, status.Error(codes.Unimplemented, "JSON-RPC 1.0 has no streams")
		case c.client == nil:
			return nil, status.Error(codes.Unimplemented, "a server opens no streams to its client")
		case !c.meta && (call.HasMetadata() || call.WantMeta):
			return nil, errMetaOff
		}
		f := &clientFlow{conn: c, call: call, desc: desc, broken: broken, opened: make(chan struct{}), headed: make(chan struct{}), turn: make(chan struct{}, 1)}
		if desc.ClientStreams {
			return f, f.open(ctx, nil)
		}
		return f, nil // with the request: Send
	}
	return c.cfg.NewStream(ctx, desc, path, streamCodec{c.codec}, opts, open)
}

// A clientFlow is the [rpc.ClientTransport] of a stream.
type clientFlow struct {
	conn   *streamConn
	call   *rpc.Outgoing
	desc   *grpc.StreamDesc
	broken func(error)
	opened chan struct{} // closed when the request has been sent, or could not be

	mu        sync.Mutex
	flow      *stream.Stream // nil before it was opened
	peer      *peer.Peer
	frames    streamFrames
	failed    error // why it could not be opened
	abandoned bool

	// turn is taken by who receives, be it for headers or a message.
	turn    chan struct{}
	peeked  []byte // a message that Header received
	reply   []byte // the one of a client stream
	outcome *rpc.Outcome

	headed chan struct{} // closed when header is known
	header metadata.MD
}

// open sends the request that opens the stream. encode is nil if it has no
// params.
func (f *clientFlow) open(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	x := &opening{flow: f, ctx: ctx, encode: encode}
	var s *stream.Stream
	var p *peer.Peer
	err := f.call.Reach(ctx, func() (err error) {
		s, p, err = f.conn.client.OpenStream(ctx, x, f.grant, f.broken)
		return err
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	defer close(f.opened)
	f.peer = p
	if err != nil {
		f.failed = err
		return err
	}
	f.flow = s
	f.frames = f.framesOf(s.ID())
	if f.abandoned {
		s.Cancel()
	}
	return nil
}

func (f *clientFlow) framesOf(id uint32) streamFrames {
	return streamFrames{f.conn.framing, strconv.AppendUint(nil, uint64(id), 10)}
}

func (f *clientFlow) grant(dst []byte, id uint32, n int) []byte {
	frames := f.framesOf(id)
	return frames.credit(dst, n)
}

// Send is [rpc.ClientTransport]'s.
func (f *clientFlow) Send(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	if !f.desc.ClientStreams {
		return f.open(ctx, encode)
	}
	return f.flow.Send(ctx, f.frames.message(encode))
}

// CloseSend is [rpc.ClientTransport]'s. A call with one request says nothing:
// the server knows.
func (f *clientFlow) CloseSend() {
	if f.desc.ClientStreams {
		f.flow.Post(f.frames.close)
	}
}

// Abandon is [rpc.ClientTransport]'s.
func (f *clientFlow) Abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flow != nil && !f.abandoned {
		f.flow.Cancel()
	}
	f.abandoned = true
}

// Peer is [rpc.ClientTransport]'s.
func (f *clientFlow) Peer() *peer.Peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peer
}

// Header is [rpc.ClientTransport]'s.
func (f *clientFlow) Header(ctx context.Context) (metadata.MD, error) {
	select {
	case <-f.headed:
		return f.header, nil
	default:
	}
	select {
	case <-f.headed:
		return f.header, nil
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-f.turn }()
	if !f.isHeaded() {
		msg, err := f.next(ctx)
		if err != nil {
			return nil, err
		}
		f.peeked = msg // nil at the end
	}
	return f.header, nil
}

func (f *clientFlow) isHeaded() bool {
	select {
	case <-f.headed:
		return true
	default:
		return false
	}
}

// Recv is [rpc.ClientTransport]'s.
func (f *clientFlow) Recv(ctx context.Context) ([]byte, *rpc.Outcome, error) {
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-f.turn }()
	for {
		if msg := f.peeked; msg != nil {
			f.peeked = nil
			return msg, nil, nil
		}
		msg, err := f.next(ctx)
		switch {
		case err != nil:
			return nil, nil, err
		case msg != nil:
			return msg, nil, nil
		case f.outcome != nil:
			return nil, f.outcome, nil
		}
	}
}

// next receives a message or, before one, headers: then the message is nil, as
// it is at the end, which sets outcome. The caller has the turn.
func (f *clientFlow) next(ctx context.Context) ([]byte, error) {
	if f.outcome != nil {
		return nil, nil
	}
	select {
	case <-f.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.failed != nil {
		return nil, f.failed
	}
	msg, err := f.flow.Recv(ctx)
	switch {
	case errors.Is(err, io.EOF):
		f.mu.Lock() // Reply closes the flow, and so may Abandon
		err := f.flow.Reply(ctx)
		f.mu.Unlock()
		if err != nil {
			return nil, err
		}
		f.setHeader(f.outcome.Header)
		reply := f.reply
		f.reply = nil
		return reply, nil
	case err != nil:
		return nil, err
	case msg[0] == headerMark && f.isHeaded():
		return nil, status.Errorf(codes.Internal, "the peer sent %s twice, or behind a message", headerMethod)
	case msg[0] == headerMark:
		md, err := parseMeta(msg[1:])
		if err != nil {
			return nil, status.Errorf(codes.Internal, `%s of %s: member "meta" %v`, headerMethod, f.call.Path[1:], err)
		}
		f.setHeader(md)
		return nil, nil
	}
	f.setHeader(metadata.MD{})
	return msg, nil
}

// setHeader keeps the first.
func (f *clientFlow) setHeader(md metadata.MD) {
	if !f.isHeaded() {
		f.header = md
		close(f.headed)
	}
}

// An opening is the exchange of a stream: the request that opens it and the
// response that ends it.
type opening struct {
	flow   *clientFlow
	ctx    context.Context //nolint:containedctx // lives as long as the request
	encode func([]byte) ([]byte, error)
}

// Append is [stream.Exchange]'s. Methods of streams are called by their full
// name.
func (x *opening) Append(dst []byte, id uint32) (out []byte, err error) {
	start := len(dst)
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = appendFullName(dst, x.flow.call.Path)
	if x.encode != nil {
		dst = append(dst, `,"params":`...)
		params := len(dst)
		if dst, err = x.encode(dst); err != nil {
			return nil, err
		}
		if dst[params] != '{' {
			dst = inArray(dst, params)
		}
	}
	if x.flow.conn.meta {
		dst = append(dst, `,"meta":`...)
		dst = appendMeta(dst, x.flow.call.Metadata)
		dst = appendTimeout(x.ctx, dst)
	}
	dst = append(dst, `,"stream":true`...)
	return x.flow.conn.framing.wrap(appendNumericID(dst, id), start), nil
}

// AppendCancel is [stream.Exchange]'s. A server with streams knows it, so it is
// sent whatever the target's option says.
func (x *opening) AppendCancel(dst []byte, id uint32) []byte {
	return appendCancel(dst, x.flow.conn.framing, id)
}

// Read is [stream.Exchange]'s.
func (x *opening) Read(frame []byte) error {
	f := x.flow
	var r response
	if err := r.parse(frame); err != nil {
		return status.Errorf(codes.Internal, "the reply of %s is not JSON-RPC: %v: %s", f.call.Path[1:], err, excerpt(frame))
	}
	out := &rpc.Outcome{Status: status.New(codes.OK, "")}
	if r.meta != nil {
		var err error
		if out.Header, out.Trailer, err = parseReplyMeta(r.meta); err != nil {
			return status.Errorf(codes.Internal, `reply of %s: member "meta" %v`, f.call.Path[1:], err)
		}
	}
	switch {
	case r.err != nil:
		out.Status = statusOf(r.err)
	case !f.desc.ServerStreams:
		f.reply = append([]byte(nil), r.result...)
		if out.Header == nil {
			out.Header = metadata.MD{} // as before every message
		}
	}
	f.outcome = out
	return nil
}

// MaxFrame is [stream.Exchange]'s.
func (x *opening) MaxFrame() int { return x.flow.conn.maxReply(x.flow.call) }

// MayRepeat is [stream.Exchange]'s.
func (*opening) MayRepeat() bool { return false }

// notified gives a notification of the server to the stream that it is for.
func (s *clientSession) notified(method string, r *request) {
	if p, ok := readStreamParams(r.params); ok {
		s.deliver(method, &p)
	}
}

func (s *clientSession) deliver(method string, p *streamParams) {
	if id, ok := parseID(p.id); ok {
		if to := s.conn.StreamOf(id); to != nil {
			p.deliver(method, to, true)
		}
	}
}
