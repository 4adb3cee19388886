package jsonrpc

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

type streamConn struct {
	*encoder
	framing framing
	engine  stream.Caller
	client  *stream.Client // nil for calls of a server to its client
	cancel  bool           // tell the other end about calls that nobody waits for
	meta    bool           // send metadata and deadlines
	quiet   bool           // but no deadlines, of which the caller may know nothing
}

// NewConn makes a client of JSON-RPC over byte streams.
func NewConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	framing, err := framingOf(cfg.Options, framingLine)
	if err != nil {
		return nil, err
	}
	return newStreamConn(cfg, framing, ALPN, func(*stream.ClientConfig) {})
}

// newStreamConn makes a client; adapt may change the engine's configuration.
func newStreamConn(cfg *rpc.ClientConfig, f framing, alpn string, adapt func(*stream.ClientConfig)) (rpc.Conn, error) {
	e, err := newEncoder(cfg)
	if err != nil {
		return nil, err
	}
	cancel, err := sendsCancel(cfg.Options, e.v1)
	if err != nil {
		return nil, err
	}
	meta, err := sendsMeta(cfg.Options)
	if err != nil {
		return nil, err
	}
	engine, err := stream.ClientConfigOf(cfg, alpn)
	if err != nil {
		return nil, err
	}
	registry := cfg.Offers
	if registry == nil {
		registry = everywire.NewRegistry() // a server that calls is told so, and does not wait
	}
	offers, err := newService(&rpc.ServerConfig{
		Registry: registry, Limits: cfg.Limits, Stats: cfg.Stats, Logger: cfg.Logger, Options: cfg.Options,
	})
	if err != nil {
		return nil, err
	}
	engine.Open = func(c *stream.Conn) stream.Session { return newClientSession(c, f, e, offers) }
	adapt(&engine)
	client := stream.NewClient(engine)
	return &streamConn{encoder: e, framing: f, cancel: cancel, meta: meta, engine: client, client: client}, nil
}

func (c *streamConn) Close() error {
	if c.client == nil {
		return nil // the connection is the other end's to close
	}
	return c.client.Close()
}

var errMetaOff = status.Error(codes.Unimplemented, "the target's option meta=off: headers and trailers are not sent")

func (c *streamConn) Invoke(ctx context.Context, path string, args, reply any, opts ...grpc.CallOption) error {
	return c.cfg.Invoke(ctx, path, args, reply, opts, func(ctx context.Context, call *rpc.Outgoing) error {
		if !c.meta && (call.HasMetadata() || call.WantMeta) {
			return errMetaOff
		}
		x := clientCalls.Get().(*clientCall)
		x.conn, x.ctx, x.call, x.args, x.reply = c, ctx, call, args, reply
		err := call.Reach(ctx, x.try)
		*x = clientCall{try: x.try}
		clientCalls.Put(x)
		return err
	})
}

// A clientCall is one call as the engine sees it. It is used again.
type clientCall struct {
	conn        *streamConn
	ctx         context.Context //nolint:containedctx // lives as long as the call
	call        *rpc.Outgoing
	args, reply any
	try         func() error // send, bound to the call once
}

var clientCalls = sync.Pool{New: func() any {
	x := new(clientCall)
	x.try = x.send
	return x
}}

func (x *clientCall) send() (err error) {
	if x.call.OneWay {
		x.call.Peer, err = x.conn.engine.Send(x.ctx, x.appendNotification)
	} else {
		x.call.Peer, err = x.conn.engine.Do(x.ctx, x)
	}
	return err
}

func (x *clientCall) Append(dst []byte, id uint32) ([]byte, error) {
	start := len(dst)
	dst, err := x.appendMembers(dst)
	if err != nil {
		return nil, err
	}
	return x.conn.framing.wrap(appendNumericID(dst, id), start), nil
}

func (x *clientCall) appendNotification(dst []byte) ([]byte, error) {
	start := len(dst)
	dst, err := x.appendMembers(dst)
	if err != nil {
		return nil, err
	}
	return x.conn.framing.wrap(x.conn.appendNoID(dst), start), nil
}

// appendMembers appends all of a request but its id and end.
func (x *clientCall) appendMembers(dst []byte) ([]byte, error) {
	dst, err := x.conn.appendRequest(dst, x.call, x.args)
	if err != nil {
		return nil, err
	}
	if !x.conn.meta {
		return dst, nil
	}
	if len(x.call.Metadata) > 0 || x.call.WantMeta {
		dst = append(dst, `,"meta":`...)
		dst = appendMeta(dst, x.call.Metadata)
	}
	if x.conn.quiet {
		return dst, nil
	}
	return appendTimeout(x.ctx, dst), nil
}

func (x *clientCall) AppendCancel(dst []byte, id uint32) []byte {
	if !x.conn.cancel {
		return dst
	}
	return appendCancel(dst, x.conn.framing, id)
}

func appendCancel(dst []byte, f framing, id uint32) []byte {
	start := len(dst)
	dst = append(dst, `{"jsonrpc":"2.0","method":"`+cancelMethod+`","params":{"id":`...)
	dst = strconv.AppendUint(dst, uint64(id), 10)
	return f.wrap(append(dst, "}}"...), start)
}

func (x *clientCall) Read(frame []byte) error {
	var r response
	if err := r.parse(frame); err != nil {
		return status.Errorf(codes.Internal, "the reply of %s is not JSON-RPC: %v: %s", x.call.Path[1:], err, excerpt(frame))
	}
	return x.conn.readReply(&r, x.call, x.reply)
}

func (x *clientCall) MaxFrame() int { return x.conn.maxReply(x.call) }

func (x *clientCall) MayRepeat() bool { return x.call.MayRepeat() }

// A clientSession is one connection.
type clientSession struct {
	deframer
	conn   *stream.Conn
	v1     bool
	offers *serverSession // for what the server calls
}

func newClientSession(c *stream.Conn, f framing, e *encoder, offers *service) *clientSession {
	s := &clientSession{deframer: newDeframer(f, 0), conn: c, v1: e.v1, offers: offers.newSession(c, f, e)}
	s.line.quick = validObject
	return s
}

// validObject is lineFramer.quick for peers whose messages are parsed later.
func validObject(buf []byte) int {
	s := scanner{data: buf}
	if _, err := s.value(); err != nil {
		return 0
	}
	return s.pos
}

// Receive finds the id of a reply. Replies to nobody are ignored. An error with
// a null id says that the server could not tell which request it is about; as no
// call can be left waiting for a reply that never comes, it ends the connection
// and all that is pending. Servers of version 1.0, such as Go's net/rpc/jsonrpc,
// answer notifications so; there it is ignored.
func (s *clientSession) Receive(frame []byte) (stream.Frame, error) {
	if id, ok := idAtEnd(frame); ok {
		return stream.Frame{Kind: stream.Reply, ID: id}, nil
	}
	if id, message, ok := quickMessage(frame); ok {
		s.deliver(messageMethod, &streamParams{id: id, message: message})
		return stream.Frame{}, nil
	}
	if len(frame) > 0 && frame[0] == '[' {
		return s.offers.Receive(frame)
	}
	var r response
	if err := r.parse(frame); err != nil {
		return s.judge(frame, err)
	}
	if id, ok := parseID(r.id); ok {
		return stream.Frame{Kind: stream.Reply, ID: id}, nil
	}
	if r.err != nil && (r.id == nil || string(r.id) == "null") && !s.v1 {
		return stream.Frame{}, statusOf(r.err).Err()
	}
	return stream.Frame{}, nil
}

// LastWords is [stream.Session]'s; a client has none.
func (s *clientSession) LastWords(_ []byte, _ error, dst []byte) []byte { return dst }

// judge says what to do about a frame that is no response: a notification may
// be for a stream, other requests are for the methods that this end offers, and
// other things end the connection.
func (s *clientSession) judge(frame []byte, err error) (stream.Frame, error) {
	var t text
	if t.parse(frame, grammar{maxBatch: 1, v1: s.v1}) != nil || t.requests[0].invalid != "" {
		return stream.Frame{}, err
	}
	r := &t.requests[0]
	if m := streamMethod(r.method); m != "" && r.notification() {
		s.notified(m, r)
		return stream.Frame{}, nil
	}
	return s.offers.Receive(frame)
}

// RouteTooLong is [stream.Session]'s.
func (s *clientSession) RouteTooLong(head []byte) (id uint32, ok bool) { return replyTooLong(head) }

// replyTooLong finds the id of a reply of which only the head is there, if the
// other end writes it before the result.
func replyTooLong(head []byte) (id uint32, ok bool) {
	start := bytes.IndexByte(head, '{') // behind a header, if there is one
	if start < 0 {
		return 0, false
	}
	sc := scanner{data: head[start:]}
	if sc.enter() != nil {
		return 0, false
	}
	for first := true; ; first = false {
		quoted, more, err := sc.member(first)
		if err != nil || !more {
			return id, ok
		}
		v, err := sc.value()
		if err != nil { // cut off
			return id, ok
		}
		if string(quoted) == `"id"` {
			id, ok = parseID(v)
		}
	}
}

// idAtEnd is the quick way for servers that begin a reply as ours do and write
// the id last. What ends so has the member in its outermost object, or is no
// JSON; which of these, Read finds out.
func idAtEnd(frame []byte) (uint32, bool) {
	if !bytes.HasPrefix(frame, []byte(replyHead)) && !bytes.HasPrefix(frame, []byte(errorHead)) {
		return 0, false
	}
	const before = `,"id":`
	end := len(frame) - 1
	start := end
	for start > 0 && isDigit(frame[start-1]) {
		start--
	}
	if end < 0 || frame[end] != '}' || !bytes.HasSuffix(frame[:start], []byte(before)) {
		return 0, false
	}
	return parseID(frame[start:end])
}

// parseID reads an id as this client writes it.
func parseID(raw []byte) (uint32, bool) {
	n, err := strconv.ParseUint(string(raw), 10, 32)
	return uint32(n), err == nil && (len(raw) == 1 || raw[0] != '0')
}
