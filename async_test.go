package everywire

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// silent keeps the log of panics that a test is about out of its output.
func silent(t *testing.T) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(old) })
}

// counting answers after a second, and knows how many calls are in flight.
type counting struct{ now, most atomic.Int64 }

func (c *counting) conn() connFunc {
	return func(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
		n := c.now.Add(1)
		for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
		}
		defer c.now.Add(-1)
		select {
		case <-time.After(time.Second):
			return double(ctx, method, args, reply, opts...)
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

func TestAsyncIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counting
		a := NewAsync(c.conn(), 100)
		var sum atomic.Int64
		begin := time.Now()
		for n := range int64(1000) {
			err := Submit(t.Context(), a, "s.S/Double", &req{N: n}, func(out *rep, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				sum.Add(out.N)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		a.Close()
		if took := time.Since(begin); c.most.Load() != 100 || took != 10*time.Second {
			t.Errorf("%d calls were in flight, and all took %v", c.most.Load(), took)
		}
		if sum.Load() != 999*1000 {
			t.Errorf("the replies add up to %d", sum.Load())
		}
		if err := Submit(t.Context(), a, "s.S/Double", &req{}, func(*rep, error) { t.Error("called") }); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("after Close: %v", err)
		}
	})
}

// A caller waits for room as long as its context lasts.
func TestAsyncBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counting
		a := NewAsync(c.conn(), 0) // which is one
		defer a.Close()
		called := 0
		if err := Submit(t.Context(), a, "s.S/Double", &req{}, func(*rep, error) { called++ }); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for range 2 { // the second time it has ended before
			err := Submit(short, a, "s.S/Double", &req{}, func(*rep, error) { t.Error("called") })
			if status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("without room: %v", err)
			}
		}
		a.Wait()
		if called != 1 {
			t.Errorf("the callback was called %d times", called)
		}
	})
}

// A callback may submit the next call, also when all slots were taken.
func TestAsyncChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counting
		a := NewAsync(c.conn(), 2)
		var left atomic.Int64
		left.Store(20)
		var next func(*rep, error)
		next = func(_ *rep, err error) {
			if err != nil {
				t.Error(err)
			}
			if left.Add(-1) > 0 {
				if err := Submit(t.Context(), a, "s.S/Double", &req{}, next); err != nil {
					t.Error(err)
				}
			}
		}
		for range 2 {
			if err := Submit(t.Context(), a, "s.S/Double", &req{}, next); err != nil {
				t.Fatal(err)
			}
		}
		a.Wait()
		if left.Load() > 0 || c.most.Load() != 2 {
			t.Errorf("%d calls are left; %d were in flight", left.Load(), c.most.Load())
		}
		a.Close()
	})
}

// What a callback or an encoding does wrong ends nothing else.
func TestAsyncMistakes(t *testing.T) {
	silent(t)
	conn := connFunc(func(_ context.Context, _ string, args, _ any, _ ...grpc.CallOption) error {
		switch args.(*req).N {
		case 1:
			panic("in the encoding")
		case 2:
			runtime.Goexit()
		}
		return nil
	})
	a := NewAsync(conn, 1)
	var internal atomic.Int64
	for n := range int64(5) {
		err := Submit(t.Context(), a, "s.S/Double", &req{N: n}, func(_ *rep, err error) {
			if status.Code(err) == codes.Internal {
				internal.Add(1)
			}
			switch n {
			case 3:
				panic("in a callback")
			case 4:
				runtime.Goexit()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	if internal.Load() != 2 {
		t.Errorf("%d calls are Internal, of the two that did not return", internal.Load())
	}
	if _, err := Start[rep](t.Context(), conn, "s.S/Double", &req{N: 1}).Wait(t.Context()); status.Code(err) != codes.Internal {
		t.Errorf("a future that panics: %v", err)
	}
}

// A method of a generated client is called in the same ways.
func TestFuncs(t *testing.T) {
	method := func(_ context.Context, in *req, opts ...grpc.CallOption) (*rep, error) {
		if len(opts) != 1 {
			t.Errorf("%d options", len(opts))
		}
		return &rep{N: 2 * in.N}, nil
	}
	out, err := StartFunc(t.Context(), method, &req{N: 4}, grpc.WaitForReady(true)).Wait(t.Context())
	if err != nil || out.N != 8 {
		t.Errorf("a future: %v, %v", out, err)
	}
	a := NewAsync(nil, 1)
	got := make(chan *rep, 1)
	if err := SubmitFunc(t.Context(), a, method, &req{N: 5}, func(out *rep, _ error) { got <- out }, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if out := <-got; out.N != 10 {
		t.Errorf("a callback: %v", out)
	}
}
