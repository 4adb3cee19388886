package link

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// joined makes a link over a carrier, as two processes would.
func joined(t testing.TB, spec string) (a, b *End) {
	t.Helper()
	s := must(Parse(spec))
	b, join, err := Host(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if a, err = Join(t.Context(), join, s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a, b
}

func TestRemoteConn(t *testing.T) {
	for _, spec := range []string{"rtt=0ms", "rtt=1ms,loss=1%"} {
		t.Run(spec, func(t *testing.T) {
			a, b := joined(t, spec)
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				lis, err := b.Listen(t.Context(), "tcp", ":0")
				if err != nil {
					return nil, nil, nil, err
				}
				c1, c2, err = pair(t, a, lis)
				return c1, c2, func() { lis.Close(); c1.Close(); c2.Close() }, err
			})
		})
	}
}

// Each end knows what the other lost, and a ping crosses both processes.
func TestRemoteStats(t *testing.T) {
	a, b := joined(t, "rtt=0.2ms,loss=5%")
	c, s := connect(t, a, b)
	go func() { c.Write(make([]byte, 300_000)); c.Close() }()
	if n, err := io.Copy(io.Discard, s); n != 300_000 || err != nil {
		t.Fatal(n, err)
	}
	s.Close()
	if d, err := a.Ping(t.Context()); err != nil || d < 200*time.Microsecond {
		t.Errorf("%v, %v: a round trip in less than no time", d, err)
	}
	if d, err := b.Ping(t.Context()); err != nil || d < 200*time.Microsecond {
		t.Errorf("%v, %v", d, err)
	}
	whole := func(out, in Traffic) bool {
		return out.Lost == in.Lost && out.Packets == in.Packets+in.Lost
	}
	eventually(t, "all arrived or lost", func() bool {
		return whole(a.Stats().Out, b.Stats().In) && whole(b.Stats().Out, a.Stats().In)
	})
	if a.Stats().Out.Lost == 0 {
		t.Error("nothing was lost")
	}
}

// When one process goes, whatever waits in the other ends.
func TestPeerGoes(t *testing.T) {
	for _, name := range []string{"host", "joiner"} {
		t.Run(name, func(t *testing.T) {
			a, b := joined(t, "rtt=0.2ms")
			c, s := connect(t, a, b)
			goes, nc := b, c
			if name == "joiner" {
				goes, nc = a, s
			}
			reading := make(chan error, 1)
			go func() { _, err := nc.Read(make([]byte, 1)); reading <- err }()
			goes.Close()
			if err := <-reading; err == nil {
				t.Error("no error though the other end has gone")
			}
		})
	}
}

func TestJoinErrors(t *testing.T) {
	s := must(Parse("rtt=1ms"))
	b, join, err := Host(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	addr, _, _ := strings.Cut(join, "/")
	for _, tc := range []struct {
		join string
		spec Spec
		want string
	}{
		{addr, s, "it has no secret"},
		{addr + "/wrong", s, "the host did not accept the secret"},
		{join, must(Parse("rtt=2ms")), "this end has rtt=2ms and the link's host has rtt=1ms"},
		{"127.0.0.1:1/x", s, "cannot join"},
		{join, Spec{RTT: -1}, "rtt=-1ns is not from 0"},
	} {
		if _, err := Join(t.Context(), tc.join, tc.spec); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %s", tc.join, err, tc.want)
		}
	}
	// A stranger that says nothing and goes does not keep the other out.
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	nc.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	nc.Close()
	a, err := Join(t.Context(), join, s)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := Join(t.Context(), join, s); err == nil {
		t.Error("a second process joined")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Join(ctx, join, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A host that nobody joins closes all the same, and so does one in the middle
// of a hello.
func TestHostAlone(t *testing.T) {
	b, join, err := Host(t.Context(), Spec{})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := b.Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	addr, _, _ := strings.Cut(join, "/")
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := Host(t.Context(), Spec{Loss: 2}); err == nil {
		t.Error("made a link that loses twice what it gets")
	}
}

// What is no frame closes the end: nothing after it can be trusted.
func TestNonsenseFromPeer(t *testing.T) {
	for name, raw := range map[string]string{
		"kind":   "\x09" + strings.Repeat("\x00", 10),
		"length": "\x01\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff",
		"empty":  "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"cut":    "\x01\x00\x00",
	} {
		e, err := newEnd(Spec{}, newOptions(nil), fromA)
		if err != nil {
			t.Fatal(err)
		}
		here, there := net.Pipe()
		c := newCarrier(e, here, bufio.NewReader(here), 0)
		e.onClose = c.close
		c.run()
		there.Write([]byte(raw))
		there.Close()
		<-e.gone
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzFrames reads frames from anything; what it reads is written as it was.
func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(nil, frame{kind: framePacket, due: 1, data: []byte("x")}))
	f.Add(appendFrame(appendFrame(nil, frame{kind: frameLost}), frame{kind: frameEcho, due: -1, data: make([]byte, 8)}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bufio.NewReader(bytes.NewReader(raw))
		var back []byte
		for {
			fr, err := readFrame(r)
			if err != nil {
				if !bytes.HasPrefix(raw, back) || errors.Is(err, io.EOF) && len(back) != len(raw) {
					t.Fatalf("%x was read as %x, then %v", raw, back, err)
				}
				return
			}
			back = appendFrame(back, fr)
		}
	})
}

// FuzzClassify looks at packets that are not what the stack sends.
func FuzzClassify(f *testing.F) {
	f.Add([]byte("E\x00\x00\x28\x00\x00\x00\x00\x40\x06\x00\x00\xc6\x12\x00\x01\xc6\x12\x00\x02\x00\x50\x00\x50\x00\x00\x00\x00\x00\x00\x00\x00\x50\x10\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, p []byte) {
		payload, pureACK := classify(p)
		if payload < 0 || payload > len(p) || pureACK && payload != 0 {
			t.Fatal(payload, pureACK)
		}
	})
}
