package stats

import (
	"slices"

	"github.com/everywire/everywire/lab/record"
)

// A Figure is what is looked at of a trial.
type Figure string

// The figures.
const (
	// Rate is correct replies per second.
	Rate Figure = "calls/s"
	// MeanTime and MedianTime are of the latencies of correct replies, in
	// nanoseconds.
	MeanTime   Figure = "mean"
	MedianTime Figure = "median"
	// ServedTime is the mean time that the service itself took, in nanoseconds,
	// where the arm tells.
	ServedTime Figure = "served"
	// BytesOut and BytesIn are TCP payload per call, out towards the server.
	BytesOut Figure = "bytes out"
	BytesIn  Figure = "bytes in"
)

// More reports whether more of the figure is better.
func (f Figure) More() bool { return f == Rate }

// A Place is where in a record figures are looked for.
type Place struct {
	Arm     string
	Callers int
	Link    string // one of the plan's
	// Op is one operation of the workload, "" for all calls.
	Op string
}

// Blocks returns the figure of each block at a place; void trials have none.
func Blocks(run *record.Run, at Place, figure Figure) []Block {
	var all []Block
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Arm != at.Arm || t.Callers != at.Callers || t.Network() != at.Link || t.Void != "" {
			continue
		}
		if v, ok := figureOf(t, at.Op, figure); ok {
			all = append(all, Block{t.Block, v})
		}
	}
	slices.SortFunc(all, func(a, b Block) int { return a.Block - b.Block })
	return all
}

// figureOf is false if the trial does not have the figure.
func figureOf(t *record.Trial, op string, figure Figure) (float64, bool) {
	calls, latency, open := t.Calls, &t.Latency, t.OpenShare
	if op != "" {
		i := slices.IndexFunc(t.Ops, func(o record.Op) bool { return o.Name == op })
		if i < 0 {
			return 0, false
		}
		calls, latency, open = t.Ops[i].Calls, &t.Ops[i].Latency, 0
	}
	switch {
	case figure == BytesOut || figure == BytesIn:
		if op != "" || t.Net == nil || t.Ended() == 0 {
			return 0, false
		}
		sum := t.Net.PayloadOut
		if figure == BytesIn {
			sum = t.Net.PayloadIn
		}
		return float64(sum) / float64(t.Ended()), true
	case figure == Rate:
		return (float64(calls) + open) / t.Seconds, t.Seconds > 0
	case figure == ServedTime:
		return t.Served.Mean(), op == "" && t.Served.Count() > 0
	case latency.Count() == 0:
		return 0, false
	case figure == MeanTime:
		return latency.Mean(), true
	default:
		return float64(latency.Percentile(50)), true
	}
}

// Pair divides a by b in the blocks that both have.
func Pair(a, b []Block) Ratio { return paired(a, b) }

// Middle is the median of the blocks' values, NaN if there are none.
func Middle(blocks []Block) float64 { return Median(values(blocks)) }

// Judge tests a family of ratios together: which of them lie outside the band,
// with Holm's correction over all of them.
func Judge(family []Ratio) []Test {
	tests, corrected := make([]Test, len(family)), make([]*Test, len(family))
	for i, r := range family {
		tests[i] = signTest(r.Values())
		corrected[i] = &tests[i]
	}
	correct(corrected)
	return tests
}
