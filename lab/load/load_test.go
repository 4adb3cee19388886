package load

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/arith"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connFunc is a connection whose calls are a function.
type connFunc func(ctx context.Context, in *arith.SumRequest, out *arith.SumReply) error

func (f connFunc) Invoke(ctx context.Context, path string, in, out any, _ ...grpc.CallOption) error {
	if path != "/arith.Arith/Sum" {
		return status.Error(codes.Unimplemented, path)
	}
	return f(ctx, in.(*arith.SumRequest), out.(*arith.SumReply))
}

func (connFunc) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

func add(in *arith.SumRequest, out *arith.SumReply) { out.Sum = in.Numbers[0] + in.Numbers[1] }

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := connFunc(func(_ context.Context, in *arith.SumRequest, out *arith.SumReply) error {
			for _, n := range in.Numbers {
				if n < 1 || n > 99 {
					return status.Errorf(codes.InvalidArgument, "%d is not in 1..99", n)
				}
			}
			time.Sleep(10 * time.Millisecond)
			add(in, out)
			return nil
		})
		r, err := Run(t.Context(), Config{Conn: conn, Workload: Sum(), Callers: 3, For: 105 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		// Each caller ends ten calls; its eleventh is open at 105 ms.
		if r.Latency.Count() != 30 || r.Censored != 3 || r.Errors != nil || r.FirstError != "" || r.Seconds != 0.105 {
			t.Errorf("count %d, %+v", r.Latency.Count(), r)
		}
		if r.OpenShare < 1.499 || r.OpenShare > 1.501 {
			t.Errorf("three calls were half done at the end: share %v", r.OpenShare)
		}
		for _, p := range []float64{0, 50, 99, 100} {
			if got := r.Latency.Percentile(p); got < 9_990_000 || got > 10_010_000 {
				t.Errorf("p%v is %d ns, want 10 ms", p, got)
			}
		}
	})
}

// A call that ends exactly with the window is in it, and none starts after.
func TestWindowEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := connFunc(func(_ context.Context, in *arith.SumRequest, out *arith.SumReply) error {
			time.Sleep(10 * time.Millisecond)
			add(in, out)
			return nil
		})
		r, err := Run(t.Context(), Config{Conn: conn, Workload: Sum(), Callers: 1, For: 100 * time.Millisecond})
		if err != nil || r.Latency.Count() != 10 || r.Censored != 0 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

func TestErrorsAreNotThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n int
		conn := connFunc(func(_ context.Context, in *arith.SumRequest, out *arith.SumReply) error {
			time.Sleep(time.Millisecond)
			add(in, out)
			n++
			switch n % 4 {
			case 1:
				out.Sum++
			case 2:
				return status.Error(codes.Unavailable, "gone")
			case 3:
				return errors.New("not a status")
			}
			return nil
		})
		r, err := Run(t.Context(), Config{Conn: conn, Workload: Sum(), Callers: 1, For: 40 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int64{WrongReply: 10, "UNAVAILABLE": 10, "UNKNOWN": 10}
		if diff := cmp.Diff(want, r.Errors); diff != "" || r.Latency.Count() != 10 {
			t.Errorf("%d correct, errors (-want +got):\n%s", r.Latency.Count(), diff)
		}
		if !strings.HasPrefix(r.FirstError, "wrong reply: ") {
			t.Errorf("first error %q", r.FirstError)
		}
	})
}

// A reply of the call before must not pass for the reply of this one.
func TestForgottenReplyIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		conn := connFunc(func(_ context.Context, in *arith.SumRequest, out *arith.SumReply) error {
			time.Sleep(time.Millisecond)
			if n++; n == 1 {
				add(in, out)
			}
			return nil
		})
		r, err := Run(t.Context(), Config{Conn: conn, Workload: Sum(), Callers: 1, For: 20 * time.Millisecond})
		if err != nil || r.Latency.Count() != 1 || r.Errors[WrongReply] != 19 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

func TestHungCallIsCancelledAndCensored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		conn := connFunc(func(ctx context.Context, in *arith.SumRequest, out *arith.SumReply) error {
			if n.Add(1) == 5 {
				<-ctx.Done()
				return status.FromContextError(ctx.Err()).Err()
			}
			time.Sleep(10 * time.Millisecond)
			add(in, out)
			return nil
		})
		begin := time.Now()
		r, err := Run(t.Context(), Config{Conn: conn, Workload: Sum(), Callers: 2, For: 100 * time.Millisecond, Drain: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 1100*time.Millisecond {
			t.Errorf("took %v, want the window and the drain bound", took)
		}
		if r.OpenShare != 0 {
			t.Errorf("a cancelled call has a share of %v", r.OpenShare)
		}
		if r.Censored != 1 || r.Errors != nil || r.Latency.Count() != 12 {
			t.Errorf("%+v, %d calls", r, r.Latency.Count())
		}
	})
}

func TestCallThatIgnoresCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		conn := connFunc(func(context.Context, *arith.SumRequest, *arith.SumReply) error {
			<-release
			return nil
		})
		_, err := Run(t.Context(), Config{Conn: conn, Workload: Sum(), Callers: 1, For: time.Millisecond, Drain: time.Second})
		if err == nil || !strings.Contains(err.Error(), "did not return") {
			t.Errorf("error %v", err)
		}
		close(release)
	})
}

func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		conn := connFunc(func(ctx context.Context, _ *arith.SumRequest, _ *arith.SumReply) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if _, err := Run(ctx, Config{Conn: conn, Workload: Sum(), Callers: 4, For: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestBadConfig(t *testing.T) {
	for _, c := range []Config{{Callers: 0, For: 1}, {Callers: 1}} {
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestResultCrossesProcesses(t *testing.T) {
	r := Result{Seconds: 0.5, Errors: map[string]int64{"UNKNOWN": 2}, FirstError: "x", Censored: 3}
	r.Latency.Record(1234)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.Latency.Count() != 1 || back.Latency.Percentile(50) != r.Latency.Percentile(50) {
		t.Errorf("latency: %v", back.Latency)
	}
	if back.Seconds != r.Seconds || back.Errors["UNKNOWN"] != 2 || back.FirstError != "x" || back.Censored != 3 {
		t.Errorf("%+v", back)
	}
}

// The harness itself allocates nothing for a call, with operations and bytes that are
// counted as well.
func TestCallsDoNotAllocate(t *testing.T) {
	for name, work := range map[string]Workload{"one operation": Sum(), "several": Mix(twoSums)} {
		t.Run(name, func(t *testing.T) {
			conn := new(meteredSum)
			config := &Config{
				Workload: work, Callers: 1, For: time.Hour,
				Each:   func(int) (grpc.ClientConnInterface, Meter, error) { return conn, conn, nil },
				Sample: func(Sample) {},
			}
			g := newGate(config.For)
			g.start = time.Now()
			c, err := newCaller(config, 0, newCounts(config))
			if err != nil {
				t.Fatal(err)
			}
			call := func() {
				path, in, out := c.work.Next()
				if begin := g.now(); !c.call(t.Context(), g, path, in, out, begin, begin) {
					t.Fatal("the time was over")
				}
			}
			for range 10 { // makes each operation's histogram
				call()
			}
			if n := testing.AllocsPerRun(1000, call); n != 0 {
				t.Errorf("%v allocations a call", n)
			}
			if c.counts.all.errors != nil {
				t.Error(c.counts.all.errors)
			}
		})
	}
}

// meteredSum adds, and counts a byte each way.
type meteredSum struct {
	connFunc
	calls int64
}

func (c *meteredSum) Bytes() (out, in int64) { return c.calls, c.calls }

func (c *meteredSum) Invoke(_ context.Context, _ string, in, out any, _ ...grpc.CallOption) error {
	c.calls++
	add(in.(*arith.SumRequest), out.(*arith.SumReply))
	return nil
}
