package jsonrpc

import (
	"bytes"
	"math"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/stream"
)

// Streaming calls are an extension, which docs/spec/jsonrpc.md defines: a
// request with the member "stream" opens a stream, and its response ends it.
// Between them go these notifications, whose params name the stream by the id
// of that request. A peer that opens none never sees one.
const (
	streamPrefix  = "rpc.stream."
	messageMethod = streamPrefix + "message" // both ways
	creditMethod  = streamPrefix + "credit"  // both ways
	closeMethod   = streamPrefix + "close"   // by the client
	headerMethod  = streamPrefix + "header"  // by the server
)

// streamParams are the params of such a notification.
type streamParams struct {
	id      []byte // as written
	message []byte // nil if absent
	meta    []byte // nil if absent
	bytes   int    // 0 if absent
	// invalid is set if the stream that id names cannot go on after this.
	invalid bool
}

// readStreamParams reads params, which are known to be JSON. ok is false if
// they name no stream.
func readStreamParams(params []byte) (p streamParams, ok bool) {
	s := scanner{data: params}
	if s.peek() != '{' || s.enter() != nil {
		return p, false
	}
	for first := true; ; first = false {
		quoted, more, err := s.member(first)
		if err != nil || !more {
			return p, p.id != nil
		}
		v, err := s.value()
		if err != nil {
			return p, false
		}
		switch string(quoted) {
		case `"id"`:
			p.invalid = p.invalid || p.id != nil
			p.id = v
		case `"message"`:
			p.invalid = p.invalid || p.message != nil
			p.message = v
		case `"meta"`:
			p.meta = v
		case `"bytes"`:
			n, err := strconv.ParseUint(string(v), 10, 64)
			p.invalid = p.invalid || err != nil
			p.bytes = int(min(n, math.MaxInt32))
		}
	}
}

// streamMethod returns the name of a notification that belongs to a stream,
// "" for any other.
func streamMethod(name []byte) string {
	for _, m := range [...]string{messageMethod, creditMethod, closeMethod, headerMethod} {
		if string(name) == m {
			return m
		}
	}
	return ""
}

// quickMessage reads a message as this package writes it, in one pass. ok is
// false for all other frames.
func quickMessage(frame []byte) (id, message []byte, ok bool) {
	rest, ok := bytes.CutPrefix(frame, []byte(messageHead))
	if !ok {
		return nil, nil, false
	}
	n := 0
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	s := scanner{data: rest, pos: n + len(messageMember)}
	if n == 0 || !bytes.HasPrefix(rest[n:], []byte(messageMember)) {
		return nil, nil, false
	}
	message, err := s.value()
	return rest[:n], message, err == nil && string(rest[s.pos:]) == "}}"
}

const (
	messageHead   = `{"jsonrpc":"2.0","method":"` + messageMethod + `","params":{"id":`
	messageMember = `,"message":`
)

// A deliverer is a stream, or what stands for it.
type deliverer interface {
	Deliver(frame []byte, cost int)
	CloseReceive()
	Grant(n int)
	Fail(err error)
}

var _ deliverer = (*stream.Stream)(nil)

// deliver does what a notification of a stream says. Those that are not for
// this end are ignored.
func (p *streamParams) deliver(method string, to deliverer, client bool) {
	switch {
	case p.invalid, method == messageMethod && p.message == nil, method == creditMethod && p.bytes == 0:
		to.Fail(status.Errorf(codes.Internal, "the peer sent %s with params that it does not have", method))
	case method == messageMethod:
		to.Deliver(p.message, costOf(len(p.message)))
	case method == creditMethod:
		to.Grant(p.bytes)
	case method == closeMethod && !client:
		to.CloseReceive()
	case method == headerMethod && client:
		to.Deliver(append([]byte{headerMark}, p.meta...), costOf(len(p.meta)))
	}
}

// costOf is how much credit a text of n bytes takes. To keep one takes more
// than its bytes; without this a peer could have 65536 kept.
func costOf(n int) int { return n + 64 }

// headerMark is the first byte of what is delivered for a header: no JSON
// begins so.
const headerMark = 'h'

// streamFrames writes the notifications of one stream.
type streamFrames struct {
	framing framing
	id      []byte
}

func (f *streamFrames) head(dst []byte, method string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"`...)
	dst = append(dst, method...)
	dst = append(dst, `","params":{"id":`...)
	return append(dst, f.id...)
}

func (f *streamFrames) tail(dst []byte, start int) []byte {
	return f.framing.wrap(append(dst, "}}"...), start)
}

// message returns what appends a message for [stream.Stream.Send].
func (f *streamFrames) message(encode func([]byte) ([]byte, error)) func([]byte) ([]byte, int, error) {
	return func(dst []byte) ([]byte, int, error) {
		start := len(dst)
		dst = append(f.head(dst, messageMethod), messageMember...)
		from := len(dst)
		dst, err := encode(dst)
		if err != nil {
			return dst, 0, err
		}
		return f.tail(dst, start), costOf(len(dst) - from), nil
	}
}

func (f *streamFrames) credit(dst []byte, n int) []byte {
	start := len(dst)
	dst = append(f.head(dst, creditMethod), `,"bytes":`...)
	return f.tail(strconv.AppendInt(dst, int64(n), 10), start)
}

func (f *streamFrames) close(dst []byte) []byte {
	return f.tail(f.head(dst, closeMethod), len(dst))
}

// header returns what appends headers for [stream.Stream.Send].
func (f *streamFrames) header(md metadata.MD) func([]byte) ([]byte, int, error) {
	return func(dst []byte) ([]byte, int, error) {
		start := len(dst)
		dst = append(f.head(dst, headerMethod), `,"meta":`...)
		from := len(dst)
		dst = appendMeta(dst, md)
		return f.tail(dst, start), costOf(len(dst) - from), nil
	}
}

// streamCodec reads null as a message without fields, as in replies.
type streamCodec struct{ json.Codec }

func (c streamCodec) Decode(data []byte, msg any) error {
	if string(data) == "null" && isObject(msg) {
		data = emptyObject
	}
	return c.Codec.Decode(data, msg)
}
