package msgpackrpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/rpc"
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
	method  *everywire.Method
	message int   // offset of the message in the frame; 0 if there is none
	err     error // why it cannot run

	canceled bool // by the client; session.mu
}

// resolve finds the method and where its message begins.
func (t *task) resolve(name string, r *msgpack.Reader) {
	if t.method, t.err = t.session.lookup(name); t.err != nil {
		return
	}
	n, err := r.ArrayHeader()
	switch {
	case err != nil:
		t.err = status.Errorf(codes.InvalidArgument, "params of %s is an array: %v", name, err)
	case n > 1:
		t.err = status.Errorf(codes.InvalidArgument, "params of %s has one element, the message, not %d", name, n)
	case n == 1:
		t.message = r.Pos()
	}
}

// Run is [stream.Task]'s.
func (t *task) Run(frame, dst []byte) []byte {
	wantMeta := t.meta != nil && t.meta.want
	var reply []byte // the response, or only its result if something comes before
	if !t.oneWay && !wantMeta {
		reply = appendSuccess(dst, t.id)
	}
	out := &rpc.Outcome{}
	if t.err != nil {
		out.Status = rpc.StatusOf(t.err)
	} else {
		out = t.call(frame, func(v any) (n int, err error) {
			start := len(reply)
			reply, err = codec.Append(reply, v)
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

func (t *task) call(frame []byte, encode func(any) (int, error)) *rpc.Outcome {
	in := &rpc.Incoming{Method: t.method, Peer: t.session.conn.Peer(), Encode: encode}
	if t.meta != nil {
		in.Metadata, in.Timeout = t.meta.header, t.meta.timeout
	}
	in.Decode = func(any) error { return nil } // no message is the zero message
	if t.message > 0 {
		data := frame[t.message:]
		in.Size = len(data)
		in.Decode = func(v any) error { return codec.Decode(data, v) }
	}
	return t.session.cfg.Unary(t.ctx, in)
}

// Abort is [stream.Task]'s.
func (t *task) Abort(_, dst []byte) []byte {
	if t.session.end(t) || t.oneWay {
		return dst
	}
	return appendError(dst, t.id, rpc.DidNotReturn)
}

// Refuse is [stream.Task]'s.
func (t *task) Refuse(_, dst []byte) []byte {
	if t.session.end(t) || t.oneWay {
		return dst
	}
	return appendError(dst, t.id, status.New(codes.Unavailable, "the server is shutting down"))
}
