package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/everywire/everywire/wire"
)

// A slowSender sends one large request byte by byte, each byte with a write of
// its own. Nothing is known of the wire: the bytes are those that a connection
// of ours has sent for the same request, and the reply must be the same bytes
// too.
type slowSender struct {
	conn           net.Conn
	request, reply []byte
	sent           int
}

type slowOpenArg struct {
	dialArg
	Size int
}

// slowOpen records a request and opens the connection to send it again on. It
// returns how many bytes there are.
func (c *child) slowOpen(ctx context.Context, a slowOpenArg) (int, error) {
	rec := new(recorder)
	t, err := newTrialClient(a.dialArg, wire.WithDialer(func(ctx context.Context, network, addr string) (_ net.Conn, err error) {
		rec.Conn, err = new(net.Dialer).DialContext(ctx, network, addr)
		return rec, err
	}))
	if err != nil {
		return 0, err
	}
	err = t.do(task{Text: text(0, a.Size)})
	if err = errors.Join(err, t.conn.Close()); err != nil {
		return 0, fmt.Errorf("recording a request of %d bytes: %w", a.Size, err)
	}
	s := new(slowSender)
	s.request, s.reply = rec.bytes()
	if s.conn, err = new(net.Dialer).DialContext(ctx, "tcp", a.Addr); err != nil {
		return 0, err
	}
	c.slow = s
	return len(s.request), nil
}

// A recorder keeps what goes through a connection.
type recorder struct {
	net.Conn
	mu        sync.Mutex
	out, back []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.Conn.Write(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = append(r.out, p[:n]...)
	return n, err
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.back = append(r.back, p[:n]...)
	return n, err
}

func (r *recorder) bytes() (out, back []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.out), slices.Clone(r.back)
}

type slowSendArg struct {
	Bytes int
	// Over is how long to take; 0 is no longer than it must.
	Over time.Duration
	// Finish says to send all that is left, and to wait for the reply.
	Finish bool
}

// slowSend sends more of the request and returns how much it was.
func (c *child) slowSend(_ context.Context, a slowSendArg) (int, error) {
	s := c.slow
	if s == nil {
		return 0, errors.New("no request was recorded")
	}
	left := len(s.request) - s.sent
	if a.Finish {
		a.Bytes = left
	} else if a.Bytes >= left {
		return 0, fmt.Errorf("only %d bytes are left: the last is sent by finishing", left)
	}
	if err := s.trickle(s.request[s.sent:][:a.Bytes], a.Over); err != nil {
		return 0, err
	}
	s.sent += a.Bytes
	if !a.Finish {
		return a.Bytes, nil
	}
	defer func() { _ = s.conn.Close() }() // all was said
	return a.Bytes, s.awaitReply()
}

func (s *slowSender) trickle(part []byte, over time.Duration) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	for i := range part {
		for over > 0 && time.Since(begin) < over*time.Duration(i)/time.Duration(len(part)) {
			<-tick.C
		}
		if _, err := s.conn.Write(part[i : i+1]); err != nil {
			return fmt.Errorf("after %d bytes of %d: %w", s.sent+i, len(s.request), err)
		}
	}
	return nil
}

func (s *slowSender) awaitReply() error {
	if err := s.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	var got []byte
	for buf := make([]byte, 4<<10); !bytes.Equal(got, s.reply); {
		n, err := s.conn.Read(buf)
		if got = append(got, buf[:n]...); err != nil {
			return fmt.Errorf("the reply to the slow request: %w", err)
		}
		if !bytes.HasPrefix(s.reply, got) {
			return fmt.Errorf("the reply to the slow request is %.100q, not %.100q", got, s.reply)
		}
	}
	return nil
}

// A dripListener accepts connections that give one byte to a read.
type dripListener struct{ net.Listener }

func (l dripListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &drip{Conn: nc, in: bufio.NewReaderSize(nc, 64<<10)}, nil
}

// A drip reads ahead, so that what a byte costs is the server's work.
type drip struct {
	net.Conn
	in *bufio.Reader
}

func (d *drip) Read(p []byte) (int, error) { return d.in.Read(p[:min(len(p), 1)]) }
