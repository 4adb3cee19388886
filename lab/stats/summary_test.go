package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

// run makes a record of one load in which every arm has the calls that the
// function gives.
func run(blocks int, arms []plan.Arm, calls func(arm string, block int) int64) *record.Run {
	r := &record.Run{Header: record.Header{Plan: plan.Plan{
		Arms: arms, Baseline: arms[0].Name, Callers: []int{1}, Blocks: blocks,
	}}}
	for b := range blocks {
		for _, a := range arms {
			r.Trials = append(r.Trials, record.Trial{Arm: a.Name, Block: b, Callers: 1, Seconds: 1, Calls: calls(a.Name, b)})
		}
	}
	return r
}

func wires(names ...string) []plan.Arm {
	arms := make([]plan.Arm, 0, len(names))
	for _, n := range names {
		arms = append(arms, plan.Arm{Name: n, Kind: plan.Wire, Target: n})
	}
	return arms
}

func TestPairing(t *testing.T) {
	r := run(4, wires("base", "arm"), func(arm string, block int) int64 {
		if arm == "base" {
			return 100
		}
		return int64(100 * (block + 1))
	})
	for i := range r.Trials {
		switch tr := &r.Trials[i]; {
		case tr.Arm == "base" && tr.Block == 1:
			tr.Void = "stolen CPU"
		case tr.Arm == "arm" && tr.Block == 2:
			tr.Void = "server died"
		}
	}
	l := Summarize(r).Loads[0]
	want := []Block{{0, 1}, {3, 4}}
	if diff := cmp.Diff(want, l.Arm("arm").Ratio.Blocks); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
	if got := l.Arm("arm").Ratio.Median; math.Abs(got-2) > 1e-12 {
		t.Errorf("median of 1 and 4 on logarithms is 2, got %v", got)
	}
	a := l.Arm("arm")
	if a.Trials != 4 || a.Void != 1 || a.Voids["server died"] != 1 || a.Calls != 700 || a.Rate != 200 {
		t.Errorf("arm: %+v", a)
	}
	if a.Ratio.Interval != nil || a.Test.Different {
		t.Errorf("two blocks gave an interval or a claim: %+v", a)
	}
}

func TestFamily(t *testing.T) {
	arms := append(wires("base", "again", "a", "b"), plan.Arm{Name: "ref", Kind: plan.Reference, Beside: "a"}, plan.Arm{Name: "ping", Kind: plan.Ping})
	arms[1].Again = true
	speeds := map[string]int64{"base": 1000, "again": 1500, "a": 2000, "b": 1040, "ref": 500, "ping": 9000}
	same := func(arm string, _ int) int64 { return speeds[arm] }
	l := Summarize(run(10, arms, same)).Loads[0]
	if l.Compared != 3 || l.Needed != 7 || l.MaxBlocks != 10 {
		t.Errorf("compared %d, needed %d, blocks %d", l.Compared, l.Needed, l.MaxBlocks)
	}
	for _, name := range []string{"base", "again", "ping"} {
		if l.Arm(name).Test != nil {
			t.Errorf("%s is compared", name)
		}
	}
	for name, want := range map[string]bool{"a": true, "b": false, "ref": true} {
		if got := l.Arm(name).Test; got.Different != want {
			t.Errorf("%s: %+v, want different: %v", name, got, want)
		}
	}
	if l.Floor == nil || !l.Floor.Moved || l.Floor.Ratio.Median != 1.5 {
		t.Errorf("floor: %+v", l.Floor)
	}
	// The claims start with exactly the blocks that are needed.
	if l := Summarize(run(6, arms, same)).Loads[0]; l.Arm("a").Test.Different {
		t.Error("6 blocks made a claim")
	}
	if l := Summarize(run(7, arms, same)).Loads[0]; !l.Arm("a").Test.Different {
		t.Error("7 blocks made no claim")
	}
}

func TestArmThatFails(t *testing.T) {
	r := run(10, wires("base", "dead", "lame"), func(arm string, block int) int64 {
		if arm == "dead" || arm == "lame" && block < 8 {
			return 0
		}
		return 100
	})
	for i := range r.Trials {
		if r.Trials[i].Calls == 0 {
			r.Trials[i].Errors = map[string]int64{"UNAVAILABLE": 3, "wrong reply": 2}
			r.Trials[i].FirstError = fmt.Sprintf("in block %d", r.Trials[i].Block)
		}
	}
	l := Summarize(r).Loads[0]
	dead, lame := l.Arm("dead"), l.Arm("lame")
	if dead.Test.Different || dead.ErrorCount != 50 || dead.FirstError != "in block 0" || !math.IsNaN(dead.ServerCPU) {
		t.Errorf("dead: %+v", dead)
	}
	if diff := cmp.Diff([]string{"UNAVAILABLE", "wrong reply"}, dead.Kinds()); diff != "" {
		t.Error(diff)
	}
	// A block in which an arm completed nothing is the worst of ratios, not a
	// block to leave out.
	if len(lame.Ratio.Blocks) != 10 || lame.Ratio.Median != 0 || lame.Test.Below != 8 {
		t.Errorf("lame: %+v %+v", lame.Ratio, lame.Test)
	}
}

func TestParts(t *testing.T) {
	arms := append(wires("rest", "jsonrpc", "msgpack"),
		plan.Arm{Name: "net/http", Kind: plan.Reference, Beside: "rest"},
		plan.Arm{Name: "jrpc2", Kind: plan.Reference, Beside: "jsonrpc"})
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.Int64Range(1, 1_000_000)
		r := run(rapid.IntRange(1, 12).Draw(t, "blocks"), arms, func(string, int) int64 { return speed.Draw(t, "calls") })
		l := Summarize(r).Loads[0]
		if len(l.Parts) != 2 {
			t.Fatalf("%d parts", len(l.Parts))
		}
		p := l.Parts[1]
		if p.Arm != "jsonrpc" || p.Reference != "jrpc2" || p.BaseReference != "net/http" {
			t.Fatalf("part: %+v", p)
		}
		for i, whole := range l.Arm("jsonrpc").Ratio.Values() {
			product := p.Wire.Values()[i] * p.Implementation.Values()[i]
			if math.Abs(product/whole-1) > 1e-9 {
				t.Fatalf("block %d: wire x implementation = %v, ratio %v", i, product, whole)
			}
		}
	})
}

func TestRatioOfInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0.01, 100), 1, 30).Draw(t, "values")
		there, back := make([]Block, len(values)), make([]Block, len(values))
		for i, v := range values {
			there[i], back[i] = Block{i, v}, Block{i, 1 / v}
		}
		a, b := newRatio(there), newRatio(back)
		if math.Abs(a.Median*b.Median-1) > 1e-9 {
			t.Fatalf("medians %v and %v", a.Median, b.Median)
		}
		if a.Interval != nil && math.Abs(a.Interval.Low*b.Interval.High-1) > 1e-9 {
			t.Fatalf("intervals %+v and %+v", a.Interval, b.Interval)
		}
	})
}

// TestFalseClaims simulates runs of arms that do not matter, with heavy-tailed
// noise and blocks that are slow as a whole, and counts the runs in which any
// arm is called different. In the first case all arms are equal; in the second
// their true ratio lies on the edge of the band, which is the worst that the
// test must bear.
func TestFalseClaims(t *testing.T) {
	const runs = 800
	arms := wires("base", "a", "b", "c", "d", "e", "f", "g", "h", "i")
	for name, edge := range map[string]float64{"equal": 1, "on the edge": 1 + Band} {
		rng := rand.New(rand.NewPCG(5, 6))
		noise := func() float64 { return min(3, max(-3, 0.02*math.Tan(math.Pi*(rng.Float64()-0.5)))) }
		claims := 0
		for range runs {
			var slow float64
			l := Summarize(run(10, arms, func(arm string, _ int) int64 {
				factor := edge
				if arm == "base" { // the first of its block
					slow, factor = 0.2*rng.NormFloat64(), 1
				}
				return int64(1e6 * factor * math.Exp(slow+noise()))
			})).Loads[0]
			for i := range l.Arms {
				if tst := l.Arms[i].Test; tst != nil && tst.Different {
					claims++
					break
				}
			}
		}
		share := float64(claims) / runs
		t.Logf("%s: %.4f of the runs make a claim", name, share)
		if limit := Alpha + 3*math.Sqrt(Alpha*(1-Alpha)/runs); share > limit {
			t.Errorf("%s: %.4f of the runs make a claim, more than %.4f", name, share, limit)
		}
	}
}

func TestPercentileNeedsSamples(t *testing.T) {
	fill := func(n int) *record.Hist {
		h := &record.Hist{}
		for i := range n {
			h.Record(int64(i + 1))
		}
		return h
	}
	for _, c := range []struct {
		p        float64
		n        int
		censored int64
		ok       bool
	}{
		{50, 99, 0, false},
		{50, 100, 50, true},
		{90, 999, 0, false},
		{90, 1000, 0, true},
		{99, 9_999, 0, false},
		{99, 10_000, 100, true},
		{99, 10_000, 101, false},
		{99.9, 99_999, 0, false},
		{99.9, 100_000, 0, true},
	} {
		if _, ok := Percentile(fill(c.n), c.censored, c.p); ok != c.ok {
			t.Errorf("p%v of %d with %d censored: given: %v", c.p, c.n, c.censored, ok)
		}
	}
	if ns, _ := Percentile(fill(1000), 0, 50); ns != 500 {
		t.Errorf("p50 of 1 to 1000 is %d", ns)
	}
}

func TestPerCall(t *testing.T) {
	r := run(2, wires("base", "arm", "bare"), func(string, int) int64 { return 10 })
	for i := range r.Trials {
		tr := &r.Trials[i]
		tr.ServerCPU, tr.ClientCPU = 0.5, 0.25
		switch tr.Arm {
		case "base":
			tr.Net = &record.Net{Conns: 5, PayloadOut: 2210, PayloadIn: 1410, PacketsOut: 20, PacketsIn: 10, WireOut: 3250, WireIn: 1930}
		case "arm": // a system that does not count packets
			tr.Net = &record.Net{PayloadOut: 100, PayloadIn: 50, PacketsOut: -1, PacketsIn: -1, WireOut: -1, WireIn: -1}
		}
	}
	l := Summarize(r).Loads[0]
	if diff := cmp.Diff(PerCall{221, 141, 325, 193, 2, 1, 0.5}, l.Arm("base").PerCall); diff != "" {
		t.Errorf("base (-want +got):\n%s", diff)
	}
	arm := l.Arm("arm").PerCall
	if arm.PayloadOut != 10 || !math.IsNaN(arm.PacketsOut) || !math.IsNaN(arm.WireIn) {
		t.Errorf("arm: %+v", arm)
	}
	if !math.IsNaN(l.Arm("bare").PerCall.PayloadOut) {
		t.Errorf("bare: %+v", l.Arm("bare").PerCall)
	}
	if a := l.Arm("base"); a.ServerCPU != 0.05 || a.ClientCPU != 0.025 || a.ServerCores != 0.5 || a.ClientCores != 0.25 {
		t.Errorf("CPU: %+v", a)
	}
}

// Nothing is claimed of an arm that fails in more than one call of a hundred,
// nor against a baseline that does: failing can be quick.
func TestArmThatFailsOften(t *testing.T) {
	for _, c := range []struct {
		failing string
		errors  int64
		want    bool
	}{
		{"fast", 0, true},
		{"fast", 9, true},
		{"fast", 90, false},
		{"base", 0, true},
		{"base", 90, false},
	} {
		run := &record.Run{Header: record.Header{Plan: plan.Plan{
			Arms:     []plan.Arm{{Name: "base", Kind: plan.Wire}, {Name: "fast", Kind: plan.Wire}},
			Baseline: "base", Callers: []int{1}, Blocks: 10, Measure: time.Second,
		}}}
		for block := range 10 {
			for arm, calls := range map[string]int64{"base": 1000, "fast": 2000} {
				tr := record.Trial{Block: block, Arm: arm, Callers: 1, Seconds: 1, Calls: calls}
				if arm == c.failing && c.errors > 0 {
					tr.Errors = map[string]int64{"UNAVAILABLE": c.errors}
				}
				run.Trials = append(run.Trials, tr)
			}
		}
		l := Summarize(run).Loads[0]
		if got := l.Arm("fast").Test.Different; got != c.want {
			t.Errorf("%d errors in %s: called different: %v, want %v", c.errors, c.failing, got, c.want)
		}
	}
}
