package link

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// opened is a connection on a link whose clock stands still: the handshake has
// been made step by step, and nothing is in flight.
type opened struct {
	*Link
	clock            fakeClock
	dialled, serving net.Conn
	// handshake is how long DialContext took.
	handshake time.Duration
}

const fakeRTT = 100 * time.Millisecond

func open(t *testing.T) *opened {
	t.Helper()
	o := &opened{clock: newFakeClock()}
	o.Link = newLink(t, "rtt=100ms", withClock(o.clock))
	lis, err := o.B.Listen(t.Context(), "tcp", ":7070")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	begin := o.clock.now()
	dialled := make(chan error, 1)
	go func() {
		var err error
		o.dialled, err = o.A.DialContext(t.Context(), "tcp", "198.18.0.2:7070")
		dialled <- err
	}()
	inFlight(t, o.B, 1) // SYN
	o.clock.Advance(fakeRTT / 2)
	inFlight(t, o.A, 1) // SYN-ACK
	select {
	case err := <-dialled:
		t.Fatalf("connected after half a round trip: %v", err)
	default:
	}
	o.clock.Advance(fakeRTT / 2)
	if err := <-dialled; err != nil {
		t.Fatal(err)
	}
	o.handshake = time.Duration(o.clock.now() - begin)
	inFlight(t, o.B, 1) // ACK
	o.clock.Advance(fakeRTT / 2)
	if o.serving, err = lis.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.dialled.Close(); o.serving.Close() })
	return o
}

func TestHandshakeTakesOneRTT(t *testing.T) {
	if o := open(t); o.handshake != fakeRTT {
		t.Errorf("connecting took %v on a link of %v", o.handshake, fakeRTT)
	}
}

func TestCallTakesOneRTT(t *testing.T) {
	o := open(t)
	begin := o.clock.now()
	got := make([]byte, 64)
	o.dialled.Write(bytes.Repeat([]byte("q"), 64))
	inFlight(t, o.B, 1)
	o.clock.Advance(fakeRTT / 2)
	if _, err := io.ReadFull(o.serving, got); err != nil {
		t.Fatal(err)
	}
	o.serving.Write(bytes.Repeat([]byte("r"), 64)) // on the link when Write returns
	o.clock.Advance(fakeRTT / 2)
	if _, err := io.ReadFull(o.dialled, got); err != nil || got[0] != 'r' {
		t.Fatal(string(got), err)
	}
	if took := time.Duration(o.clock.now() - begin); took != fakeRTT {
		t.Errorf("a call took %v on a link of %v", took, fakeRTT)
	}
}

// A new connection may send ten segments (RFC 6928) and then has to wait for
// acknowledgements, each of which lets two out.
func TestSlowStart(t *testing.T) {
	o := open(t)
	o.dialled.Write(make([]byte, 64<<10)) // 46 segments; fits into the send buffer
	inFlight(t, o.B, 10)
	sent := o.A.Stats().Out
	if want := int64(10 * 1420); sent.PayloadBytes != want {
		t.Errorf("the first flight has %d bytes, want %d", sent.PayloadBytes, want)
	}
	o.clock.Advance(fakeRTT / 2)
	settled(t, o.B, 2+10) // SYN, ACK, and the first flight
	eventually(t, "an acknowledgement", func() bool { return o.A.in.waiting() > 0 })
	o.clock.Advance(fakeRTT / 2)
	eventually(t, "the second flight", func() bool { return o.A.Stats().Out.PayloadBytes > sent.PayloadBytes })
	if n := o.A.Stats().Out.PayloadBytes; n > 30*1420 {
		t.Errorf("%d bytes have been sent after one round trip; slow start allows %d", n, 30*1420)
	}
}

func TestPing(t *testing.T) {
	clock := newFakeClock()
	l := newLink(t, "rtt=100ms", withClock(clock))
	got := make(chan time.Duration, 1)
	go func() {
		d, err := l.A.Ping(t.Context())
		if err != nil {
			t.Error(err)
		}
		got <- d
	}()
	pending := func(e *End) func() bool {
		return func() bool { _, ok, _ := e.in.next(); return ok }
	}
	eventually(t, "the probe", pending(l.B))
	clock.Advance(fakeRTT / 2)
	eventually(t, "the echo", pending(l.A))
	clock.Advance(fakeRTT / 2)
	if d := <-got; d != fakeRTT {
		t.Errorf("measured %v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.A.Ping(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	l.Close()
	if _, err := l.A.Ping(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// The counters agree with each other and with what was written.
func TestCounters(t *testing.T) {
	l := newLink(t, "rtt=0ms")
	c, s := connect(t, l.A, l.B)
	defer c.Close()
	defer s.Close()
	var query, reply [100]byte
	for range 20 {
		c.Write(query[:])
		if _, err := io.ReadFull(s, query[:]); err != nil {
			t.Fatal(err)
		}
		s.Write(reply[:60])
		if _, err := io.ReadFull(c, reply[:60]); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "nothing in flight", func() bool {
		return l.A.Stats().Out == l.B.Stats().In && l.B.Stats().Out == l.A.Stats().In
	})
	a, b := l.A.Stats(), l.B.Stats()
	if a.Out.PayloadBytes != 2000 || b.Out.PayloadBytes != 1200 {
		t.Errorf("payload %d and %d, want 2000 and 1200", a.Out.PayloadBytes, b.Out.PayloadBytes)
	}
	for name, tr := range map[string]Traffic{"A": a.Out, "B": b.Out} {
		// 20 segments with data, and the SYN; headers of 52 bytes, and of 60 for the SYN.
		if full := tr.Packets - tr.PureACKs; full != 21 {
			t.Errorf("%s sent %d packets that are not pure ACKs: %+v", name, full, tr)
		}
		if headers := tr.IPBytes - tr.PayloadBytes; headers != 52*(tr.Packets-1)+60 {
			t.Errorf("%s: headers of %d bytes: %+v", name, headers, tr)
		}
	}
	before := a
	c.Write(query[:])
	io.ReadFull(s, query[:])
	if d := l.A.Stats().Minus(before); d.Out.PayloadBytes != 100 || d.Out.Packets < 1 {
		t.Errorf("since then %+v", d)
	}
}

// What is lost is sent again, and all arrives whole.
func TestRecovery(t *testing.T) {
	const size = 1 << 20
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(data)
	l := newLink(t, "rtt=1ms,loss=2%,jitter=0.5ms", WithSeed(3))
	c, s := connect(t, l.A, l.B)
	defer s.Close()
	go func() {
		c.Write(data)
		c.Close()
	}()
	s.SetDeadline(time.Now().Add(60 * time.Second))
	got, err := io.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(got) != sha256.Sum256(data) {
		t.Errorf("%d bytes arrived, not those that were sent", len(got))
	}
	a, b := l.A.Stats(), l.B.Stats()
	if a.Out.Lost == 0 || a.Retransmits == 0 || b.In.Lost != a.Out.Lost {
		t.Errorf("lost %d, seen lost by the other end %d, retransmitted %d", a.Out.Lost, b.In.Lost, a.Retransmits)
	}
	if a.Out.PayloadBytes <= size {
		t.Errorf("%d bytes were sent for %d, though %d packets were lost", a.Out.PayloadBytes, size, a.Out.Lost)
	}
}

// A line's buffer that overflows slows the sender down and loses nothing.
func TestOverflow(t *testing.T) {
	l := newLink(t, "rtt=1ms,rate=100mbit")
	// Room for 8 packets: an initial window of ten does not fit. With the usual
	// 100 it takes longer to overflow than a test should.
	l.A.shaper.buffer = l.A.shaper.onLine(8 * mtu)
	c, s := connect(t, l.A, l.B)
	defer s.Close()
	const size = 3 << 20
	go func() {
		c.Write(make([]byte, size))
		c.Close()
	}()
	s.SetDeadline(time.Now().Add(60 * time.Second))
	n, err := io.Copy(io.Discard, s)
	if n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if st := l.A.Stats(); st.Out.Overflowed == 0 || st.Out.Lost != 0 {
		t.Errorf("%+v", st.Out)
	}
}
