package load

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/lab/plan"
)

// Callers begin one after another over the ramp, each makes its calls, and the
// measured time ends with the last.
func TestRampAndCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		begins := map[int]time.Duration{}
		r, err := Run(t.Context(), Config{
			Conn: taking(10 * time.Millisecond), Workload: Sum(), Callers: 5, For: time.Hour,
			Shape: plan.Shape{Ramp: time.Second, Calls: 20},
			Sample: func(s Sample) {
				mu.Lock()
				defer mu.Unlock()
				if _, ok := begins[s.Caller]; !ok {
					begins[s.Caller] = s.Begin
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if want := time.Duration(i) * 200 * time.Millisecond; begins[i] != want {
				t.Errorf("caller %d began at %v, want %v", i, begins[i], want)
			}
		}
		if r.Latency.Count() != 100 || r.Censored != 0 || r.Seconds != 1 {
			t.Errorf("%d calls in %g s, %d censored; want 100 in 1 s", r.Latency.Count(), r.Seconds, r.Censored)
		}
	})
}

// A caller pauses between calls, and the pause is not in the time of a call.
func TestThinkTime(t *testing.T) {
	for name, exp := range map[string]bool{"even": false, "exponential": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Run(t.Context(), Config{
					Conn: taking(10 * time.Millisecond), Workload: Sum(), Callers: 10, For: 100 * time.Second,
					Shape: plan.Shape{Think: 90 * time.Millisecond, ThinkExp: exp},
				})
				if err != nil {
					t.Fatal(err)
				}
				// Ten callers, a call and a pause of 100 ms on average: 10,000 in 100 s.
				if n := float64(r.Latency.Count()); math.Abs(n-10_000) > 500 || !exp && n != 10_000 {
					t.Errorf("%g calls, want 10,000", n)
				}
				if r.Times.Min != int64(10*time.Millisecond) || r.Times.Max != r.Times.Min || r.Times.StdDev() != 0 {
					t.Errorf("a call of 10 ms took %+v", r.Times)
				}
			})
		})
	}
}

// alternating has two operations, of which the second fails.
type alternating struct{}

func (*alternating) Caller(seed uint64, i int) Caller {
	return &alternatingCaller{sumCaller: sum{}.Caller(seed, i).(*sumCaller)}
}

type alternatingCaller struct {
	*sumCaller
	n int
}

func (c *alternatingCaller) Op() string { return []string{"good", "bad"}[(c.n+1)%2] }

func (c *alternatingCaller) Next() (path string, in, out any) {
	c.n++
	return c.sumCaller.Next()
}

// meteredConn counts ten bytes out and twenty in for each call.
type meteredConn struct {
	connFunc
	calls int64
}

func (c *meteredConn) Bytes() (out, in int64) { return 10 * c.calls, 20 * c.calls }

func (c *meteredConn) Invoke(_ context.Context, _ string, _, out any, _ ...grpc.CallOption) error {
	c.calls++
	time.Sleep(time.Duration(c.calls%3) * time.Millisecond)
	if c.calls%2 == 0 {
		return status.Error(codes.NotFound, "no such thing")
	}
	_ = out
	return nil
}

// Each operation has its own counts, and each caller's connection its own bytes.
func TestOperationsAndBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var conns []*meteredConn
		r, err := Run(t.Context(), Config{
			Workload: &alternating{}, Callers: 2, For: time.Minute, Shape: plan.Shape{Calls: 10},
			Each: func(int) (grpc.ClientConnInterface, Meter, error) {
				conns = append(conns, new(meteredConn))
				c := conns[len(conns)-1]
				return c, c, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(conns) != 2 || len(r.Ops) != 2 || r.Ops[0].Name != "bad" || r.Ops[1].Name != "good" {
			t.Fatalf("%d connections, operations %+v", len(conns), r.Ops)
		}
		for _, op := range r.Ops {
			kind := map[string]string{"bad": "NOT_FOUND", "good": WrongReply}[op.Name]
			if op.Calls != 0 || op.Errors[kind] != 10 || len(op.Errors) != 1 || op.Out != 100 || op.In != 200 {
				t.Errorf("%s: %+v", op.Name, op)
			}
		}
		if r.Errors["NOT_FOUND"] != 10 || r.Errors[WrongReply] != 10 || !strings.Contains(r.FirstError, "gave 0") {
			t.Errorf("errors %v, first %q", r.Errors, r.FirstError)
		}
	})
}

// A connection that cannot be made ends the run before it begins.
func TestEachFails(t *testing.T) {
	refused := errors.New("refused")
	_, err := Run(t.Context(), Config{
		Workload: Sum(), Callers: 3, For: time.Second,
		Each: func(i int) (grpc.ClientConnInterface, Meter, error) {
			if i == 2 {
				return nil, nil, refused
			}
			return taking(0), nil, nil
		},
	})
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

func TestBadShapes(t *testing.T) {
	for want, shape := range map[string]plan.Shape{
		"stage 1 takes 0s":                 {Stages: []plan.Stage{{From: 1, To: 1}}},
		"from -1 to 5":                     {Stages: []plan.Stage{{For: time.Second, From: -1, To: 5}}},
		"from 0 to +Inf":                   {Stages: []plan.Stage{{For: time.Second, To: math.Inf(1)}}},
		"ramp, calls and think time are":   {Stages: []plan.Stage{{For: time.Second, To: 1}}, Calls: 3},
		"Poisson and patience are of open": {Poisson: true},
		"none may be negative":             {Think: -time.Second},
	} {
		_, err := Run(t.Context(), Config{Conn: taking(0), Workload: Sum(), Callers: 1, For: time.Second, Shape: shape})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
