package rest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// A connSet knows the open connections, so that Close can end calls in flight.
type connSet struct {
	dial   func(ctx context.Context, addr string) (net.Conn, error)
	closed atomic.Bool

	mu      sync.Mutex
	conns   map[*trackedConn]struct{}
	dialing map[*context.CancelFunc]struct{}
}

// dialAddr opens a connection and remembers it until it is closed.
func (s *connSet) dialAddr(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		return nil, net.ErrClosed
	}
	if s.dialing == nil {
		s.dialing = map[*context.CancelFunc]struct{}{}
		s.conns = map[*trackedConn]struct{}{}
	}
	s.dialing[&cancel] = struct{}{}
	s.mu.Unlock()

	raw, err := s.dial(ctx, addr)

	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.dialing, &cancel)
	switch {
	case err != nil:
		return nil, err
	case s.closed.Load():
		_ = raw.Close() // nobody has used it
		return nil, net.ErrClosed
	}
	t := &trackedConn{Conn: raw, set: s}
	s.conns[t] = struct{}{}
	return t, nil
}

func (s *connSet) close() {
	s.mu.Lock()
	s.closed.Store(true)
	conns := s.conns
	s.conns = nil
	for cancel := range s.dialing {
		(*cancel)()
	}
	s.mu.Unlock()
	for t := range conns {
		_ = t.Conn.Close() // the calls that use it learn of it
	}
}

type trackedConn struct {
	net.Conn
	set *connSet
}

func (t *trackedConn) Close() error {
	t.set.mu.Lock()
	delete(t.set.conns, t)
	t.set.mu.Unlock()
	return t.Conn.Close()
}
