package sniff

import (
	"net"
	"sync"
)

// A Listener accepts the connections that are given to it. A server of one wire
// listens on it.
type Listener struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewListener makes a listener that says it is at addr.
func NewListener(addr net.Addr) *Listener {
	return &Listener{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

// Give waits until somebody accepts the connection, or closes it if the listener
// is closed.
func (l *Listener) Give(conn net.Conn) {
	select {
	case l.conns <- conn:
	case <-l.done:
		_ = conn.Close() // nobody has used it
	}
}

// Accept is [net.Listener]'s.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close is [net.Listener]'s.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is [net.Listener]'s.
func (l *Listener) Addr() net.Addr { return l.addr }
