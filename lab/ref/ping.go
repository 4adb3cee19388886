package ref

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const pingBytes = 64

type pingServer struct {
	wg    sync.WaitGroup
	mu    sync.Mutex
	lis   net.Listener
	conns map[net.Conn]struct{} // nil once stopped
}

func newPingServer(Options) server { return &pingServer{conns: map[net.Conn]struct{}{}} }

func (s *pingServer) serve(lis net.Listener) error {
	s.mu.Lock()
	s.lis = lis
	stopped := s.conns == nil
	s.mu.Unlock()
	if stopped {
		return lis.Close()
	}
	defer s.wg.Wait()
	for {
		nc, err := lis.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		if s.conns == nil {
			s.mu.Unlock()
			_ = nc.Close() // nothing was said on it
			return nil
		}
		s.conns[nc] = struct{}{}
		s.mu.Unlock()
		s.wg.Go(func() { s.echo(nc) })
	}
}

func (s *pingServer) echo(nc net.Conn) {
	defer func() {
		_ = nc.Close()
		s.mu.Lock()
		delete(s.conns, nc)
		s.mu.Unlock()
	}()
	var buf [pingBytes]byte
	for {
		if _, err := io.ReadFull(nc, buf[:]); err != nil {
			return
		}
		if _, err := nc.Write(buf[:]); err != nil {
			return
		}
	}
}

func (s *pingServer) stop(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nc := range s.conns {
		_ = nc.Close() // ends its echo
	}
	s.conns = nil
	if s.lis == nil {
		return nil
	}
	return s.lis.Close()
}

// pingConn keeps one socket for each call in flight. The last used is used
// first.
type pingConn struct {
	unary
	addr string
	dial Dialer

	mu     sync.Mutex
	closed bool
	idle   []*pingSocket
}

type pingSocket struct {
	net.Conn
	sent, got [pingBytes]byte
	count     uint64
}

func dialPing(_ context.Context, addr string, dial Dialer, _ Options) (Conn, error) {
	return &pingConn{addr: addr, dial: dial}, nil
}

// Invoke does one round trip; it looks at none of its messages.
func (c *pingConn) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	s, err := c.take(ctx)
	if err != nil {
		return failed(ctx, err)
	}
	interrupt := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
	same, err := s.roundTrip()
	interrupted := !interrupt()
	switch {
	case err != nil:
		_ = s.Close() // err is what there is to tell
		return failed(ctx, err)
	case !same:
		_ = s.Close() // what it would echo next is unknown
		return status.Error(codes.DataLoss, "the echo is not what was sent")
	case interrupted:
		return s.Close() // its deadline has passed or soon will
	}
	return c.put(s)
}

func (s *pingSocket) roundTrip() (same bool, err error) {
	s.count++
	binary.LittleEndian.PutUint64(s.sent[:], s.count)
	if _, err := s.Write(s.sent[:]); err != nil {
		return false, err
	}
	if _, err := io.ReadFull(s, s.got[:]); err != nil {
		return false, err
	}
	return bytes.Equal(s.sent[:], s.got[:]), nil
}

func (c *pingConn) take(ctx context.Context) (*pingSocket, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, net.ErrClosed
	}
	if n := len(c.idle); n > 0 {
		s := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return s, nil
	}
	c.mu.Unlock()
	nc, err := c.dial(ctx, c.addr)
	if err != nil {
		return nil, err
	}
	return &pingSocket{Conn: nc}, nil
}

func (c *pingConn) put(s *pingSocket) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return s.Close()
	}
	c.idle = append(c.idle, s)
	return nil
}

func (c *pingConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	errs := make([]error, 0, len(c.idle))
	for _, s := range c.idle {
		errs = append(errs, s.Close())
	}
	c.idle = nil
	return errors.Join(errs...)
}
