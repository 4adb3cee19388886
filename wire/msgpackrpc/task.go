package msgpackrpc

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// A task is one request or notification to run.
type task struct {
	session *session
	ctx     *rpc.CallContext
	id      uint32
	oneWay  bool
	meta    *meta
	entry   *form.Entry
	message []byte // nil if there is none; params as they are if formed
	formed  bool   // params are in the form that the method declares
	err     error  // why it cannot run
	in      rpc.Incoming
	out     []byte // what encode has appended to
}

// tasks are free. Their Decode and Encode are made once.
var tasks = sync.Pool{New: func() any {
	t := new(task)
	t.in.Decode, t.in.Encode = t.decode, t.encode
	return t
}}

func (s *session) newTask() *task {
	t := tasks.Get().(*task)
	t.session = s
	return t
}

// free ends the use of a task that has run. One that did not return is left to
// the garbage collector: Abort needs it.
func (t *task) free() {
	*t = task{in: rpc.Incoming{Decode: t.in.Decode, Encode: t.in.Encode}}
	tasks.Put(t)
}

// resolve finds the method and its message.
func (t *task) resolve(name []byte, r *msgpack.Reader) {
	if t.entry, t.err = t.session.lookup(name); t.err != nil {
		return
	}
	if t.entry.Short && t.entry.Form.Params != everywire.ParamsNamed {
		if typ, err := r.Type(); err != nil || typ != msgpack.Array {
			t.err = status.Errorf(codes.InvalidArgument, "params of %s is an array, not %v", name, typ)
			return
		}
		t.formed = true
		t.message, t.err = r.Raw()
		return
	}
	n, err := r.ArrayHeader()
	switch {
	case err != nil:
		t.err = status.Errorf(codes.InvalidArgument, "params of %s is an array: %v", name, err)
	case n > 1:
		t.err = status.Errorf(codes.InvalidArgument, "params of %s has one element, the message, not %d", name, n)
	case n == 1:
		t.message, t.err = r.Raw()
	}
}

// Pace is [stream.Task]'s.
func (t *task) Pace() *stream.Pace {
	if t.err != nil {
		return nil // nothing runs
	}
	return &t.entry.Pace
}

// Run is [stream.Task]'s.
func (t *task) Run(dst []byte) []byte {
	dst = t.answer(dst)
	t.free()
	return dst
}

func (t *task) answer(dst []byte) []byte {
	wantMeta := t.meta != nil && t.meta.want
	if !t.oneWay && !wantMeta { // else something comes before, or nothing is sent
		t.out = appendSuccess(dst, t.id)
	}
	result := status.Convert(t.err)
	var header, trailer metadata.MD
	if t.err == nil {
		t.in.Method, t.in.Peer, t.in.Size = t.entry.Form.Method, t.session.conn.Peer(), len(t.message)
		if t.meta != nil {
			t.in.Metadata, t.in.Timeout = t.meta.header, t.meta.timeout
		}
		out := t.session.cfg.Unary(t.ctx, &t.in)
		result, header, trailer = out.Status, out.Header, out.Trailer
	}
	failed := result.Code() != codes.OK
	switch canceled := t.session.flights.End(t.ctx); {
	case canceled:
		return dst
	case t.oneWay:
		if failed {
			t.session.logger.Debug("a one-way call failed", "error", result.Err())
		}
		return dst
	case wantMeta:
		m := meta{id: t.id, header: header, trailer: trailer}
		dst = m.append(dst)
		if !failed {
			return append(appendSuccess(dst, t.id), t.out...)
		}
	}
	if failed {
		return appendError(dst, t.id, result)
	}
	return t.out
}

func (t *task) decode(v any) error {
	switch {
	case t.message == nil:
		return nil // no message is the zero message
	case t.formed:
		return decodeParams((*binForm)(t.entry.Form), t.message, v)
	}
	return codec.Decode(t.message, v)
}

// encode appends the result. That of a one-way call is thrown away.
func (t *task) encode(v any) (n int, err error) {
	start := len(t.out)
	if t.out, err = codec.Append(t.out, v); err == nil && t.entry.Short {
		t.out = (*binForm)(t.entry.Form).bare(t.out, start)
	}
	return len(t.out) - start, err
}

// Abort is [stream.Task]'s.
func (t *task) Abort(dst []byte) []byte {
	if t.session.flights.End(t.ctx) || t.oneWay {
		return dst
	}
	return appendError(dst, t.id, rpc.DidNotReturn)
}

// Refuse is [stream.Task]'s.
func (t *task) Refuse(why error, dst []byte) []byte {
	if t.session.flights.End(t.ctx) || t.oneWay {
		return dst
	}
	return appendError(dst, t.id, status.Convert(why))
}
