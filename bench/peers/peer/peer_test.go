package peer

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// serve serves a peer on a free port until the test ends.
func serve(t *testing.T, p Peer) (addr string) {
	t.Helper()
	lis, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ending atomic.Bool
	t.Cleanup(func() {
		ending.Store(true)
		lis.Close()
	})
	go func() {
		if err := p.Serve(lis); !ending.Load() {
			panic(p.Name + " serves no more: " + fmt.Sprint(err))
		}
	}()
	return lis.Addr().String()
}

// Every peer gives back what it is sent, at every size, to callers that share a
// connection, each of which gets its own.
func TestEcho(t *testing.T) {
	for _, p := range All() {
		t.Run(strings.ReplaceAll(p.Name, "/", "-"), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			conn, err := p.Dial(ctx, serve(t, p))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for _, size := range []int{0, 1, 64, 1 << 10, 64 << 10} {
				echo(ctx, t, conn, int64(size)<<40+1, strings.Repeat("é\"", size/3)+strings.Repeat("x", size%3))
			}
			if !p.Shared {
				return
			}
			var wg sync.WaitGroup
			for caller := range int64(16) {
				wg.Go(func() {
					for i := range int64(20) {
						echo(ctx, t, conn, caller<<32|i, strings.Repeat(string(rune('a'+caller)), 64))
					}
				})
			}
			wg.Wait()
		})
	}
}

// The document comes back whole from every peer that carries it.
func TestDocument(t *testing.T) {
	for _, p := range All() {
		if !p.Documents {
			continue
		}
		t.Run(strings.ReplaceAll(p.Name, "/", "-"), func(t *testing.T) {
			conn, err := p.Dial(t.Context(), serve(t, p))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			call, err := conn.(Documenter).Document(PushEvent)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := call(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func echo(ctx context.Context, t *testing.T, conn Conn, seq int64, text string) {
	t.Helper()
	gotSeq, gotText, err := conn.Call(ctx, seq, text)
	if err != nil || gotSeq != seq || gotText != text {
		t.Errorf("sent %d and %d bytes, got %d and %d bytes: %v", seq, len(text), gotSeq, len(gotText), err)
	}
}

func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if seen[p.Name] || p.Form == "" {
			t.Errorf("%q is there twice or has no form", p.Name)
		}
		seen[p.Name] = true
		if found, ok := Find(p.Name); !ok || found.Name != p.Name {
			t.Errorf("%q is not found", p.Name)
		}
	}
	if _, ok := Find("none"); ok {
		t.Error("found what is not there")
	}
}

func TestPipeline(t *testing.T) {
	addr := serve(t, raw)
	for _, tc := range []struct{ depth, size int }{{1, 0}, {8, 64}, {64, 64}, {64, 1 << 10}, {8, 64 << 10}, {64, 64 << 10}} {
		conn, err := raw.Dial(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		time.AfterFunc(20*time.Millisecond, func() { close(stop) })
		n, err := conn.(Pipeliner).Pipeline(stop, tc.depth, strings.Repeat("x", tc.size))
		if err != nil || n < int64(tc.depth) {
			t.Errorf("depth %d, %d bytes: %d came back: %v", tc.depth, tc.size, n, err)
		}
		conn.Close()
	}
}

// The limit is none if it takes a wrong echo for a right one.
func TestRawChecks(t *testing.T) {
	lis, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	go accept(lis, func(nc net.Conn) {
		defer nc.Close()
		buf := make([]byte, 1<<10)
		for {
			n, err := nc.Read(buf)
			if err != nil {
				return
			}
			buf[n-1]++
			nc.Write(buf[:n])
		}
	})
	for name, call := range map[string]func(Conn) error{
		"call": func(c Conn) error {
			_, _, err := c.Call(t.Context(), 1, "text")
			return err
		},
		"pipeline": func(c Conn) error {
			_, err := c.(Pipeliner).Pipeline(nil, 2, "text")
			return err
		},
	} {
		conn, err := raw.Dial(t.Context(), lis.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := call(conn); err == nil || !strings.Contains(err.Error(), "not what was sent") {
			t.Errorf("%s: %v", name, err)
		}
		conn.Close()
	}
}

func TestWhole(t *testing.T) {
	two := appendFrame(appendFrame(nil, 1, "one"), 2, "two")
	one := len(two) / 2
	for n := range len(two) + 1 {
		done, next, err := whole(two[:n])
		wantNext := 0
		if n%one >= rawLength {
			wantNext = one
		}
		if err != nil || done != n/one*one || next != wantNext {
			t.Errorf("%d bytes: %d done, %d next, %v", n, done, next, err)
		}
	}
	for _, bad := range [][]byte{{0, 0, 0, 7}, {0xff, 0xff, 0xff, 0xff}, slices.Concat(two, []byte{0, 0, 0, 0})} {
		if _, _, err := whole(bad); err == nil {
			t.Errorf("% x was taken for frames", bad)
		}
	}
}
