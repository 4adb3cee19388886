package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

// Listen listens for connections of the other end. network is tcp or tcp4;
// addr is a port of this end, ":0" for a free one. It has the form of
// [net.ListenConfig.Listen].
func (e *End) Listen(ctx context.Context, network, addr string) (net.Listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	port, err := e.address("listen", network, addr, e.addr, true)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.gone:
		return nil, &net.OpError{Op: "listen", Net: network, Err: errEndClosed}
	default:
	}
	at := tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(e.addr.As4()), Port: port}
	lis, err := gonet.ListenTCP(e.stack, at, ipv4.ProtocolNumber)
	if err != nil {
		return nil, translate(err, nil)
	}
	return &listener{TCPListener: lis, addr: lis.Addr()}, nil
}

// DialContext connects to the other end. It has the form of
// [net.Dialer.DialContext].
func (e *End) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	port, err := e.address("dial", network, addr, e.peer, false)
	if err != nil {
		return nil, err
	}
	// A connection attempt ends with its end of the link.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	attempt := make(chan struct{})
	defer close(attempt)
	go func() {
		select {
		case <-e.gone:
			cancel(errEndClosed)
		case <-attempt:
		}
	}()
	to := tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(e.peer.As4()), Port: port}
	nc, err := gonet.DialContextTCP(ctx, e.stack, to, ipv4.ProtocolNumber)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		target := &net.TCPAddr{IP: e.peer.AsSlice(), Port: int(port)}
		return nil, &net.OpError{Op: "dial", Net: network, Addr: target, Err: cause(err)}
	}
	return newConn(nc), nil
}

type listener struct {
	*gonet.TCPListener
	addr   net.Addr
	closed atomic.Bool
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.TCPListener.Accept()
	if err != nil {
		return nil, translate(err, &l.closed)
	}
	return newConn(nc.(*gonet.TCPConn)), nil
}

// Addr implements net.Listener; it is known after Close, too.
func (l *listener) Addr() net.Addr { return l.addr }

// Close implements net.Listener: a waiting Accept returns, and connections that
// nobody has accepted are reset.
func (l *listener) Close() error {
	if l.closed.Swap(true) {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
	l.Shutdown()
	return l.TCPListener.Close()
}

// conn makes of gonet's connection one that behaves as [net.TCPConn] does in
// what programs look at: its errors, its addresses after Close, and writes of
// several goroutines that do not mix.
type conn struct {
	tcp           *gonet.TCPConn
	local, remote net.Addr
	writing       sync.Mutex
	closed        atomic.Bool
}

func newConn(tcp *gonet.TCPConn) *conn {
	return &conn{tcp: tcp, local: tcp.LocalAddr(), remote: tcp.RemoteAddr()}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, c.usable("read")
	}
	n, err := c.tcp.Read(b)
	if err == io.EOF && c.closed.Load() { //nolint:errorlint // Read returns it bare
		return n, c.usable("read")
	}
	return n, translate(err, &c.closed)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.usable("write"); err != nil {
		return 0, err
	}
	n, err := c.tcp.Write(b)
	return n, translate(err, &c.closed)
}

// Close implements net.Conn. What was written is still sent.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return &net.OpError{Op: "close", Net: "tcp", Source: c.local, Addr: c.remote, Err: net.ErrClosed}
	}
	return translate(c.tcp.Close(), nil)
}

// CloseWrite ends the sending direction, as that of [net.TCPConn] does.
func (c *conn) CloseWrite() error { return translate(c.tcp.CloseWrite(), &c.closed) }

// CloseRead ends the receiving direction, as that of [net.TCPConn] does.
func (c *conn) CloseRead() error { return translate(c.tcp.CloseRead(), &c.closed) }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.usable("set"), c.tcp.SetDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	return errors.Join(c.usable("set"), c.tcp.SetReadDeadline(t))
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	return errors.Join(c.usable("set"), c.tcp.SetWriteDeadline(t))
}

func (c *conn) usable(op string) error {
	if c.closed.Load() {
		return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: net.ErrClosed}
	}
	return nil
}

// translate gives gonet's errors the causes that package net's have. After
// closed was set, all are net.ErrClosed.
func translate(err error, closed *atomic.Bool) error {
	if err == nil || err == io.EOF { //nolint:errorlint // gonet returns it bare
		return err
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok {
		op = &net.OpError{Op: "link", Net: "tcp", Err: err}
	}
	translated := *op
	if closed != nil && closed.Load() {
		translated.Err = net.ErrClosed
	} else {
		translated.Err = cause(op.Err)
	}
	return &translated
}

// causes are the errors of netstack that programs tell apart. gonet gives them
// as texts only.
var causes = map[string]error{
	(&tcpip.ErrConnectionReset{}).String():      syscall.ECONNRESET,
	(&tcpip.ErrConnectionRefused{}).String():    syscall.ECONNREFUSED,
	(&tcpip.ErrConnectionAborted{}).String():    syscall.ECONNABORTED,
	(&tcpip.ErrAborted{}).String():              syscall.ECONNABORTED,
	(&tcpip.ErrClosedForSend{}).String():        syscall.EPIPE,
	(&tcpip.ErrTimeout{}).String():              syscall.ETIMEDOUT,
	(&tcpip.ErrPortInUse{}).String():            syscall.EADDRINUSE,
	(&tcpip.ErrNoPortAvailable{}).String():      syscall.EADDRNOTAVAIL,
	(&tcpip.ErrInvalidEndpointState{}).String(): net.ErrClosed,
	(&tcpip.ErrNotConnected{}).String():         syscall.ENOTCONN,
}

func cause(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, context.DeadlineExceeded) {
		return os.ErrDeadlineExceeded
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if known, ok := causes[err.Error()]; ok {
		return known
	}
	return fmt.Errorf("%w", err)
}
