package load

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/service/arith"
)

// bubbleSleeper sleeps on the clock of a synctest bubble, which a timer of the
// system knows nothing of.
type bubbleSleeper struct {
	now     func() int64
	stopped chan struct{}
}

func inBubble(now func() int64) pacerSleeper { return &bubbleSleeper{now, make(chan struct{})} }

func (s *bubbleSleeper) Until(t int64) {
	timer := time.NewTimer(time.Duration(t - s.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stopped:
	}
}

func (s *bubbleSleeper) Stop() { close(s.stopped) }

// taking is a connection whose calls take some time.
func taking(d time.Duration) connFunc {
	return func(_ context.Context, in *arith.SumRequest, out *arith.SumReply) error {
		time.Sleep(d)
		add(in, out)
		return nil
	}
}

func steady(rate float64, d time.Duration) plan.Shape {
	return plan.Shape{Stages: []plan.Stage{{For: d, From: rate, To: rate}}}
}

// Calls of an open loop begin when their time has come, and what each is counted
// as can be said beforehand.
func TestOpenLoop(t *testing.T) {
	for name, tc := range map[string]struct {
		callers int
		takes   time.Duration
		shape   plan.Shape
		want    Result
	}{
		// 100 calls a second that take 5 ms: each has ended before the next begins.
		"quick": {4, 5 * time.Millisecond, steady(100, time.Second), Result{Scheduled: 100}},
		// One caller does a fifth of what is due: each call begins later than the one
		// before it, and 80 have not begun at the end. The last is open then.
		"slow": {1, 50 * time.Millisecond, steady(100, time.Second), Result{Scheduled: 100, Late: 19, Unsent: 80}},
		// The same, where nobody waits for longer than 25 ms: at the end those are
		// unsent that have waited for less.
		"impatient": {1, 50 * time.Millisecond, func() plan.Shape {
			s := steady(100, time.Second)
			s.Patience = 25 * time.Millisecond
			return s
		}(), Result{Scheduled: 100, Late: 19, Dropped: 78, Unsent: 2}},
		// Calls that outlast the run.
		"open at the end": {200, 10 * time.Second, steady(100, time.Second), Result{Scheduled: 100, Censored: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Run(t.Context(), Config{
					Conn: taking(tc.takes), Workload: Sum(), Callers: tc.callers, For: time.Second, Drain: time.Minute, Shape: tc.shape, sleeper: inBubble,
				})
				if err != nil {
					t.Fatal(err)
				}
				if r.Scheduled != tc.want.Scheduled || r.Late != tc.want.Late || r.Dropped != tc.want.Dropped || r.Unsent != tc.want.Unsent ||
					r.Censored != tc.want.Censored || r.PacerLate != 0 {
					t.Errorf("got %d scheduled, %d late (%d the pacer's), %d dropped, %d unsent, %d censored; want %+v",
						r.Scheduled, r.Late, r.PacerLate, r.Dropped, r.Unsent, r.Censored, tc.want)
				}
				if sum := r.Latency.Count() + r.Censored + r.Dropped + r.Unsent; sum != r.Scheduled {
					t.Errorf("%d of %d scheduled calls are accounted for", sum, r.Scheduled)
				}
				if lag := r.Lag.Percentile(100); lag > 1 {
					t.Errorf("the generator was late by up to %d ns", lag)
				}
				if r.Latency.Count() != r.Intended.Count() || r.Times.Count != r.Latency.Count() {
					t.Errorf("%d, %d and %d latencies", r.Latency.Count(), r.Intended.Count(), r.Times.Count)
				}
			})
		})
	}
}

// Whatever is asked for and however calls end, every scheduled call is one of the
// five things that can become of it.
func TestEveryCallIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shape := plan.Shape{Poisson: rapid.Bool().Draw(rt, "poisson"), Patience: rapid.SampledFrom([]time.Duration{0, time.Millisecond, 20 * time.Millisecond}).Draw(rt, "patience")}
		for range rapid.IntRange(1, 3).Draw(rt, "stages") {
			shape.Stages = append(shape.Stages, plan.Stage{
				For:  time.Duration(rapid.IntRange(1, 200).Draw(rt, "ms")) * time.Millisecond,
				From: float64(rapid.IntRange(0, 3000).Draw(rt, "from")), To: float64(rapid.IntRange(0, 3000).Draw(rt, "to")),
			})
		}
		callers, seed := rapid.IntRange(1, 20).Draw(rt, "callers"), rapid.Uint64().Draw(rt, "seed")
		longest := time.Duration(rapid.IntRange(0, 50).Draw(rt, "longest")) * time.Millisecond
		synctest.Test(t, func(*testing.T) {
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, 1))
			conn := connFunc(func(_ context.Context, in *arith.SumRequest, out *arith.SumReply) error {
				mu.Lock()
				takes, what := time.Duration(random.Int64N(int64(longest)+1)), random.IntN(10)
				mu.Unlock()
				time.Sleep(takes)
				switch what {
				case 0:
					return status.Error(codes.Unavailable, "no")
				case 1:
					return nil // a wrong reply
				}
				add(in, out)
				return nil
			})
			var samples, dropped atomic.Int64
			r, err := Run(context.Background(), Config{
				Conn: conn, Workload: Sum(), Callers: callers, For: 300 * time.Millisecond, Drain: time.Minute, Seed: seed, Shape: shape, sleeper: inBubble,
				Sample: func(s Sample) {
					samples.Add(1)
					if s.Dropped {
						dropped.Add(1)
					}
					if s.Begin < s.Scheduled || s.End < s.Begin {
						rt.Errorf("a sample goes backwards: %+v", s)
					}
				},
			})
			if err != nil {
				rt.Fatal(err)
			}
			var failed int64
			for _, n := range r.Errors {
				failed += n
			}
			began := r.Latency.Count() + failed + r.Censored
			if began+r.Dropped+r.Unsent != r.Scheduled {
				rt.Errorf("%d right, %d failed, %d censored, %d dropped, %d unsent of %d", r.Latency.Count(), failed, r.Censored, r.Dropped, r.Unsent, r.Scheduled)
			}
			if samples.Load() != began+r.Dropped || dropped.Load() != r.Dropped {
				rt.Errorf("%d samples, %d of dropped calls; want %d and %d", samples.Load(), dropped.Load(), began+r.Dropped, r.Dropped)
			}
		})
	})
}

// all are the times of a whole schedule.
func all(s plan.Shape, seed uint64) []time.Duration {
	var times []time.Duration
	for sch := newSchedule(s, seed); ; {
		at, ok := sch.next()
		if !ok {
			return times
		}
		times = append(times, at)
	}
}

// The n-th call of an even schedule is due where the integral of the rate is n, and
// as many are due in all as the whole integral.
func TestScheduleFollowsTheRate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s plan.Shape
		for range rapid.IntRange(1, 4).Draw(rt, "stages") {
			s.Stages = append(s.Stages, plan.Stage{
				For:  time.Duration(rapid.IntRange(1, 5000).Draw(rt, "ms")) * time.Millisecond,
				From: rapid.Float64Range(0, 500).Draw(rt, "from"), To: rapid.Float64Range(0, 500).Draw(rt, "to"),
			})
		}
		integral := func(at time.Duration) float64 {
			sum := 0.0
			for _, st := range s.Stages {
				t := min(at, st.For).Seconds()
				sum += st.From*t + (st.To-st.From)*t*t/(2*st.For.Seconds())
				if at -= st.For; at <= 0 {
					break
				}
			}
			return sum
		}
		times := all(s, 1)
		whole := 0.0
		for _, st := range s.Stages {
			whole += st.Calls()
		}
		if n := float64(len(times)); n < whole-1e-6 || n > whole+1+1e-6 {
			rt.Errorf("%d calls, the integral is %g", len(times), whole)
		}
		if !slices.IsSorted(times) {
			rt.Error("times are not in order")
		}
		for n, at := range times {
			if got := integral(at); math.Abs(got-float64(n)) > 1e-5*(1+float64(n)) {
				rt.Fatalf("call %d is due at %v, where the integral is %g", n, at, got)
			}
		}
	})
}

// A Poisson process has as many calls as its rate says, within what chance allows,
// and gaps whose deviation is their mean; the same seed gives the same.
func TestPoisson(t *testing.T) {
	s := steady(1000, 100*time.Second)
	s.Poisson = true
	times := all(s, 42)
	if n := float64(len(times)); math.Abs(n-100_000) > 5*math.Sqrt(100_000) {
		t.Errorf("%g calls", n)
	}
	var sum, squares float64
	for i := 1; i < len(times); i++ {
		gap := (times[i] - times[i-1]).Seconds() * 1000
		sum, squares = sum+gap, squares+gap*gap
	}
	n := float64(len(times) - 1)
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(mean-1) > 0.02 || math.Abs(deviation-1) > 0.03 {
		t.Errorf("gaps have the mean %g and the deviation %g, in units of the mean that was asked for", mean, deviation)
	}
	if !slices.Equal(times, all(s, 42)) || slices.Equal(times, all(s, 43)) {
		t.Error("a seed gives one process, and another seed another")
	}
}

// On the machine's own clock no call begins early, and none is lost.
func TestPacerOnTheClock(t *testing.T) {
	var early atomic.Int64
	r, err := Run(t.Context(), Config{
		Conn: taking(0), Workload: Sum(), Callers: 4, For: 200 * time.Millisecond, Shape: steady(500, 200*time.Millisecond),
		Sample: func(s Sample) {
			if s.Begin < s.Scheduled {
				early.Add(1)
			}
		},
	})
	if err != nil || r.Scheduled != 100 || early.Load() != 0 || r.Latency.Count()+r.Censored+r.Unsent != 100 {
		t.Errorf("%v, %d scheduled, %d early, %d right, %d censored, %d unsent", err, r.Scheduled, early.Load(), r.Latency.Count(), r.Censored, r.Unsent)
	}
}

// A run that is given up ends at once.
func TestOpenLoopIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := Run(ctx, Config{Conn: taking(0), Workload: Sum(), Callers: 2, For: time.Hour, Shape: steady(100, time.Hour)}); err == nil {
		t.Error("a run of an hour was over")
	}
}
