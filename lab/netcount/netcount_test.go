package netcount

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/lab/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoServer sends back what it gets until the client closes.
func echoServer(t *testing.T, network, addr string) string {
	t.Helper()
	lis, err := net.Listen(network, addr)
	if err != nil {
		if network != "tcp6" {
			t.Fatalf("cannot listen on %s %s: %v", network, addr, err)
		}
		needs.Missing(t, fmt.Sprintf("cannot listen on %s %s: %v", network, addr, err))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				_, _ = io.Copy(nc, nc)
			}()
		}
	}()
	t.Cleanup(func() { lis.Close(); <-done })
	return lis.Addr().String()
}

func dial(network string) Dial {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
}

func TestKnownExchange(t *testing.T) {
	for _, tc := range []struct {
		name, network, addr string
		header              int64 // IP, TCP and timestamps
	}{
		{"IPv4", "tcp4", "127.0.0.1:0", 52},
		{"IPv6", "tcp6", "[::1]:0", 72},
	} {
		t.Run(tc.name, func(t *testing.T) {
			addr := echoServer(t, tc.network, tc.addr)
			var c Counter
			nc, err := c.Wrap(dial(tc.network))(t.Context(), addr)
			if err != nil {
				t.Fatal(err)
			}
			opened := c.Snapshot()
			if opened.Conns != 1 || opened.PayloadIn != 0 || opened.PayloadOut != 0 {
				t.Errorf("after opening: %+v", opened)
			}
			buf := make([]byte, 100)
			for range 10 {
				if _, err := nc.Write(buf); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(nc, buf); err != nil {
					t.Fatal(err)
				}
			}
			before := c.Snapshot()
			got := Between(opened, before)
			if got.Conns != 0 || got.PayloadOut != 1000 || got.PayloadIn != 1000 {
				t.Errorf("ten echoes of 100 bytes: %+v", got)
			}
			if runtime.GOOS == "linux" {
				// Ten data segments each way; the last ACK may still be delayed.
				if got.PacketsOut < 10 || got.PacketsOut > 20 || got.PacketsIn < 10 || got.PacketsIn > 20 {
					t.Errorf("packets: %+v", got)
				}
				if got.WireOut != got.PayloadOut+got.PacketsOut*tc.header || got.WireIn != got.PayloadIn+got.PacketsIn*tc.header {
					t.Errorf("wire bytes with headers of %d: %+v", tc.header, got)
				}
				// SYN and ACK out, SYN-ACK in; 8 option bytes more in a SYN.
				if opened.PacketsOut != 2 || opened.PacketsIn != 1 || opened.WireOut != 2*tc.header+8 || opened.WireIn != tc.header+8 {
					t.Errorf("handshake: %+v", opened)
				}
			}
			nc.Close()
			nc.Close()
			closed := c.Snapshot()
			if closed.PayloadIn != before.PayloadIn || closed.PayloadOut != before.PayloadOut || closed.PacketsIn < before.PacketsIn {
				t.Errorf("closing lost counts: before %+v, after %+v", before, closed)
			}
		})
	}
}

// A net.Buffers goes out in one segment, as it would without the counter.
func TestWritev(t *testing.T) {
	addr := echoServer(t, "tcp4", "127.0.0.1:0")
	var c Counter
	nc, err := c.Wrap(dial("tcp4"))(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	before := c.Snapshot()
	bufs := net.Buffers{make([]byte, 10), make([]byte, 20), make([]byte, 30)}
	if _, err := bufs.WriteTo(nc); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(nc, make([]byte, 60)); err != nil {
		t.Fatal(err)
	}
	got := Between(before, c.Snapshot())
	if got.PayloadOut != 60 || got.PayloadIn != 60 {
		t.Errorf("payload: %+v", got)
	}
	// Three single writes would be three data segments and an ACK or more.
	if runtime.GOOS == "linux" && got.PacketsOut > 2 {
		t.Errorf("%d packets out: the buffers did not go out as one", got.PacketsOut)
	}
}

func TestCopyFromConnIsCounted(t *testing.T) {
	addr := echoServer(t, "tcp4", "127.0.0.1:0")
	var c Counter
	nc, err := c.Wrap(dial("tcp4"))(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := io.Copy(nc, bytes.NewReader(make([]byte, 5000))); err != nil {
		t.Fatal(err)
	}
	if err := nc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, nc); err != nil || n != 5000 {
		t.Fatalf("copied %d, %v", n, err)
	}
	if got := c.Snapshot(); got.PayloadOut != 5000 || got.PayloadIn != 5000 {
		t.Errorf("after both ends closed: %+v", got)
	}
}

func TestUnknownStaysUnknown(t *testing.T) {
	var c Counter
	far := make(chan net.Conn, 1)
	nc, err := c.Wrap(func(context.Context, string) (net.Conn, error) {
		a, b := net.Pipe()
		far <- b
		return a, nil
	})(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		b := <-far
		_, _ = io.CopyN(b, b, 7)
		b.Close()
	}()
	if _, err := nc.Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	before := c.Snapshot()
	if err := nc.SetDeadline(time.Now().Add(-1)); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write([]byte("cdefg")); err == nil {
		t.Fatal("the deadline was not passed on")
	}
	nc.Close()
	want := record.Net{PacketsOut: -1, PacketsIn: -1, WireOut: -1, WireIn: -1}
	if got := Between(before, c.Snapshot()); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFailedDialIsNotCounted(t *testing.T) {
	var c Counter
	_, err := c.Wrap(func(context.Context, string) (net.Conn, error) { return nil, io.ErrClosedPipe })(t.Context(), "")
	if !errors.Is(err, io.ErrClosedPipe) || c.Snapshot().Conns != 0 {
		t.Errorf("err %v, %+v", err, c.Snapshot())
	}
}
