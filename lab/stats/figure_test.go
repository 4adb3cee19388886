package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

// latencies is a histogram of some values.
func latencies(ns ...int64) record.Hist {
	var h record.Hist
	for _, v := range ns {
		h.Record(v)
	}
	return h
}

// Each figure is taken from the trials of its place that count, block by block.
func TestFigures(t *testing.T) {
	trial := func(block int, calls int64, change func(*record.Trial)) record.Trial {
		tr := record.Trial{
			Block: block, Arm: "a", Callers: 2, Seconds: 2, Calls: calls, Latency: latencies(100, 100, 400),
			Served: latencies(50), Net: &record.Net{PayloadOut: 30, PayloadIn: 60},
			Ops: []record.Op{{Name: "login", Calls: 1, Latency: latencies(400)}},
		}
		if change != nil {
			change(&tr)
		}
		return tr
	}
	run := &record.Run{Trials: []record.Trial{
		trial(1, 3, func(tr *record.Trial) { tr.OpenShare = 1 }),
		trial(0, 3, nil),
		trial(2, 3, func(tr *record.Trial) { tr.Void = "stolen" }),
		trial(3, 3, func(tr *record.Trial) { tr.Arm = "b" }),
		trial(4, 3, func(tr *record.Trial) { tr.Callers = 1 }),
		trial(5, 3, func(tr *record.Trial) { tr.Link = "rtt=1ms" }),
		trial(6, 0, func(tr *record.Trial) {
			tr.Latency, tr.Served, tr.Net, tr.Ops = record.Hist{}, record.Hist{}, nil, nil
		}),
	}}
	at := Place{Arm: "a", Callers: 2, Link: plan.Loopback}
	login := at
	login.Op = "login"
	for _, tc := range []struct {
		figure Figure
		at     Place
		want   []Block
	}{
		{Rate, at, []Block{{0, 1.5}, {1, 2}, {6, 0}}},
		{MeanTime, at, []Block{{0, 200}, {1, 200}}},
		{MedianTime, at, []Block{{0, 100}, {1, 100}}},
		{ServedTime, at, []Block{{0, 50}, {1, 50}}},
		{BytesOut, at, []Block{{0, 10}, {1, 10}}},
		{BytesIn, at, []Block{{0, 20}, {1, 20}}},
		{Rate, login, []Block{{0, 0.5}, {1, 0.5}}},
		{MeanTime, login, []Block{{0, 400}, {1, 400}}},
		{ServedTime, login, nil},
		{BytesIn, login, nil},
	} {
		if diff := cmp.Diff(tc.want, Blocks(run, tc.at, tc.figure)); diff != "" {
			t.Errorf("%s of %+v (-want +got):\n%s", tc.figure, tc.at, diff)
		}
	}
	if !Rate.More() || MeanTime.More() {
		t.Error("more calls are better, more time is not")
	}
	if got := Middle([]Block{{0, 1}, {1, 5}, {2, 3}}); got != 3 || !math.IsNaN(Middle(nil)) {
		t.Errorf("the middle of 1, 5 and 3 is %g", got)
	}
}

// A family is judged together: what would be different alone need not be among
// many.
func TestJudge(t *testing.T) {
	steady := func(v float64, n int) []Block {
		var all []Block
		for i := range n {
			all = append(all, Block{i, v})
		}
		return all
	}
	over := Pair(steady(2, 6), steady(1, 6)) // p = 1/32
	if alone := Judge([]Ratio{over}); !alone[0].Different {
		t.Errorf("alone: %+v", alone)
	}
	if two := Judge([]Ratio{over, Pair(steady(1, 6), steady(1, 6))}); two[0].Different || two[0].Adjusted <= two[0].P {
		t.Errorf("of two: %+v", two)
	}
	if got := over.Median; math.Abs(got-2) > 1e-12 {
		t.Errorf("the ratio is %g", got)
	}
}
