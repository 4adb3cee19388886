package run

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/everywire/everywire/lab/netcount"
	"github.com/everywire/everywire/link"
)

// What a link counts while a meter runs is in the record, and nothing from
// before.
func TestMeter(t *testing.T) {
	l, err := link.New(link.Spec{RTT: 1e6, Loss: 0.1}, link.WithSeed(5))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lis, err := l.B.Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	m := &meter{sockets: &netcount.Counter{}, end: l.A}
	const size = 200_000
	send := func() {
		received := make(chan error, 1)
		go func() {
			nc, err := lis.Accept()
			if err == nil {
				defer nc.Close()
				_, err = io.CopyN(io.Discard, nc, size)
			}
			received <- err
		}()
		nc, err := m.dial()(t.Context(), lis.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if _, err := nc.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := <-received; err != nil {
			t.Fatal(err)
		}
	}
	send()
	if err := m.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	send()
	n, e := m.stop()
	if n.Conns != 1 || n.PayloadOut != size || n.WireOut < size || n.WireOut > 2*size || n.PacketsOut < size/1420 {
		t.Errorf("counted %+v", n)
	}
	if e.Asked != 1e6 || e.RTT < 1e6 || e.LostOut == 0 || e.Retransmits == 0 || e.ACKsIn == 0 || e.LostOut >= n.PacketsOut {
		t.Errorf("the link: %+v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.start(ctx); err == nil {
		t.Error("measured a round trip after the context's end")
	}
}

// On loopback the place is a free port of the kernel, and there is no end to
// join or to close.
func TestLoopbackHasNoEnd(t *testing.T) {
	at, end, join, err := linkArg{}.host(t.Context())
	if end != nil || join != "" || err != nil || at.Addr != "127.0.0.1:0" {
		t.Errorf("%+v, %v, %q, %v", at, end, join, err)
	}
	lis, err := at.Listen(t.Context(), "tcp", at.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	if _, ok := lis.Addr().(*net.TCPAddr); !ok {
		t.Error(lis.Addr())
	}
	if end, err := (linkArg{Link: "loopback"}).join(t.Context()); end != nil || err != nil {
		t.Error(end, err)
	}
}
