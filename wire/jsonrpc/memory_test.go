package jsonrpc

import (
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everywire/everywire"
)

// TestHostileStreams: what peers promise, nest or leave unfinished costs no more
// memory than what they have sent, and another connection does not notice.
func TestHostileStreams(t *testing.T) {
	const conns = 60
	f := newFixture()
	srv, err := NewServer(serverConfig(f.reg, everywire.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lis := &countingListener{Listener: tcp, progress: make(chan struct{}, 1)}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	defer func() {
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	addr := tcp.Addr().String()
	good := dial(t, NewConn, clientConfig(addr, nil))
	for name, send := range map[string]string{
		"a promised length":       "Content-Length: 4194304\r\n\r\n{",
		"a promised netstring":    "4194304:{",
		"a number without end":    `{"id":` + strings.Repeat("1", 10_000),
		"a string without end":    `{"id":"` + strings.Repeat(`\\`, 10_000),
		"nesting":                 strings.Repeat("[", 20_000),
		"nesting, with its frame": framed("netstring", strings.Repeat("[", 20_000)),
		"objects":                 strings.Repeat(`{"a":`, 5_000),
		"empty items":             "[" + strings.Repeat("[],", 10_000),
		"one name many times":     "{" + strings.Repeat(`"id":1,`, 5_000),
		"blank lines":             strings.Repeat("\r\n", 10_000),
		"header fields":           strings.Repeat("Content-Type: a/b\r\n", 15),
	} {
		t.Run(name, func(t *testing.T) {
			before, want := heap(), lis.read.Load()+int64(conns*len(send))
			for range conns {
				dialRaw(t, addr).send(send)
			}
			for lis.read.Load() < want {
				select {
				case <-lis.progress:
				case <-time.After(20 * time.Second):
					t.Fatal("the server stopped reading")
				}
			}
			if out, err := everywire.Call[textMessage](t.Context(), good, "t.Text/Plain", &textMessage{"x"}); err != nil || out.Text != "x" {
				t.Errorf("the good connection: %v, %v", out, err)
			}
			const most = conns * (128 << 10) // buffers at both ends, goroutines
			if grown := heap() - before; grown > most {
				t.Errorf("%d connections that sent %d bytes each cost %d bytes", conns, len(send), grown)
			}
		})
	}
}

// A countingListener counts what the server reads.
type countingListener struct {
	net.Listener
	read     atomic.Int64
	progress chan struct{} // has a value after a read
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &countingConn{conn, l}, err
}

type countingConn struct {
	net.Conn
	lis *countingListener
}

func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.lis.read.Add(int64(n))
	select {
	case c.lis.progress <- struct{}{}:
	default:
	}
	return n, err
}

// heap is what is in use after a collection.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse) //nolint:gosec // far from overflow
}

// TestReadAheadIsTriedOnce for a message, however it arrives: its cost stays
// linear in the bytes.
func TestReadAheadIsTriedOnce(t *testing.T) {
	in := []byte(strings.Repeat(" ", 5) + sumRequestLine)
	tries := 0
	f := lineFramer{quick: func(buf []byte) int {
		tries++
		return validObject(buf)
	}}
	var rest []byte
	for i, c := range in {
		rest = append(rest, c)
		from, to, err := f.Next(rest)
		if err != nil || (to > 0) != (i == len(in)-1) {
			t.Fatalf("byte %d: %d, %v", i, to, err)
		}
		rest = rest[from:]
	}
	if tries != 1 {
		t.Errorf("tried %d times", tries)
	}
}

// TestLongBatchesAreNotKept: what is beyond the limit is checked, not stored.
func TestLongBatchesAreNotKept(t *testing.T) {
	var tx text
	err := tx.parse([]byte("["+strings.Repeat("1,", 100_000)+"1]"), grammar{maxBatch: 1000})
	if err == nil || err.Error() != "batch of 100001 items is larger than the limit of 1000" || cap(tx.requests) > 2000 {
		t.Errorf("%v, room for %d requests", err, cap(tx.requests))
	}
}
