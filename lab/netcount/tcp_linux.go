package netcount

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/everywire/everywire/lab/record"
)

// tcpConn leaves writing to the embedded connection and asks the kernel how
// much went out. Were it to count in Write, a net.Buffers written to it would
// lose writev, which only *net.TCPConn has: the counter would change how many
// segments there are to count. Received bytes are counted in Read, because the
// kernel's number holds the peer's FIN as one byte.
type tcpConn struct {
	*net.TCPConn
	counter *Counter
	raw     syscall.RawConn
	in      atomic.Int64
	ip      int64 // length of the IP header
}

func (c *Counter) wrap(nc net.Conn) net.Conn {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return &conn{Conn: nc, counter: c}
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return &conn{Conn: nc, counter: c}
	}
	t := &tcpConn{TCPConn: tcp, counter: c, raw: raw, ip: 40}
	if a, ok := tcp.RemoteAddr().(*net.TCPAddr); ok && a.IP.To4() != nil {
		t.ip = 20
	}
	if _, ok := t.info(); !ok {
		return &conn{Conn: nc, counter: c}
	}
	return t
}

func (c *tcpConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

// WriteTo keeps io.Copy from splicing past Read.
func (c *tcpConn) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{c})
}

// WritesAreResumable tells the wires on streams that this is a socket: writing
// goes on after a write deadline.
func (c *tcpConn) WritesAreResumable() bool { return true }

func (c *tcpConn) Close() error {
	c.counter.close(c)
	return c.TCPConn.Close()
}

const tcpHeader = 20

func (c *tcpConn) count() record.Net {
	n := record.Net{PayloadIn: c.in.Load(), PacketsOut: -1, PacketsIn: -1, WireOut: -1, WireIn: -1}
	info, ok := c.info()
	if !ok {
		return n
	}
	header, syn := c.ip+tcpHeader+segmentOptions(info.Options), synOptions(info.Options)-segmentOptions(info.Options)
	n.PayloadOut = int64(info.Bytes_sent-info.Bytes_retrans) + int64(info.Notsent_bytes)
	n.PacketsOut, n.PacketsIn = int64(info.Segs_out), int64(info.Segs_in)
	n.WireOut = int64(info.Bytes_sent) + n.PacketsOut*header + syn
	n.WireIn = n.PayloadIn + n.PacketsIn*header + syn
	return n
}

// The bits of tcpi_options (linux/tcp.h).
const (
	optTimestamps  = 1
	optSACK        = 2
	optWindowScale = 4
)

// segmentOptions is the length of the options of an ordinary segment:
// timestamps (RFC 7323), 10 bytes padded to 12.
func segmentOptions(options uint8) int64 {
	if options&optTimestamps != 0 {
		return 12
	}
	return 0
}

// synOptions is the length of the options of SYN and SYN-ACK as Linux lays
// them out: maximum segment size (4), SACK permitted beside timestamps (12
// together or timestamps alone, 4 if SACK is alone), window scale (4).
func synOptions(options uint8) int64 {
	n := int64(4)
	switch {
	case options&optTimestamps != 0:
		n += 12
	case options&optSACK != 0:
		n += 4
	}
	if options&optWindowScale != 0 {
		n += 4
	}
	return n
}

// info asks the kernel; ok is false if it does not count as much as is needed.
// The call is made by hand because the length of the answer, which
// unix.GetsockoptTCPInfo drops, is what tells an old kernel's missing field
// from a zero.
func (c *tcpConn) info() (info unix.TCPInfo, ok bool) {
	err := c.raw.Control(func(fd uintptr) {
		size := uint32(unsafe.Sizeof(info))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
		ok = errno == 0 && uintptr(size) >= unsafe.Offsetof(info.Bytes_retrans)+unsafe.Sizeof(info.Bytes_retrans)
	})
	// A connection that is open has sent a SYN: zero means that nobody counts.
	return info, err == nil && ok && info.Segs_out > 0
}
