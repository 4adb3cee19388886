package stream

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// A gate is a connection whose writes wait until the test lets them through.
type gate struct {
	net.Conn // not used
	resumable
	writes chan []byte   // what is being written
	pass   chan struct{} // lets one through
	closed chan struct{}
	once   sync.Once
}

type resumable bool

func (r resumable) WritesAreResumable() bool { return bool(r) }

func newGate(r resumable) *gate {
	return &gate{resumable: r, writes: make(chan []byte), pass: make(chan struct{}), closed: make(chan struct{})}
}

func (g *gate) Write(b []byte) (int, error) {
	select {
	case g.writes <- b:
	case <-g.closed:
		return 0, net.ErrClosed
	}
	select {
	case <-g.pass:
		return len(b), nil
	case <-g.closed:
		return 0, net.ErrClosed
	}
}

func (g *gate) Close() error {
	g.once.Do(func() { close(g.closed) })
	return nil
}

func (g *gate) SetWriteDeadline(time.Time) error { return nil }

func newTestWriter(conn net.Conn) *writer {
	w := newWriter(conn, time.Minute)
	w.busy = func() bool { return false }
	w.begins = func() {}
	return w
}

func unitOf(s string) *buffer { return &buffer{b: []byte(s)} }

// write queues text in the background and tells when write has returned.
func (w *writer) start(text string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := w.write(context.Background(), unitOf(text))
		done <- err
	}()
	return done
}

func (g *gate) want(t *testing.T, want string) {
	t.Helper()
	if got := <-g.writes; string(got) != want {
		t.Errorf("%.40q is written, want %.40q", got, want)
	}
}

// A writer serves its own bytes and one round more, then hands over.
func TestWriterHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(true)
		w := newTestWriter(g)
		first := w.start("a")
		g.want(t, "a")
		for _, text := range []string{"b", "c"} {
			if err := <-w.start(text); err != nil { // they append and leave
				t.Fatal(err)
			}
		}
		g.pass <- struct{}{}
		g.want(t, "bc") // one round, combined
		if err := <-w.start("d"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case <-first:
			t.Error("the writer left before its round was written")
		default:
		}
		g.pass <- struct{}{}
		g.want(t, "d")
		if err := <-first; err != nil { // though d is still being written
			t.Error(err)
		}
		g.pass <- struct{}{}
		if err := w.drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A connection that cannot go on after a write deadline is not written to by
// callers.
func TestWriterOfWhatIsNotResumable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(false)
		w := newTestWriter(g)
		if err := <-w.start("a"); err != nil {
			t.Fatal(err)
		}
		g.want(t, "a")
		g.pass <- struct{}{}
		synctest.Wait()
		if w.flushing || w.queued != 0 || w.written != 1 {
			t.Errorf("flushing is %v, %d bytes are queued, %d written", w.flushing, w.queued, w.written)
		}
	})
}

// Whoever waits for room gets its context's end, and nothing of its unit is
// sent. What waits is bounded in bytes.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(false)
		w := newTestWriter(g)
		unit := strings.Repeat("x", 100_000)
		waiting := make([]<-chan error, 0, 50)
		for range 50 {
			waiting = append(waiting, w.start(unit))
		}
		synctest.Wait()
		if w.queued <= maxQueued || w.queued > maxQueued+len(unit) {
			t.Errorf("%d bytes are queued", w.queued)
		}
		if w.offer(unitOf("no room")) {
			t.Error("a unit was taken though there is no room")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.write(ctx, unitOf("dropped")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		total := 0
		for total < 50*len(unit) {
			total += len(<-g.writes)
			g.pass <- struct{}{}
			synctest.Wait()
			if w.queued > maxQueued+len(unit) {
				t.Fatalf("%d bytes are queued", w.queued)
			}
		}
		for _, done := range waiting {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if w.queued != 0 || w.waiting != 0 || w.flushing {
			t.Errorf("%d bytes are queued, %d wait, flushing is %v", w.queued, w.waiting, w.flushing)
		}
	})
}

// A write that fails fails those that wait for room, and says of each unit
// whether it was handed to the socket.
func TestWriteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(false)
		w := newTestWriter(g)
		first, err := w.write(t.Context(), unitOf("first"))
		if err != nil {
			t.Fatal(err)
		}
		g.want(t, "first")
		g.pass <- struct{}{}
		g2, err := w.write(t.Context(), unitOf("second"))
		if err != nil {
			t.Fatal(err)
		}
		g.want(t, "second")
		if err := <-w.start(strings.Repeat("x", maxQueued+1)); err != nil {
			t.Fatal(err)
		}
		waits := w.start("waits")
		synctest.Wait()
		want := errors.New("the test closes it")
		w.fail(want)
		w.fail(errors.New("a later error"))
		if err := <-waits; !errors.Is(err, want) {
			t.Errorf("error is %v", err)
		}
		if !w.isWritten(t.Context(), first) || w.isWritten(t.Context(), g2) {
			t.Errorf("written: first %v, second %v", w.isWritten(t.Context(), first), w.isWritten(t.Context(), g2))
		}
		if err := w.drain(t.Context()); !errors.Is(err, want) {
			t.Errorf("error is %v", err)
		}
		if _, err := w.write(t.Context(), unitOf("late")); !errors.Is(err, want) {
			t.Errorf("error is %v", err)
		}
	})
}

// A call whose connection is about to be closed does not wait beyond its context
// for a write that the peer does not take.
func TestIsWrittenEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(true)
		w := newTestWriter(g)
		w.post(unitOf("a"))
		g.want(t, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if !w.isWritten(ctx, 1) {
			t.Error("what is being written is said not to have been")
		}
		w.fail(net.ErrClosed)
		if w.isWritten(t.Context(), 1) {
			t.Error("what was not written is said to have been")
		}
	})
}

// A large message is written from where it was encoded, in chunks, also with
// others before and behind it.
func TestLargeIsNotCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(false)
		w := newTestWriter(g)
		large := bytes.Repeat([]byte("0123456789abcdef"), 50<<10)
		wait := func() {
			if err := <-w.start("small"); err != nil {
				t.Fatal(err)
			}
		}
		wait()
		g.want(t, "small")
		wait()
		if _, err := w.write(t.Context(), &buffer{large}); err != nil {
			t.Fatal(err)
		}
		wait()
		g.pass <- struct{}{}
		g.want(t, "small")
		g.pass <- struct{}{}
		for at := 0; at < len(large); {
			got := <-g.writes
			if unsafe.SliceData(got) != &large[at] {
				t.Fatalf("at %d it was copied", at)
			}
			if len(got) > chunk {
				t.Errorf("a chunk has %d bytes", len(got))
			}
			at += len(got)
			g.pass <- struct{}{}
		}
		g.want(t, "small")
		g.pass <- struct{}{}
		synctest.Wait()
	})
}

// A queue of middle-sized messages is not copied together either.
func TestMiddleIsNotCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(false)
		w := newTestWriter(g)
		if err := <-w.start("first"); err != nil {
			t.Fatal(err)
		}
		g.want(t, "first")
		middle := make([]byte, 100_000)
		if _, err := w.write(t.Context(), &buffer{middle}); err != nil {
			t.Fatal(err)
		}
		if err := <-w.start("small"); err != nil {
			t.Fatal(err)
		}
		g.pass <- struct{}{}
		if got := <-g.writes; unsafe.SliceData(got) != &middle[0] {
			t.Error("it was copied")
		}
		g.pass <- struct{}{}
		g.want(t, "small")
		g.pass <- struct{}{}
		synctest.Wait()
	})
}

// A large message pins no memory when it is over.
func TestLargeIsNotRetained(t *testing.T) {
	for _, size := range []int{keep + 1, 4 << 20} {
		(&buffer{make([]byte, size)}).free()
		newReadBuffer(size).free()
		for range 100 {
			if b := newBuffer(); cap(b.b) > keep {
				t.Fatalf("a buffer of %d bytes came back", cap(b.b))
			}
		}
	}

}
