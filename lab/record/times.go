package record

import "math"

// Times are the sums of some latencies in nanoseconds: their mean and deviation
// are exact, where a histogram's are of its buckets. Its zero value is empty and
// ready.
type Times struct {
	Count int64 `json:"count"`
	// Mean and Squares are Welford's: the mean, and the sum of squared
	// deviations from it, which do not lose digits as sums of squares do.
	Mean    float64 `json:"mean"`
	Squares float64 `json:"squares"`
	Min     int64   `json:"min"`
	Max     int64   `json:"max"`
}

// Add counts one latency.
func (t *Times) Add(ns int64) {
	if t.Count == 0 || ns < t.Min {
		t.Min = ns
	}
	t.Max = max(t.Max, ns)
	t.Count++
	d := float64(ns) - t.Mean
	t.Mean += d / float64(t.Count)
	t.Squares += d * (float64(ns) - t.Mean)
}

// Merge adds what other counted.
func (t *Times) Merge(other Times) {
	switch {
	case other.Count == 0:
		return
	case t.Count == 0:
		*t = other
		return
	}
	n, m := float64(t.Count), float64(other.Count)
	d := other.Mean - t.Mean
	t.Mean += d * m / (n + m)
	t.Squares += other.Squares + d*d*n*m/(n+m)
	t.Min, t.Max = min(t.Min, other.Min), max(t.Max, other.Max)
	t.Count += other.Count
}

// StdDev is the standard deviation of all of them, as of a whole population; 0 if
// there are none.
func (t Times) StdDev() float64 {
	if t.Count == 0 {
		return 0
	}
	return math.Sqrt(t.Squares / float64(t.Count))
}
