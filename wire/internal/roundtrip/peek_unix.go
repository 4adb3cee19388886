//go:build unix

package roundtrip

import (
	"net"
	"syscall"
)

// A peeker sees without waiting what has happened to a socket that nobody reads.
type peeker struct {
	raw  syscall.RawConn
	look func(fd uintptr) bool
	open bool
}

// newPeeker makes one that sees nothing for what is not a socket.
func newPeeker(conn net.Conn) *peeker {
	p := &peeker{}
	if wrapper, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapper.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return p
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return p
	}
	p.raw = raw
	var b [1]byte
	p.look = func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		p.open = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR
		return true // whatever it is, do not wait
	}
	return p
}

// spoiled reports whether the connection has ended, or has something to read
// that nobody has asked for.
func (p *peeker) spoiled() bool {
	return p.raw != nil && (p.raw.Read(p.look) != nil || !p.open)
}
