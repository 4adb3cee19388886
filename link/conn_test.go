package link

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestHalfClose(t *testing.T) {
	l := newLink(t, "rtt=0.2ms")
	c, s := connect(t, l.A, l.B)
	defer c.Close()
	defer s.Close()
	c.Write([]byte("question"))
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(s); string(got) != "question" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := s.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got, err := io.ReadAll(c); string(got) != "answer" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("writing after CloseWrite: %v", err)
	}
}

// Errors have the causes that those of package net have.
func TestConnErrors(t *testing.T) {
	l := newLink(t, "rtt=0.2ms")
	c, s := connect(t, l.A, l.B)
	defer s.Close()
	if c.LocalAddr().String() != s.RemoteAddr().String() || c.RemoteAddr().String() != s.LocalAddr().String() {
		t.Errorf("%v-%v, %v-%v", c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr())
	}
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after a deadline: %v", err)
	}
	c.SetReadDeadline(time.Time{})
	if n, err := c.Read(nil); n != 0 || err != nil {
		t.Errorf("reading nothing: %d, %v", n, err)
	}
	reading := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		reading <- err
	}()
	local := c.LocalAddr()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-reading; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read when closed: %v", err)
	}
	_, readErr := c.Read(make([]byte, 1))
	_, writeErr := c.Write([]byte("x"))
	for name, err := range map[string]error{"read": readErr, "write": writeErr, "close": c.Close(), "deadline": c.SetDeadline(time.Now())} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if c.LocalAddr() != local {
		t.Error("a closed connection has another address")
	}
}

// A connection closed with unread data in it is reset, also in the middle of
// the other end's writing.
func TestCloseInTheMiddle(t *testing.T) {
	l := newLink(t, "rtt=0.2ms")
	c, s := connect(t, l.A, l.B)
	defer c.Close()
	wrote := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			_, err = c.Write(make([]byte, 64<<10))
		}
		wrote <- err
	}()
	if _, err := io.ReadFull(s, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := <-wrote; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("writing to a closed connection: %v", err)
	}
}

func TestListener(t *testing.T) {
	l := newLink(t, "rtt=0.2ms")
	lis, err := l.B.Listen(t.Context(), "tcp", "198.18.0.2:7070")
	if err != nil {
		t.Fatal(err)
	}
	if lis.Addr().String() != "198.18.0.2:7070" {
		t.Error(lis.Addr())
	}
	if _, err := l.B.Listen(t.Context(), "tcp", ":7070"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the port again: %v", err)
	}
	waiting, err := l.A.DialContext(t.Context(), "tcp", lis.Addr().String()) // nobody accepts it
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	if _, err := lis.Accept(); err != nil {
		t.Fatal(err)
	}
	accepting := make(chan error, 1)
	go func() {
		_, err := lis.Accept()
		accepting <- err
	}()
	if err := lis.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept when closed: %v", err)
	}
	if _, err := lis.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if err := lis.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Close again: %v", err)
	}
	if _, err := l.A.DialContext(t.Context(), "tcp", "198.18.0.2:7070"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to nobody: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	l := newLink(t, "rtt=0ms")
	for addr, want := range map[string]string{
		"198.18.0.1:80": "198.18.0.1:80: this is the end itself; the other end of the link is 198.18.0.2",
		"localhost:80":  "localhost:80: not an address of this link; the other end is 198.18.0.2",
		":80":           "the other end is 198.18.0.2",
		"198.18.0.2":    "missing port",
		"198.18.0.2:xx": "not a port",
	} {
		if _, err := l.A.DialContext(t.Context(), "tcp", addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dial %s: %v, want %s", addr, err, want)
		}
	}
	if _, err := l.A.DialContext(t.Context(), "unix", "/run/x"); err == nil || !strings.Contains(err.Error(), "carries tcp, not unix") {
		t.Error(err)
	}
	if _, err := l.B.Listen(t.Context(), "tcp", "127.0.0.1:80"); err == nil || !strings.Contains(err.Error(), "this end is 198.18.0.2") {
		t.Error(err)
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "198.18.0.2:0"} {
		lis, err := l.B.Listen(t.Context(), "tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		lis.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.B.Listen(ctx, "tcp", ":0"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Dialling gives up when its context ends, and when its end of the link is
// closed.
func TestDialGivesUp(t *testing.T) {
	clock := newFakeClock() // no packet ever arrives
	l := newLink(t, "rtt=100ms", withClock(clock))
	for _, c := range []struct { // in this order: nothing is dialled on a link that is closed
		name string
		end  func(context.CancelFunc)
	}{
		{"context", func(cancel context.CancelFunc) { cancel() }},
		{"link", func(context.CancelFunc) { l.Close() }},
	} {
		before := l.B.in.waiting()
		ctx, cancel := context.WithCancel(t.Context())
		dialled := make(chan error, 1)
		go func() {
			_, err := l.A.DialContext(ctx, "tcp", "198.18.0.2:80")
			dialled <- err
		}()
		inFlight(t, l.B, before+1)
		c.end(cancel)
		if err := <-dialled; err == nil || c.name == "context" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.name, err)
		}
		cancel()
	}
}

// Closing a link ends whatever waits on it.
func TestClose(t *testing.T) {
	l := newLink(t, "rtt=0.2ms")
	c, s := connect(t, l.A, l.B)
	lis, err := l.B.Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 3)
	go func() { _, err := lis.Accept(); ended <- err }()
	for _, nc := range []net.Conn{c, s} {
		go func() { _, err := nc.Read(make([]byte, 1)); ended <- err }()
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-ended; err == nil {
			t.Error("no error though the link is closed")
		}
	}
	if _, err := l.B.Listen(t.Context(), "tcp", ":0"); err == nil {
		t.Error("listening on a closed link")
	}
	if _, err := l.A.DialContext(t.Context(), "tcp", "198.18.0.2:80"); err == nil {
		t.Error("dialling on a closed link")
	}
}
