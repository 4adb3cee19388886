package rest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func none(dst []byte) []byte { return dst }

// While one write is under way what is sent gathers; a sender waits only when
// there is too much of it, and not beyond its context.
func TestOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := make(chan string)
		o := newOutbox(func(batch []byte) error {
			writes <- string(batch)
			return nil
		}, none)
		send := func(s string) {
			t.Helper()
			if err := o.send(t.Context(), []byte(s)); err != nil {
				t.Error(err)
			}
		}
		send("a")
		synctest.Wait() // the write of it is under way
		send("b")
		send("c")
		if a, bc := <-writes, <-writes; a != "a" || bc != "bc" {
			t.Errorf("the writes are %q, %q", a, bc)
		}
		send("d")
		synctest.Wait()
		send(strings.Repeat("x", outboxRoom))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := o.send(ctx, []byte("y")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without room: %v", err)
		}
		o.finish([]byte("last"))
		if err := o.send(t.Context(), []byte("z")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("behind the last: %v", err)
		}
		if d, rest := <-writes, <-writes; d != "d" || rest != strings.Repeat("x", outboxRoom)+"last" {
			t.Errorf("the writes are %q and one of %d bytes", d, len(rest))
		}
		<-o.done
	})
}

// A write that fails ends everything, and wakes who waits for room; so does a
// peer that wants no more.
func TestOutboxFails(t *testing.T) {
	for name, end := range map[string]func(o *outbox, release chan error){
		"write": func(_ *outbox, release chan error) { release <- io.ErrShortWrite },
		"seal": func(o *outbox, release chan error) {
			o.seal()
			o.finish(nil)
			release <- nil
		},
		"fail": func(o *outbox, release chan error) {
			o.fail(io.ErrShortWrite)
			release <- nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan error)
			o := newOutbox(func([]byte) error { return <-release }, none)
			sent := make(chan error)
			go func() {
				err := error(nil)
				for err == nil {
					err = o.send(t.Context(), make([]byte, outboxRoom))
				}
				sent <- err
			}()
			synctest.Wait()
			go end(o, release)
			if err := <-sent; err == nil {
				t.Errorf("%s: the sender was not told", name)
			}
			<-o.done
			if queued := o.post([]byte("x")); queued != 0 {
				t.Errorf("%s: %d bytes wait for nobody", name, queued)
			}
		})
	}
}

// Only a silence is broken.
func TestOutboxIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		o := newOutbox(func([]byte) error {
			at = append(at, time.Since(begin))
			return nil
		}, func(dst []byte) []byte { return append(dst, '.') })
		time.Sleep(keepAlive - time.Second)
		if err := o.send(t.Context(), []byte("x")); err != nil {
			t.Error(err)
		}
		time.Sleep(2*keepAlive + time.Second/2)
		o.finish(nil)
		<-o.done
		if want := keepAlive - time.Second; len(at) != 3 || at[0] != want || at[1] != want+keepAlive || at[2] != want+2*keepAlive {
			t.Errorf("it wrote after %v", at)
		}
	})
}

// Messages come out as they went in; who puts them in waits when nobody takes
// them, until the inbox is closed.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		const n = 1000
		put := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ; put < n; put++ {
				b.put([]byte(itoa(put) + strings.Repeat("x", 1000)))
			}
			b.close(io.EOF)
		}()
		synctest.Wait()
		if put > 2*inboxRoom/1000 {
			t.Errorf("%d messages wait", put)
		}
		for want := range n {
			m, err := b.take(t.Context())
			if err != nil || !strings.HasPrefix(string(m), itoa(want)+"x") || len(m) != 1000+len(itoa(want)) {
				t.Fatalf("message %d is %.10q, %v", want, m, err)
			}
		}
		for range 2 {
			if m, err := b.take(t.Context()); m != nil || !errors.Is(err, io.EOF) {
				t.Errorf("the end is %q, %v", m, err)
			}
		}
		<-done

		b = newInbox()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an empty one: %v", err)
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range n {
				b.put(make([]byte, 1000))
			}
		}()
		synctest.Wait()
		b.close(io.ErrClosedPipe)
		<-over
	})
}
