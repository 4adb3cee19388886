package msgpackrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// A service is what all connections of a server share.
type service struct {
	cfg    *rpc.ServerConfig
	logger *slog.Logger
	short  map[string]*everywire.Method // by their short names
}

// NewServer makes a server of this wire.
func NewServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	s := &service{cfg: cfg, logger: cfg.Logger, short: map[string]*everywire.Method{}}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	for _, m := range cfg.Registry.Methods() {
		if m.JSONRPC == nil || m.JSONRPC.Name == "" {
			continue
		}
		if other, ok := s.short[m.JSONRPC.Name]; ok {
			return nil, fmt.Errorf("the methods %s and %s have the same short name %s", other.FullName(), m.FullName(), m.JSONRPC.Name)
		}
		s.short[m.JSONRPC.Name] = m
	}
	maxFrame := stream.MaxFrame(cfg.Limits.MaxMessage, cfg.Limits)
	return stream.NewServer(stream.ServerConfig{
		Open: func(c *stream.ServerConn) stream.ServerSession {
			return &session{service: s, conn: c, framer: framer{max: maxFrame}, calls: map[uint32]*task{}}
		},
		MaxFrame:    maxFrame,
		MaxInFlight: cfg.Limits.MaxInFlight,
		TLS:         cfg.TLS,
		Logger:      s.logger,
	}), nil
}

func (s *service) lookup(name string) (*everywire.Method, error) {
	if m, ok := s.short[name]; ok {
		return m, nil
	}
	return s.cfg.Lookup("/" + name)
}

// A session is the state of one connection.
type session struct {
	framer
	*service
	conn *stream.ServerConn
	meta *meta // of the message that must come next; Receive's only

	mu    sync.Mutex
	calls map[uint32]*task // in flight, by message id
}

// Receive is [stream.ServerSession]'s.
func (s *session) Receive(frame []byte) (stream.Task, error) {
	e, err := open(frame)
	if err != nil {
		return nil, err
	}
	m := s.meta
	s.meta = nil
	if m != nil && (m.noID != (e.kind == typeNotification) || !m.noID && m.id != e.id || e.kind == typeResponse) {
		return nil, fmt.Errorf("%s is not followed by its message", metaName)
	}
	switch e.kind {
	case typeRequest:
		return s.request(e, m), nil
	case typeNotification:
		return s.notification(e, m)
	}
	return nil, nil //nolint:nilnil // a response: we have asked nothing, and there is nothing to run
}

func (s *session) request(e envelope, m *meta) stream.Task {
	t := &task{session: s, id: e.id, meta: m}
	t.ctx, t.cancel = context.WithCancel(s.conn.Context())
	name, err := e.r.Str()
	if err != nil {
		t.err = status.Errorf(codes.InvalidArgument, "the method of a request is its name: %v", err)
	} else {
		t.resolve(string(name), e.r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, used := s.calls[t.id]; used {
		t.err = status.Errorf(codes.InvalidArgument, "a request with the message id %d is in flight already", t.id)
		t.second = true
		return t
	}
	s.calls[t.id] = t
	return t
}

func (s *session) notification(e envelope, m *meta) (stream.Task, error) {
	name, err := e.r.Str()
	if err != nil {
		return nil, fmt.Errorf("the method of a notification is its name: %w", err)
	}
	switch string(name) {
	case metaName:
		if m != nil {
			return nil, fmt.Errorf("%s is not followed by its message", metaName)
		}
		s.meta, err = readMeta(e.r)
		return nil, err
	case cancelName:
		return nil, s.cancelCall(e.r)
	}
	t := &task{session: s, meta: m, oneWay: true}
	t.ctx, t.cancel = context.WithCancel(s.conn.Context())
	t.resolve(string(name), e.r)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.calls[id]; ok {
		t.canceled = true
		t.cancel()
	}
	return nil
}

// LastWords is [stream.ServerSession]'s: a request that is too long is
// answered, if its id has arrived.
func (s *session) LastWords(head []byte, err error, dst []byte) []byte {
	var long *stream.TooLargeError
	if !errors.As(err, &long) {
		return dst
	}
	e, err := open(head)
	if err != nil || e.kind != typeRequest {
		return dst
	}
	return appendError(dst, e.id, status.Newf(codes.ResourceExhausted, "received a request larger than max (%d)", s.cfg.Limits.MaxMessage))
}

// end takes a request out of those in flight. It reports whether the client
// has cancelled it.
func (s *session) end(t *task) (canceled bool) {
	t.cancel()
	if t.oneWay || t.second {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[t.id] == t { // else it has ended already
		delete(s.calls, t.id)
	}
	return t.canceled
}
