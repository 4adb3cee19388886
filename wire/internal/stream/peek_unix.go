//go:build unix

package stream

import (
	"net"
	"syscall"
)

// A peeker sees without waiting whether the peer of a socket has closed it.
type peeker struct {
	raw    syscall.RawConn
	look   func(fd uintptr) bool
	closed bool
}

// newPeeker returns nil for what is not a socket.
func newPeeker(conn net.Conn) *peeker {
	if wrapper, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapper.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	p := &peeker{raw: raw}
	var b [1]byte
	p.look = func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		p.closed = n == 0 && err == nil
		return true // whatever it is, do not wait
	}
	return p
}

// isClosed reports whether the peer has closed the socket and everything that
// it sent has been read. Nobody may read at the same time.
func (p *peeker) isClosed() bool {
	return p != nil && p.raw.Read(p.look) == nil && p.closed
}
