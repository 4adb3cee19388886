package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// openStreams are the streams of a connection that its peer has opened.
type openStreams struct {
	mu   sync.Mutex
	byID map[string]*stream.Stream // by the id of the request, as written
}

func (o *openStreams) add(id []byte, s *stream.Stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID == nil {
		o.byID = map[string]*stream.Stream{}
	}
	o.byID[string(id)] = s
}

func (o *openStreams) remove(id []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byID, string(id))
}

func (o *openStreams) get(id []byte) *stream.Stream {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byID[string(id)]
}

func (o *openStreams) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.byID)
}

// notified gives a notification to the stream that it is for. One that is over
// is not there any more: its peer learns that from the response.
func (o *openStreams) notified(method string, r *request) {
	p, ok := readStreamParams(r.params)
	if !ok {
		return
	}
	if s := o.get(p.id); s != nil {
		p.deliver(method, s, false)
	}
}

// A streamTask is a request that opens a stream, from its arrival to its
// response.
type streamTask struct {
	session *serverSession
	request request
	ctx     *rpc.CallContext // of the handler
	frames  streamFrames
	// flow is nil if the stream was refused.
	flow *stream.Stream
	full bool // it was refused because there are too many
}

// openStream begins a stream before the frames behind its request are read.
func (s *serverSession) openStream(r *request) *streamTask {
	s.service.resolve(r)
	t := &streamTask{session: s, request: *r}
	t.checkOpening()
	t.ctx = start(s.ids, &t.request)
	if t.request.invalid != "" || t.request.unknown != nil {
		return t
	}
	if t.full = s.streams.count() >= s.maxStreams(); t.full {
		return t
	}
	t.frames = streamFrames{s.framing, bytes.Clone(t.request.id)} // it outlives the frame: the handler may leave goroutines behind
	t.flow = s.conn.NewStream(t.frames.credit)
	s.streams.add(t.request.id, t.flow)
	return t
}

// maxStreams leaves room for other calls: when all that may run are streams
// the engine would not read what they wait for.
func (s *serverSession) maxStreams() int { return max(1, s.service.cfg.Limits.MaxInFlight/2) }

// checkOpening rejects a request that cannot open a stream.
func (t *streamTask) checkOpening() {
	r := &t.request
	switch {
	case r.invalid != "":
	case r.v1:
		r.reject("JSON-RPC 1.0 has no streams")
	case !r.tracked():
		r.reject("a request that opens a stream must have an id that is not null")
	case r.entry == nil:
	case r.entry.Form.Method.Kind == everywire.Unary:
		r.reject(fmt.Sprintf(`method %s is unary: call it without the member "stream"`, r.entry.Form.Method.FullName()))
	case r.entry.Form.Method.Kind != everywire.ServerStream && r.params != nil:
		r.reject(fmt.Sprintf("method %s is %s: its requests are messages of the stream, not params", r.entry.Form.Method.FullName(), r.entry.Form.Method.Kind))
	}
}

// Pace is [stream.Task]'s: a stream always has a goroutine of its own.
func (*streamTask) Pace() *stream.Pace { return nil }

// Run is [stream.Task]'s.
func (t *streamTask) Run(dst []byte) []byte {
	defer t.end()
	return t.session.framing.wrap(t.answer(dst), len(dst))
}

// Refuse is [stream.Task]'s.
func (t *streamTask) Refuse(why error, dst []byte) []byte {
	defer t.end()
	return t.session.framing.wrap(t.request.appendStatus(dst, status.Convert(why)), len(dst))
}

// Abort is [stream.Task]'s.
func (t *streamTask) Abort(dst []byte) []byte {
	return t.session.framing.wrap(t.request.appendStatus(dst, rpc.DidNotReturn), len(dst))
}

func (t *streamTask) end() {
	if t.flow != nil {
		t.session.streams.remove(t.request.id)
		t.flow.Close()
	}
	t.session.ids.End(t.ctx)
}

// answer runs the handler and appends the response.
func (t *streamTask) answer(dst []byte) []byte {
	r := &t.request
	c := &call{service: t.session.service, req: r, out: dst, start: len(dst), form: r.entry}
	members := rpc.Incoming{Metadata: t.session.who.metadata}
	why := r.invalid
	if why == "" {
		why = readMembers(&members, r)
	}
	switch {
	case why != "":
		return r.appendFailure(dst, code.InvalidRequest, why)
	case r.unknown != nil:
		return c.fail(status.Convert(r.unknown))
	case t.full:
		return c.fail(status.Convert(everywire.NotRun(status.Errorf(codes.ResourceExhausted,
			"too many streams are open on this connection: the limit is %d", t.session.maxStreams()))))
	}
	flow := &serverFlow{task: t, call: c, kind: r.entry.Form.Method.Kind}
	outcome := c.service.cfg.Stream(t.ctx, &rpc.IncomingStream{
		Method: r.entry.Form.Method, Metadata: members.Metadata, Peer: t.session.who.peer, Timeout: members.Timeout,
		Codec: streamCodec{c.service.codec}, Transport: flow,
	})
	switch {
	case outcome.Status.Code() != codes.OK:
		c.fail(outcome.Status)
	case flow.kind == everywire.ClientStream:
		c.finish()
	default:
		c.out = append(r.appendResultHead(c.out[:c.start]), null...)
		c.finish()
	}
	if r.meta != nil {
		c.out = appendReplyMeta(c.out[:len(c.out)-1], outcome.Header, outcome.Trailer)
		c.out = append(c.out, '}')
	}
	return c.out
}

// A serverFlow is the [rpc.ServerTransport] of a stream.
type serverFlow struct {
	task *streamTask
	call *call
	kind everywire.StreamKind

	taken   bool // the request of a server stream
	scratch []byte
}

// Recv is [rpc.ServerTransport]'s.
func (f *serverFlow) Recv(ctx context.Context) ([]byte, error) {
	switch {
	case f.kind != everywire.ServerStream:
		return f.task.flow.Recv(ctx)
	case f.taken:
		return nil, io.EOF
	}
	f.taken = true
	m := f.call.form.Form
	msg, err := (*textForm)(m).message(f.call.req.params, m.Params, &f.scratch)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "request of %s: %v", m.Method.FullName(), err)
	}
	return msg, nil
}

// Send is [rpc.ServerTransport]'s. The one reply of a client stream is the
// result of the response: it is kept for it.
func (f *serverFlow) Send(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	if f.kind != everywire.ClientStream {
		return f.task.flow.Send(ctx, f.task.frames.message(encode))
	}
	c := f.call
	out := c.req.appendResultHead(c.out[:c.start])
	result := len(out)
	out, err := encode(out)
	if err != nil {
		return err
	}
	if c.form.Short {
		out = (*textForm)(c.form.Form).bare(out, result)
	}
	c.out = out
	return nil
}

// SendHeader is [rpc.ServerTransport]'s. Headers go only to who asked for
// metadata, as in replies. They are the first to use the stream's credit, so
// they do not wait for any.
func (f *serverFlow) SendHeader(md metadata.MD) error {
	if md == nil || f.call.req.meta == nil {
		return nil
	}
	return f.task.flow.Send(f.task.ctx, f.task.frames.header(md))
}
