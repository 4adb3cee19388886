package msgpackrpc

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// A service is what all connections of a server share.
type service struct {
	cfg    *rpc.ServerConfig
	logger *slog.Logger
	names  *form.Names
}

func newService(cfg *rpc.ServerConfig) (*service, error) {
	names, err := form.NewNames(cfg)
	if err != nil {
		return nil, err
	}
	s := &service{cfg: cfg, logger: cfg.Logger, names: names}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	return s, nil
}

// NewServer makes a server of this wire.
func NewServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	s, err := newService(cfg)
	if err != nil {
		return nil, err
	}
	engine, err := stream.ServerConfigOf(cfg)
	if err != nil {
		return nil, err
	}
	engine.Logger = s.logger
	engine.Open = func(c *stream.Conn) stream.Session { return s.newSession(c, engine.MaxFrame) }
	return stream.NewServer(engine), nil
}

// newSession is the end of a connection that offers the methods of s.
func (s *service) newSession(c *stream.Conn, maxFrame int) *session {
	ss := &session{service: s, conn: c, framer: framer{max: maxFrame}, slots: make(chan struct{}, max(1, s.cfg.Limits.MaxInFlight))}
	back := func() grpc.ClientConnInterface { return s.back(c, ss.maps.Load()) }
	ss.flights = rpc.NewFlights(c.Context(), back)
	return ss
}

// back makes what handlers call the other end with: in maps, with metadata, if
// that is how it calls, else in arrays.
func (s *service) back(c *stream.Conn, maps bool) *conn {
	return &conn{
		cfg:    &rpc.ClientConfig{Target: "the client of " + wireName, Limits: s.cfg.Limits, TLS: s.cfg.TLS},
		engine: c, maps: maps, meta: maps,
	}
}

// lookup finds the method of a request of the specification, by its full or its
// short name. The names that JSON-RPC reserves are not reserved there.
func (s *service) lookup(name []byte) (*form.Entry, error) {
	e, err := s.names.Lookup(name)
	if err != nil && form.Reserved(name) {
		return s.names.Lookup(append([]byte("/"), name...))
	}
	return e, err
}

// A session is the state of one connection.
type session struct {
	framer
	*service
	conn  *stream.Conn
	meta  *meta         // of the message that must come next; Receive's only
	slots chan struct{} // taken by the elements of batches

	flights *rpc.Flights // the specification's calls by number, those of JSON-RPC by their ids as written
	maps    atomic.Bool  // the peer has sent maps
}

// Receive is [stream.Session]'s.
func (s *session) Receive(frame []byte) (stream.Frame, error) {
	if isObject(frame) || isBatch(frame) {
		return s.receiveJSONRPC(frame)
	}
	e, err := open(frame)
	if err != nil {
		return stream.Frame{}, err
	}
	m := s.meta
	s.meta = nil
	if m != nil && (m.noID != (e.kind == typeNotification) || !m.noID && m.id != e.id || e.kind == typeResponse) {
		return stream.Frame{}, fmt.Errorf("%s is not followed by its message", metaName)
	}
	switch e.kind {
	case typeRequest:
		return stream.Frame{Kind: stream.Request, Task: s.request(&e, m)}, nil
	case typeNotification:
		t, err := s.notification(&e, m)
		if t == nil {
			return stream.Frame{}, err
		}
		return stream.Frame{Kind: stream.Request, Task: t}, err
	}
	return stream.Frame{Kind: stream.Reply, ID: e.id}, nil
}

// receiveJSONRPC is Receive for messages of JSON-RPC.
func (s *session) receiveJSONRPC(frame []byte) (stream.Frame, error) {
	if s.meta != nil {
		return stream.Frame{}, fmt.Errorf("%s is not followed by its message", metaName)
	}
	if !s.maps.Load() {
		s.maps.Store(true)
	}
	if isObject(frame) {
		t, reply := s.object(frame)
		if t != nil {
			return stream.Frame{Kind: stream.Request, Task: t}, nil
		}
		return reply, nil
	} else if t := s.batch(frame); t != nil {
		return stream.Frame{Kind: stream.Request, Task: t}, nil
	}
	return stream.Frame{}, nil
}

// RouteTooLong is [stream.Session]'s.
func (s *session) RouteTooLong(head []byte) (uint32, bool) { return replyTooLong(head) }

func (s *session) request(e *envelope, m *meta) *task {
	t := s.newTask()
	t.id, t.meta = e.id, m
	name, err := e.r.Str()
	if err != nil {
		t.err = status.Errorf(codes.InvalidArgument, "the method of a request is its name: %v", err)
	} else {
		t.resolve(name, &e.r)
	}
	if t.ctx = s.flights.Start(rpc.Key{Number: uint64(t.id), IsSet: true}); t.ctx == nil {
		t.err = status.Errorf(codes.InvalidArgument, "a request with the message id %d is in flight already", t.id)
		t.ctx = s.flights.Start(rpc.Key{})
	}
	return t
}

func (s *session) notification(e *envelope, m *meta) (*task, error) {
	name, err := e.r.Str()
	if err != nil {
		return nil, fmt.Errorf("the method of a notification is its name: %w", err)
	}
	switch string(name) {
	case metaName:
		if m != nil {
			return nil, fmt.Errorf("%s is not followed by its message", metaName)
		}
		s.meta, err = readMeta(&e.r)
		return nil, err
	case cancelName:
		return nil, s.cancelCall(&e.r)
	}
	t := s.newTask()
	t.meta, t.oneWay = m, true
	t.ctx = s.flights.Start(rpc.Key{})
	t.resolve(name, &e.r)
	return t, nil
}

func (s *session) cancelCall(r *msgpack.Reader) error {
	if n, err := r.ArrayHeader(); err != nil || n != 1 {
		return fmt.Errorf("params of %s is an array of one message id", cancelName)
	}
	id, err := readID(r)
	if err != nil {
		return err
	}
	s.flights.Cancel(rpc.Key{Number: uint64(id), IsSet: true})
	return nil
}

// LastWords is [stream.Session]'s: a request that is too long is
// answered, if its id has arrived.
func (s *session) LastWords(head []byte, err error, dst []byte) []byte {
	var long *stream.TooLargeError
	if !errors.As(err, &long) {
		return dst
	}
	if isObject(head) || isBatch(head) {
		var o object
		if isObject(head) {
			_ = o.read(msgpack.NewReader(head)) // up to where it is cut off
		}
		refusal := status.Newf(codes.ResourceExhausted, "the request is longer than the limit of %d bytes", long.Limit)
		if _, known := idOf(o.id); known { // an error without an id ends the connection anyway
			refusal = rpc.Parting(refusal)
		}
		return appendStatus(dst, o.id, refusal)
	}
	e, err := open(head)
	if err != nil || e.kind != typeRequest {
		return dst
	}
	return appendError(dst, e.id, rpc.Parting(status.Newf(codes.ResourceExhausted, "received a request larger than max (%d)", s.cfg.Limits.MaxMessage)))
}
