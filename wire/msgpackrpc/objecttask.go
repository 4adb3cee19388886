package msgpackrpc

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// An objectTask is one request or notification of JSON-RPC to run.
type objectTask struct {
	object
	session *session
	ctx     *rpc.CallContext
	name    []byte // of the method
	oneWay  bool   // a notification
	invalid string // why it is no request
	meta    *meta  // members of its own; nil if it has none
	entry   *form.Entry
	err     error // why it cannot run

	in    rpc.Incoming
	out   []byte // the reply so far
	start int    // where it begins in out
}

// objectTasks are free. Their Decode and Encode are made once.
var objectTasks = sync.Pool{New: func() any {
	t := new(objectTask)
	t.in.Decode, t.in.Encode = t.decode, t.encode
	return t
}}

// free ends the use of a task that has run, or is not to be run. One that did
// not return is left to the garbage collector: Abort needs it.
func (t *objectTask) free() {
	*t = objectTask{in: rpc.Incoming{Decode: t.in.Decode, Encode: t.in.Encode}}
	objectTasks.Put(t)
}

// object reads a request. It returns no task for what is not to be run; that
// may be the reply of a call of ours.
func (s *session) object(frame []byte) (*objectTask, stream.Frame) {
	t := objectTasks.Get().(*objectTask)
	t.session = s
	err := t.read(msgpack.NewReader(frame))
	switch {
	case err != nil:
		t.invalid = fmt.Sprintf("a request is a map: %v", err)
	case t.isResponse():
		id, ok := idOf(t.id)
		t.free()
		if !ok {
			return nil, stream.Frame{}
		}
		return nil, stream.Frame{Kind: stream.Reply, ID: id}
	default:
		if t.name, t.invalid = t.request(); t.invalid == "" {
			t.meta, t.invalid = t.readMembers()
		}
	}
	t.oneWay = t.id == nil && t.invalid == ""
	if t.oneWay && form.Reserved(t.name) {
		s.control(t)
		t.free()
		return nil, stream.Frame{}
	}
	s.start(t)
	if t.invalid == "" {
		t.entry, t.err = s.names.Lookup(t.name)
	}
	return t, stream.Frame{}
}

// control does what the notifications of the protocol itself ask for. Nobody
// waits for an answer to others of their names.
func (s *session) control(t *objectTask) {
	if string(t.name) != cancelName {
		return
	}
	if id, ok := memberOf(t.params, "id"); ok {
		s.flights.Cancel(rpc.Key{Text: id, IsSet: true})
	}
}

// start takes the request's id among those in flight. A request whose id is
// taken is refused, by an error with the id nil: a reply with the id belongs to
// the first.
func (s *session) start(t *objectTask) {
	key := rpc.Key{}
	if t.invalid == "" && !t.oneWay && typeOf(t.id) != msgpack.Nil {
		key = rpc.Key{Text: t.id, IsSet: true}
	}
	if t.ctx = s.flights.Start(key); t.ctx == nil {
		t.invalid = fmt.Sprintf("a request with the id %s is in flight already", shown(t.id))
		t.id = nil
		t.ctx = s.flights.Start(rpc.Key{})
	}
}

// end releases what object took.
func (t *objectTask) end() { t.session.flights.End(t.ctx) }

// readMembers reads meta and timeout_ms, which this wire adds to the
// specification. It returns what is wrong with them.
func (o *object) readMembers() (*meta, string) {
	if o.meta == nil && o.timeout == nil {
		return nil, ""
	}
	m := &meta{want: o.meta != nil}
	var err error
	if o.meta != nil {
		if m.header, err = readMD(msgpack.NewReader(o.meta)); err != nil {
			return nil, fmt.Sprintf("member %q: %v", metaMember, err)
		}
	}
	if o.timeout != nil {
		if err = m.member(msgpack.NewReader(o.timeout), timeoutMember); err != nil {
			return nil, fmt.Sprintf("member %q: %v", timeoutMember, err)
		}
	}
	return m, ""
}

// Pace is [stream.Task]'s.
func (t *objectTask) Pace() *stream.Pace {
	if t.entry == nil {
		return nil // nothing runs
	}
	return &t.entry.Pace
}

// Run is [stream.Task]'s.
func (t *objectTask) Run(dst []byte) []byte {
	dst = t.answer(dst)
	t.end()
	t.free()
	return dst
}

func (t *objectTask) answer(dst []byte) []byte {
	t.out, t.start = dst, len(dst)
	if t.invalid != "" {
		return appendFailure(dst, t.id, code.InvalidRequest, t.invalid)
	}
	if t.err != nil {
		return t.fail(status.Convert(t.err))
	}
	t.in.Method, t.in.Peer, t.in.Size = t.entry.Form.Method, t.session.conn.Peer(), len(t.params)
	if t.meta != nil {
		t.in.Metadata, t.in.Timeout = t.meta.header, t.meta.timeout
	}
	out := t.session.cfg.Unary(t.ctx, &t.in)
	if out.Status.Code() != codes.OK {
		t.fail(out.Status)
	} else if !t.oneWay {
		t.out = appendReplyID(t.out, t.id)
	}
	if t.meta != nil && t.meta.want && !t.oneWay {
		t.appendMeta(out.Header, out.Trailer)
	}
	return t.out
}

func (t *objectTask) decode(v any) error {
	return decodeParams((*binForm)(t.entry.Form), t.params, v)
}

func (t *objectTask) encode(v any) (int, error) {
	if t.oneWay {
		return 0, nil
	}
	t.out = append(t.out, resultHead...)
	result := len(t.out)
	var err error
	if t.out, err = codec.Append(t.out, v); err != nil {
		return 0, err
	}
	if t.entry.Short {
		t.out = (*binForm)(t.entry.Form).bare(t.out, result)
	}
	return len(t.out) - result, nil
}

// fail makes the reply an error, whatever it was before.
func (t *objectTask) fail(s *status.Status) []byte {
	t.out = t.out[:t.start]
	if t.oneWay {
		t.session.logger.Debug("a one-way call failed", "error", s.Err())
		return t.out
	}
	t.out = appendStatus(t.out, t.id, s)
	if n, most := len(t.out)-t.start, t.session.max; n > most {
		tooLarge := status.Newf(codes.ResourceExhausted, "error %s of %d bytes is larger than the limit of %d", code.Name(s.Code()), n, most)
		t.out = appendStatus(t.out[:t.start], t.id, tooLarge)
	}
	return t.out
}

// appendMeta adds a member to the reply if there is something to tell.
func (t *objectTask) appendMeta(header, trailer metadata.MD) {
	members := 0
	for _, md := range []metadata.MD{header, trailer} {
		if len(md) > 0 {
			members++
		}
	}
	if members == 0 {
		return
	}
	t.out = appendMember(t.out, t.start, metaMember)
	t.out = msgpack.AppendMapHeader(t.out, members)
	t.out = appendMD(t.out, "header", header)
	t.out = appendMD(t.out, "trailer", trailer)
}

// Abort is [stream.Task]'s.
func (t *objectTask) Abort(dst []byte) []byte {
	defer t.end()
	if t.oneWay {
		return dst
	}
	return appendStatus(dst, t.id, rpc.DidNotReturn)
}

// Refuse is [stream.Task]'s.
func (t *objectTask) Refuse(why error, dst []byte) []byte {
	defer t.end()
	if t.oneWay {
		return dst
	}
	return appendStatus(dst, t.id, status.Convert(why))
}
