package msgpackrpc

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// A conn is a client's connection.
type conn struct {
	cfg    *rpc.ClientConfig
	engine stream.Caller
	client *stream.Client // nil for calls of a server to its client
	meta   bool           // the server understands rpc.meta and $/cancelRequest
	maps   bool           // calls are maps of JSON-RPC
	forms  form.Called
}

// NewConn makes a client's connection; it dials when a call needs it. The
// option meta ("on" or "off") says whether metadata, deadlines and
// cancellations are sent; without it they are Unimplemented or stay local. The
// option envelope ("array" or "map") chooses between the specification's arrays
// and maps of JSON-RPC 2.0, for which meta is on if not said otherwise.
func NewConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	c := &conn{cfg: cfg}
	switch v := cfg.Options["envelope"]; v {
	case "map":
		c.maps = true
	case "", "array":
	default:
		return nil, fmt.Errorf("option envelope=%s: want array or map", v)
	}
	switch v := cfg.Options["meta"]; v {
	case "on":
		c.meta = true
	case "":
		c.meta = c.maps // maps have room for it
	case "off":
	default:
		return nil, fmt.Errorf("option meta=%s: want on or off", v)
	}
	engine, err := stream.ClientConfigOf(cfg)
	if err != nil {
		return nil, err
	}
	registry := cfg.Offers
	if registry == nil {
		registry = everywire.NewRegistry() // a server that calls is told so, and does not wait
	}
	offers, err := newService(&rpc.ServerConfig{Registry: registry, Limits: cfg.Limits, Stats: cfg.Stats, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	engine.Open = func(sc *stream.Conn) stream.Session {
		return &clientSession{framer{max: math.MaxInt}, offers.newSession(sc, engine.MaxFrame)}
	}
	c.client = stream.NewClient(engine)
	c.engine = c.client
	return c, nil
}

func (c *conn) Close() error {
	if c.client == nil {
		return nil // the connection is the other end's to close
	}
	return c.client.Close()
}

// NewStream fails: this wire has no streams yet.
func (c *conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, rpc.NoStreams(wireName)
}

// Invoke runs one unary or one-way call.
func (c *conn) Invoke(ctx context.Context, path string, args, reply any, opts ...grpc.CallOption) error {
	return c.cfg.Invoke(ctx, path, args, reply, opts, func(ctx context.Context, call *rpc.Outgoing) error {
		if err := c.check(call); err != nil {
			return err
		}
		x := exchanges.Get().(*exchange)
		x.conn, x.ctx, x.call, x.args, x.reply = c, ctx, call, args, reply
		err := call.Reach(ctx, x.reach)
		*x = exchange{reach: x.reach}
		exchanges.Put(x)
		return err
	})
}

// check refuses what needs rpc.meta if the server has not been said to
// understand it.
func (c *conn) check(call *rpc.Outgoing) error {
	switch {
	case c.meta:
		return nil
	case call.HasMetadata():
		return status.Error(codes.Unimplemented, "MessagePack-RPC carries no metadata; a server made with everywire takes it with the target's option meta=on")
	case call.WantMeta:
		return status.Error(codes.Unimplemented, "MessagePack-RPC carries no headers and trailers; a server made with everywire sends them with the target's option meta=on")
	}
	return nil
}

// An exchange is one call.
type exchange struct {
	conn        *conn
	ctx         context.Context //nolint:containedctx // of the call that this is
	call        *rpc.Outgoing
	args, reply any
	reach       func() error // try
}

// exchanges are free. Their reach is made once.
var exchanges = sync.Pool{New: func() any {
	x := new(exchange)
	x.reach = x.try
	return x
}}

// try sends the call and waits for its reply.
func (x *exchange) try() (err error) {
	var p *peer.Peer
	if x.call.OneWay {
		p, err = x.conn.engine.Send(x.ctx, x.appendNotification)
	} else {
		p, err = x.conn.engine.Do(x.ctx, x)
	}
	if p != nil {
		x.call.Peer = p
	}
	return err
}

// Append is [stream.Exchange]'s.
func (x *exchange) Append(dst []byte, id uint32) ([]byte, error) {
	if x.conn.maps {
		return x.appendObject(dst, id, true)
	}
	f, err := x.formOf()
	if err != nil {
		return dst, err
	}
	dst = x.appendMeta(dst, meta{id: id})
	return x.appendParams(appendRequest(dst, id, x.name(f)), f)
}

func (x *exchange) appendNotification(dst []byte) ([]byte, error) {
	if x.conn.maps {
		return x.appendObject(dst, 0, false)
	}
	f, err := x.formOf()
	if err != nil {
		return dst, err
	}
	dst = x.appendMeta(dst, meta{noID: true})
	return x.appendParams(appendNotification(dst, x.name(f)), f)
}

func (x *exchange) method() string { return strings.TrimPrefix(x.call.Path, "/") }

// name is the method's name in a call of the form f.
func (x *exchange) name(f *binForm) string {
	if f == fullForm {
		return x.method()
	}
	return f.Name
}

func (x *exchange) appendMeta(dst []byte, m meta) []byte {
	if !x.conn.meta {
		return dst
	}
	m.header, m.want = x.call.Metadata, x.call.WantMeta
	if deadline, ok := x.ctx.Deadline(); ok {
		m.timeout = max(time.Until(deadline), 1)
	}
	if len(m.header) == 0 && !m.want && m.timeout == 0 {
		return dst
	}
	return m.append(dst)
}

// appendParams appends params, which are an array: the message as its one
// element, or by the short name what the method declares.
func (x *exchange) appendParams(dst []byte, f *binForm) ([]byte, error) {
	start := len(dst)
	if f == fullForm {
		dst = msgpack.AppendArrayHeader(dst, 1)
		start = len(dst)
	} else if m, err := schema.For(x.args); err == nil && m.IsObject() && !m.HasFields() {
		// Neovim, for one, refuses a param for a method that takes none.
		return msgpack.AppendArrayHeader(dst, 0), x.call.Sent(0)
	}
	dst, err := codec.Append(dst, x.args)
	if err != nil {
		return dst, status.Errorf(codes.Internal, "request of %s: %v", x.method(), err)
	}
	switch {
	case f == fullForm:
	case f.Params == everywire.ParamsNamed:
		dst = inArray(dst, start)
	default:
		dst = f.shorten(dst, start)
	}
	return dst, x.call.Sent(len(dst) - start)
}

// AppendCancel is [stream.Exchange]'s.
func (x *exchange) AppendCancel(dst []byte, id uint32) []byte {
	switch {
	case !x.conn.meta:
		return dst
	case x.conn.maps:
		return appendCancelObject(dst, id)
	}
	return appendCancel(dst, id)
}

// MaxFrame is [stream.Exchange]'s.
func (x *exchange) MaxFrame() int { return stream.MaxFrame(x.call.MaxReceive(), x.conn.cfg.Limits) }

// MayRepeat is [stream.Exchange]'s.
func (x *exchange) MayRepeat() bool { return x.call.MayRepeat() }

// Read reads the response and the rpc.meta notification before it, if any.
func (x *exchange) Read(reply []byte) error {
	if isObject(reply) {
		return x.readObject(reply)
	}
	for {
		r := msgpack.NewReader(reply)
		frame, err := r.Raw()
		if err != nil {
			return status.Errorf(codes.Internal, "reply of %s: %v", x.method(), err)
		}
		e, err := open(frame)
		if err != nil {
			return status.Errorf(codes.Internal, "reply of %s: %v", x.method(), err)
		}
		if e.kind == typeResponse {
			return x.readResponse(&e.r)
		}
		if err := x.readMeta(&e.r); err != nil {
			return status.Errorf(codes.Internal, "reply of %s: %v", x.method(), err)
		}
		reply = reply[r.Pos():]
	}
}

func (x *exchange) readMeta(r *msgpack.Reader) error {
	if _, err := r.Str(); err != nil { // Route has read the name
		return err
	}
	m, err := readMeta(r)
	if err == nil && x.call.WantMeta {
		x.call.Header, x.call.Trailer = m.header, m.trailer
	}
	return err
}

func (x *exchange) readResponse(r *msgpack.Reader) error {
	failure, err := r.Raw()
	if err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", x.method(), err)
	}
	if typ, _ := msgpack.NewReader(failure).Type(); typ != msgpack.Nil {
		return statusOf(failure).Err()
	}
	result, err := r.Raw()
	if err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", x.method(), err)
	}
	return x.readResult(result)
}

// readResult reads the result of a call that succeeded.
func (x *exchange) readResult(result []byte) error {
	size := len(result)
	if err := x.call.CheckReceived(size); err != nil {
		return err
	}
	f, err := x.formOf()
	if err != nil {
		return err
	}
	switch {
	case f.Result.Key != "":
		result = f.reply(result)
	case typeOf(result) == msgpack.Nil && isObjectMessage(x.reply):
		result = []byte(emptyMap) // how other servers say that there is nothing to say
	}
	if err := codec.Decode(result, x.reply); err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", x.method(), err)
	}
	x.call.Received(size)
	return nil
}

// A clientSession is the state of one connection.
type clientSession struct {
	framer
	offers *session // for what the server calls
}

// Receive is [stream.Session]'s.
func (s *clientSession) Receive(frame []byte) (stream.Frame, error) {
	if isObject(frame) {
		id, kind, last, err := replyID(frame)
		switch {
		case err != nil:
			return stream.Frame{}, err
		case kind == noReply:
			return s.offers.Receive(frame)
		case kind == ours:
			return stream.Frame{Kind: stream.Reply, ID: id, Last: last}, nil
		}
		return stream.Frame{}, nil
	}
	e, err := open(frame)
	if err != nil {
		if isBatch(frame) {
			return s.offers.Receive(frame)
		}
		return stream.Frame{}, err
	}
	switch e.kind {
	case typeResponse:
		return stream.Frame{Kind: stream.Reply, ID: e.id, Last: isLast(e.r)}, nil
	case typeNotification:
		r := e.r
		if name, err := r.Str(); err != nil || string(name) != metaName {
			return s.offers.Receive(frame)
		}
		if n, err := r.ArrayHeader(); err != nil || n != 2 {
			return stream.Frame{}, fmt.Errorf("params of %s is an array of 2", metaName)
		}
		id, err := readID(&r)
		return stream.Frame{Kind: stream.Part, ID: id}, err
	}
	return s.offers.Receive(frame)
}

// isLast reports whether a response, read up to its error, is the last of its
// connection.
func isLast(r msgpack.Reader) bool {
	failure, err := r.Raw()
	return err == nil && rpc.MayPart(failure) && rpc.IsParting(statusOf(failure))
}

// LastWords is [stream.Session]'s; a client has none.
func (s *clientSession) LastWords(_ []byte, _ error, dst []byte) []byte { return dst }

// RouteTooLong is [stream.Session]'s.
func (s *clientSession) RouteTooLong(head []byte) (id uint32, ok bool) { return replyTooLong(head) }

// replyTooLong finds the id of a response of which only the head is there.
func replyTooLong(head []byte) (id uint32, ok bool) {
	if isObject(head) {
		var o object
		_ = o.read(msgpack.NewReader(head)) // up to where it is cut off
		return idOf(o.id)
	}
	e, err := open(head)
	return e.id, err == nil && e.kind == typeResponse
}
