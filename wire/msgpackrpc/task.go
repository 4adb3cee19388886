package msgpackrpc

import (
	"context"

	"google.golang.org/grpc/codes"
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
	ctx     context.Context //nolint:containedctx // of the call that this is
	cancel  context.CancelFunc
	id      uint32
	oneWay  bool
	second  bool // another request with the same id is in flight
	meta    *meta
	entry   *form.Entry
	message []byte // nil if there is none; params as they are if formed
	formed  bool   // params are in the form that the method declares
	err     error  // why it cannot run

	canceled bool // by the client; session.mu
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
	wantMeta := t.meta != nil && t.meta.want
	var reply []byte // the response, or only its result if something comes before
	if !t.oneWay && !wantMeta {
		reply = appendSuccess(dst, t.id)
	}
	out := &rpc.Outcome{}
	if t.err != nil {
		out.Status = rpc.StatusOf(t.err)
	} else {
		out = t.call(func(v any) (n int, err error) {
			start := len(reply)
			if reply, err = codec.Append(reply, v); err == nil && t.entry.Short {
				reply = (*binForm)(t.entry.Form).bare(reply, start)
			}
			return len(reply) - start, err
		})
	}
	failed := out.Status.Code() != codes.OK
	switch canceled := t.session.end(t); {
	case canceled:
		return dst
	case t.oneWay:
		if failed {
			t.session.logger.Debug("a one-way call failed", "error", out.Status.Err())
		}
		return dst
	case wantMeta:
		m := meta{id: t.id, header: out.Header, trailer: out.Trailer}
		dst = m.append(dst)
		if !failed {
			return append(appendSuccess(dst, t.id), reply...)
		}
	}
	if failed {
		return appendError(dst, t.id, out.Status)
	}
	return reply
}

func (t *task) call(encode func(any) (int, error)) *rpc.Outcome {
	in := &rpc.Incoming{Method: t.entry.Form.Method, Peer: t.session.conn.Peer(), Encode: encode}
	if t.meta != nil {
		in.Metadata, in.Timeout = t.meta.header, t.meta.timeout
	}
	in.Decode = func(any) error { return nil } // no message is the zero message
	if t.message != nil {
		in.Size = len(t.message)
		in.Decode = t.decode
	}
	return t.session.cfg.Unary(t.ctx, in)
}

func (t *task) decode(v any) error {
	if t.formed {
		return decodeParams((*binForm)(t.entry.Form), t.message, v)
	}
	return codec.Decode(t.message, v)
}

// Abort is [stream.Task]'s.
func (t *task) Abort(dst []byte) []byte {
	if t.session.end(t) || t.oneWay {
		return dst
	}
	return appendError(dst, t.id, rpc.DidNotReturn)
}

// Refuse is [stream.Task]'s.
func (t *task) Refuse(why error, dst []byte) []byte {
	if t.session.end(t) || t.oneWay {
		return dst
	}
	return appendError(dst, t.id, status.Convert(why))
}
