package record

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Times that are merged are those of all latencies together, by the definitions.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Int64Range(0, 1_000_000_000)).Draw(t, "latencies")
		cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
		var a, b Times
		for i, v := range values {
			if i < cut {
				a.Add(v)
			} else {
				b.Add(v)
			}
		}
		a.Merge(b)
		if a.Count != int64(len(values)) {
			t.Fatalf("%d of %d", a.Count, len(values))
		}
		if len(values) == 0 {
			if a != (Times{}) || a.StdDev() != 0 {
				t.Errorf("of none: %+v", a)
			}
			return
		}
		sum, least, most := 0.0, values[0], values[0]
		for _, v := range values {
			sum, least, most = sum+float64(v), min(least, v), max(most, v)
		}
		mean := sum / float64(len(values))
		squares := 0.0
		for _, v := range values {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		deviation := math.Sqrt(squares / float64(len(values)))
		if math.Abs(a.Mean-mean) > 1e-6*(1+mean) || math.Abs(a.StdDev()-deviation) > 1e-6*(1+deviation) || a.Min != least || a.Max != most {
			t.Errorf("got %+v with deviation %g, want mean %g, deviation %g, %d to %d", a, a.StdDev(), mean, deviation, least, most)
		}
	})
}
