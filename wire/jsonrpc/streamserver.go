package jsonrpc

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// cancelMethod is the notification that ends a request in flight.
const cancelMethod = "$/cancelRequest"

// ALPN is what TLS negotiates on streams (RFC 7301).
const ALPN = "jsonrpc"

// NewServer makes a server of JSON-RPC over byte streams.
func NewServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	framing, err := framingOf(cfg.Options, framingDetect)
	if err != nil {
		return nil, err
	}
	engine, _, err := streamServerConfig(cfg, framing, ALPN)
	if err != nil {
		return nil, err
	}
	return &streamServer{stream.NewServer(engine)}, nil
}

// streamServerConfig makes the configuration of an engine that serves what cfg
// has.
func streamServerConfig(cfg *rpc.ServerConfig, f framing, alpn ...string) (stream.ServerConfig, *service, error) {
	engine, err := stream.ServerConfigOf(cfg, alpn...)
	if err != nil {
		return engine, nil, err
	}
	s, err := newService(cfg)
	if err != nil {
		return engine, nil, err
	}
	back, err := newEncoder(&rpc.ClientConfig{
		Target: "the client of " + wireName, Limits: cfg.Limits, TLS: cfg.TLS, Options: cfg.Options,
	})
	if err != nil {
		return engine, nil, err
	}
	engine.Open = func(c *stream.Conn) stream.Session { return s.newSession(c, f, back) }
	return engine, s, nil
}

// newSession is the end of a connection that offers the methods of s. Handlers
// call the other end with what back encodes.
func (s *service) newSession(c *stream.Conn, f framing, back *encoder) *serverSession {
	session := &serverSession{
		deframer: newDeframer(f, s.maxText()), service: s, conn: c,
		who: caller{peer: c.Peer()}, slots: make(chan struct{}, max(1, s.cfg.Limits.MaxInFlight)),
	}
	session.ids = rpc.NewFlights(c.Context(), func() grpc.ClientConnInterface {
		// By now the framing and the version are known, which the other end chooses.
		v1 := session.v1.Load()
		return &streamConn{
			encoder: back.speaking(v1), framing: session.framing, engine: c, cancel: !v1,
			meta: true, quiet: !session.extended.Load(),
		}
	})
	session.line.quick = session.readAhead
	return session
}

type streamServer struct{ engine *stream.Server }

func (s *streamServer) Serve(lis net.Listener) error       { return s.engine.Serve(lis) }
func (s *streamServer) Shutdown(ctx context.Context) error { return s.engine.Shutdown(ctx) }

// A serverSession is one connection.
type serverSession struct {
	deframer
	service *service
	conn    *stream.Conn
	who     caller
	ids     *rpc.Flights
	// extended is set if the other end has sent a member that this wire adds to
	// the specification: it understands them.
	extended atomic.Bool
	streams  openStreams
	v1       atomic.Bool   // the other end has sent a request of JSON-RPC 1.0
	slots    chan struct{} // taken by the elements of batches
	ahead    readAhead
}

// A readAhead is a request that the framer has read whole, so that its bytes
// are looked at once.
type readAhead struct {
	frame   []byte
	request request
}

// readAhead is lineFramer.quick.
func (s *serverSession) readAhead(buf []byte) int {
	sc := scanner{data: buf}
	if s.ahead.request.parse(&sc, s.service.grammar.v1) != nil {
		s.ahead = readAhead{}
		return 0
	}
	s.ahead.frame = buf[:sc.pos]
	return sc.pos
}

// parse reads a frame into t, or takes what readAhead has read of it.
func (s *serverSession) parse(t *text, frame []byte) error {
	if ahead := s.ahead.frame; len(ahead) > 0 {
		same := len(ahead) == len(frame) && &ahead[0] == &frame[0]
		if same {
			t.batch = false
			t.requests = append(t.requests[:0], s.ahead.request)
		}
		s.ahead = readAhead{} // it would keep the engine's buffer
		if same {
			return nil
		}
	}
	return t.parse(frame, s.service.grammar)
}

// Receive reads a frame here, before those behind it, so that a cancellation
// finds the request that came before it.
func (s *serverSession) Receive(frame []byte) (stream.Frame, error) {
	if id, ok := idAtEnd(frame); ok {
		s.ahead = readAhead{} // all of it: the next request is read into it
		return stream.Frame{Kind: stream.Reply, ID: id}, nil
	}
	t := tasks.Get().(*task)
	t.session = s
	t.err = s.parse(&t.text, frame)
	if t.err != nil {
		return stream.Frame{Kind: stream.Request, Task: t}, nil //nolint:nilerr // the task answers it
	}
	requests := t.text.requests
	if !t.text.batch && requests[0].response {
		id, ok := parseID(requests[0].id)
		t.free()
		return replyTo(id, ok), nil
	}
	if !t.text.batch && requests[0].opensStream() {
		opened := s.openStream(&requests[0])
		t.free()
		return stream.Frame{Kind: stream.Request, Task: opened, Lasts: true}, nil
	}
	if len(requests) > 0 && requests[0].v1 && !s.v1.Load() {
		s.v1.Store(true)
	}
	kept := 0
	for i := range requests {
		r := &requests[i]
		if s.control(r) {
			continue
		}
		if kept != i {
			requests[kept] = *r
			r = &requests[kept]
		}
		kept++
		if (r.meta != nil || r.timeout != nil) && !s.extended.Load() {
			s.extended.Store(true)
		}
		s.service.resolve(r)
		t.ctxs = append(t.ctxs, start(s.ids, r))
	}
	t.text.requests = requests[:kept]
	if kept == 0 && len(requests) > 0 {
		t.free()
		return stream.Frame{}, nil
	}
	return stream.Frame{Kind: stream.Request, Task: t}, nil
}

// replyTo is the frame of a reply, if it has an id of ours. One that has not is
// not answered: two ends that answer each other's mistakes never come to rest.
func replyTo(id uint32, ok bool) stream.Frame {
	if !ok {
		return stream.Frame{}
	}
	return stream.Frame{Kind: stream.Reply, ID: id}
}

// RouteTooLong is [stream.Session]'s.
func (s *serverSession) RouteTooLong(head []byte) (uint32, bool) { return replyTooLong(head) }

// control does what the notifications of the protocol itself ask for, and
// reports whether r was one. Those that it does not know are none of ours, and
// nobody waits for an answer.
func (s *serverSession) control(r *request) bool {
	if r.invalid != "" || !r.notification() || !form.Reserved(r.method) {
		return false
	}
	switch m := streamMethod(r.method); {
	case r.params == nil || r.params[0] != '{':
	case m != "":
		s.streams.notified(m, r)
	case string(r.method) == cancelMethod:
		if id, ok := memberOf(r.params, "id"); ok {
			s.ids.Cancel(keyOf(id))
		}
	}
	return true
}

// LastWords tells a peer why it is cut off, if it speaks JSON-RPC at all.
func (s *serverSession) LastWords(_ []byte, err error, dst []byte) []byte {
	if long, ok := err.(*stream.TooLargeError); ok { //nolint:errorlint // as the engine's contract says
		start := len(dst)
		dst = s.service.nobody.appendFailure(dst, code.JSONRPC(codes.ResourceExhausted),
			fmt.Sprintf("the request is longer than the limit of %d bytes", long.Limit))
		dst = s.framing.wrap(dst, start)
	}
	return dst
}

// A task is one frame being answered.
type task struct {
	session *serverSession
	text    text
	err     error
	ctxs    []*rpc.CallContext // of the requests, made in order of arrival
	refused error              // why nothing is to run
}

var tasks = sync.Pool{New: func() any { return new(task) }}

func (t *task) free() {
	if cap(t.text.requests) > 16 {
		return
	}
	clear(t.text.requests[:cap(t.text.requests)])
	clear(t.ctxs)
	*t = task{text: text{requests: t.text.requests[:0]}, ctxs: t.ctxs[:0]}
	tasks.Put(t)
}

// Pace is [stream.Task]'s. A batch runs on goroutines anyway.
func (t *task) Pace() *stream.Pace {
	if t.err != nil || t.text.batch {
		return nil
	}
	r := &t.text.requests[0]
	if r.entry == nil {
		return nil // nothing runs
	}
	return &r.entry.Pace
}

// Run is [stream.Task]'s.
func (t *task) Run(dst []byte) []byte { return t.reply(dst) }

// Refuse answers without running anything.
func (t *task) Refuse(why error, dst []byte) []byte {
	t.refused = why
	return t.reply(dst)
}

// one answers one of the requests.
func (t *task) one(i int, dst []byte) []byte {
	r := &t.text.requests[i]
	defer t.session.ids.End(t.ctxs[i])
	switch {
	case t.refused == nil:
		dst, _ = t.session.service.answer(t.ctxs[i], &t.session.who, r, dst)
	case !r.notification():
		dst = r.appendStatus(dst, status.Convert(t.refused))
	}
	return dst
}

// Abort answers for a handler that did not return. Those of a batch have
// goroutines and answers of their own.
func (t *task) Abort(dst []byte) []byte {
	r := &t.session.service.nobody
	if t.err == nil && !t.text.batch && len(t.text.requests) == 1 {
		r = &t.text.requests[0]
	}
	if r.notification() {
		return dst
	}
	return t.session.framing.wrap(r.appendStatus(dst, rpc.DidNotReturn), len(dst))
}

func (t *task) reply(dst []byte) []byte {
	requests := t.text.requests
	start := len(dst)
	switch {
	case t.err != nil:
		dst = t.session.service.appendTextError(dst, t.err)
	case !t.text.batch:
		dst = t.one(0, dst)
	case len(requests) == 0:
		dst = t.session.service.nobody.appendFailure(dst, code.InvalidRequest, emptyBatch)
	default:
		dst = t.session.service.batch(requests, t.session.slots, dst, t.one)
	}
	if len(dst) > start {
		dst = t.session.framing.wrap(dst, start)
	}
	t.free() // not if a handler did not return: Abort needs it
	return dst
}
