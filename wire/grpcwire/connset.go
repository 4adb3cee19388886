package grpcwire

import (
	"net"
	"sync"
	"sync/atomic"
)

// A connSet knows the connections of a server. grpc-go's GracefulStop and Stop
// both wait for clients in their handshakes, for as long as these may take, and
// it does not know which clients have not even begun: a port scanner or a
// balancer's probe would hold up every shutdown.
type connSet struct {
	mu      sync.Mutex
	conns   map[*trackedConn]struct{}
	closing bool
}

// closeSilent closes the connections on which nothing has arrived yet, now and
// from now on.
func (s *connSet) closeSilent() {
	s.closeIf(func(c *trackedConn) bool { return !c.heard.Load() })
}

func (s *connSet) closeAll() {
	s.closeIf(func(*trackedConn) bool { return true })
}

func (s *connSet) closeIf(cond func(*trackedConn) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for c := range s.conns {
		if cond(c) {
			_ = c.Conn.Close() // whoever reads from it learns of it
		}
	}
}

func (s *connSet) add(conn net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		_ = conn.Close() // nobody has used it
		return conn
	}
	if s.conns == nil {
		s.conns = map[*trackedConn]struct{}{}
	}
	c := &trackedConn{Conn: conn, set: s}
	if read, ok := conn.(interface{ Buffered() int }); ok && read.Buffered() > 0 {
		c.heard.Store(true) // on a shared port, by whoever handed it over
	}
	s.conns[c] = struct{}{}
	return c
}

type trackingListener struct {
	net.Listener
	set *connSet
}

func (l *trackingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.set.add(conn), nil
}

type trackedConn struct {
	net.Conn
	set   *connSet
	heard atomic.Bool // something has arrived
}

func (c *trackedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

func (c *trackedConn) Close() error {
	c.set.mu.Lock()
	delete(c.set.conns, c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}
