package load

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The sums are those of all latencies together, by the definitions, also where a sum of
// squares in doubles would have lost the deviation.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base := rapid.SampledFrom([]int64{0, 1_000, 600_000_000_000}).Draw(rt, "base")
		offsets := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 50).Draw(rt, "offsets")
		cut := rapid.IntRange(0, len(offsets)).Draw(rt, "cut")
		var a, b times
		mean := 0.0
		least, most := base+offsets[0], base
		for i, o := range offsets {
			if i < cut {
				a.add(base + o)
			} else {
				b.add(base + o)
			}
			mean += float64(o) / float64(len(offsets))
			least, most = min(least, base+o), max(most, base+o)
		}
		squares := 0.0
		for _, o := range offsets {
			squares += (float64(o) - mean) * (float64(o) - mean)
		}
		a.merge(&b)
		got := a.record()
		if got.Count != int64(len(offsets)) || got.Min != least || got.Max != most ||
			math.Abs(got.Mean-float64(base)-mean) > 1e-3 || math.Abs(got.Squares-squares) > 1e-6*(1+squares) {
			rt.Errorf("%+v, want the mean %g and the squares %g", got, float64(base)+mean, squares)
		}
	})
	if got := new(times).record(); got.Count != 0 || got.StdDev() != 0 {
		t.Errorf("of none: %+v", got)
	}
}
