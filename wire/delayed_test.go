package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A delayedNet is a network with one server on it, for tests with a fake clock:
// what is sent arrives a fixed time later, whole and in order, however long it is. A
// connection is opened as TCP does it: the client may send after a round trip, and the
// server knows of it when the first that the client sends could have arrived.
type delayedNet struct {
	oneWay  time.Duration
	waiting chan net.Conn // to be accepted
	done    chan struct{}
	once    sync.Once
	tasks   sync.WaitGroup
}

func newDelayedNet(t *testing.T, rtt time.Duration) *delayedNet {
	n := &delayedNet{oneWay: rtt / 2, waiting: make(chan net.Conn), done: make(chan struct{})}
	t.Cleanup(func() {
		_ = n.Close()
		n.tasks.Wait()
	})
	return n
}

var delayedAddr = &net.TCPAddr{IP: net.IPv4(198, 18, 0, 1), Port: 7070}

// listen is for [wire.WithListener].
func (n *delayedNet) listen(context.Context, string, string) (net.Listener, error) { return n, nil }

func (n *delayedNet) Addr() net.Addr { return delayedAddr }

func (n *delayedNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.waiting:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *delayedNet) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

// dial is for [wire.WithDialer].
func (n *delayedNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-time.After(2 * n.oneWay):
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.done:
		return nil, errors.New("nobody listens")
	}
	client, clientNear := net.Pipe()
	server, serverNear := net.Pipe()
	n.carry(clientNear, serverNear)
	n.carry(serverNear, clientNear)
	n.tasks.Go(func() {
		time.Sleep(n.oneWay)
		select {
		case n.waiting <- delayedConn{server}:
		case <-n.done:
			_ = server.Close()
		}
	})
	return delayedConn{client}, nil
}

// carry takes what one end sends to the other, until either is closed.
func (n *delayedNet) carry(from, to net.Conn) {
	type segment struct {
		data []byte
		due  time.Time
	}
	sent := make(chan segment, 1<<12)
	n.tasks.Go(func() {
		defer close(sent)
		for buf := make([]byte, 64<<10); ; {
			k, err := from.Read(buf)
			if k > 0 {
				sent <- segment{append([]byte(nil), buf[:k]...), time.Now().Add(n.oneWay)}
			}
			if err != nil {
				sent <- segment{nil, time.Now().Add(n.oneWay)} // a FIN
				return
			}
		}
	})
	n.tasks.Go(func() {
		var err error
		for s := range sent {
			time.Sleep(time.Until(s.due))
			if s.data == nil {
				_ = to.Close()
			} else if err == nil {
				_, err = to.Write(s.data) // fails when the other end has been closed
			}
		}
	})
}

// A delayedConn is a pipe with addresses.
type delayedConn struct{ net.Conn }

func (delayedConn) LocalAddr() net.Addr  { return delayedAddr }
func (delayedConn) RemoteAddr() net.Addr { return delayedAddr }

// Read says of the other end what TCP does.
func (c delayedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = net.ErrClosed
	}
	return n, err
}
