package load

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/service/arith"
)

// twoSums are two operations, 3 to 1.
func twoSums(seed uint64, i int) []Operation {
	return []Operation{
		{"often", Sum().Caller(seed, i), 3},
		{"seldom", Sum().Caller(seed+1, i), 1},
	}
}

func opsOf(w Workload, caller, n int) []string {
	c := w.Caller(1, caller)
	var ops []string
	for range n {
		c.Next()
		ops = append(ops, c.(*mixCaller).Op())
	}
	return ops
}

func TestSequence(t *testing.T) {
	want := []string{"often", "often", "often", "seldom", "often", "often", "often", "seldom", "often"}
	for i := range 2 {
		if got := opsOf(Sequence(twoSums), i, len(want)); !slices.Equal(got, want) {
			t.Errorf("caller %d: %v, want %v", i, got, want)
		}
	}
}

func TestMix(t *testing.T) {
	const n = 100_000
	ops := opsOf(Mix(twoSums), 0, n)
	seldom := 0
	for _, op := range ops {
		if op == "seldom" {
			seldom++
		}
	}
	// Five deviations of a binomial distribution.
	if far := math.Abs(float64(seldom) - n/4); far > 5*math.Sqrt(n*0.25*0.75) {
		t.Errorf("%d of %d, want a quarter", seldom, n)
	}
	if !slices.Equal(ops, opsOf(Mix(twoSums), 0, n)) {
		t.Error("the same seed and caller give another order")
	}
	if slices.Equal(ops, opsOf(Mix(twoSums), 1, n)) {
		t.Error("all callers have the same order: they call the same at the same time")
	}
}

// Each operation is counted by itself, with its own times, and all of them together.
func TestOperationsOfASequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		conn := connFunc(func(_ context.Context, in *arith.SumRequest, out *arith.SumReply) error {
			add(in, out)
			takes := time.Millisecond
			if calls%4 == 3 {
				takes = time.Duration(calls/4+1) * 10 * time.Millisecond // 10, 20 … 50 ms
			}
			calls++
			time.Sleep(takes)
			return nil
		})
		r, err := Run(t.Context(), Config{Conn: conn, Workload: Sequence(twoSums), Callers: 1, For: time.Minute, Shape: plan.Shape{Calls: 20}})
		if err != nil || len(r.Ops) != 2 {
			t.Fatal(err, r)
		}
		often, seldom := r.Ops[0], r.Ops[1]
		if often.Name != "often" || often.Calls != 15 || often.Times.Mean != 1e6 || often.Times.StdDev() != 0 {
			t.Errorf("%+v", often)
		}
		// The deviation of 10, 20, 30, 40 and 50 is the root of 200.
		if seldom.Name != "seldom" || seldom.Calls != 5 || seldom.Times.Mean != 30e6 || math.Abs(seldom.Times.StdDev()-math.Sqrt(200)*1e6) > 1e-3 ||
			seldom.Times.Min != 10e6 || seldom.Times.Max != 50e6 {
			t.Errorf("%+v, deviation %g", seldom, seldom.Times.StdDev())
		}
		if r.Times.Count != 20 || r.Times.Mean != (15*1e6+5*30e6)/20 || r.Latency.Count() != 20 || r.Bytes != nil || often.Out != -1 {
			t.Errorf("%+v, bytes %v and %d", r.Times, r.Bytes, often.Out)
		}
	})
}

func TestBadMixes(t *testing.T) {
	for name, ops := range map[string][]Operation{"none": nil, "never called": {{"a", Sum().Caller(1, 1), 0}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Mix(func(uint64, int) []Operation { return ops }).Caller(1, 1)
		}()
	}
}
