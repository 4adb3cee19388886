package stats

import "github.com/everywire/everywire/lab/record"

// MinSamples is how many samples the percentile p, below 100, needs: 100 up to
// p50, and above it so many that 100 of them lie beyond it. That is 1,000 for
// p90, 10,000 for p99 and 100,000 for p99.9.
func MinSamples(p float64) int64 {
	if p <= 50 {
		return 100
	}
	return int64(100*100/(100-p) + 0.5)
}

// Percentile returns the latency in nanoseconds that p percent of the calls do
// not pass. It reports false if there are fewer than [MinSamples], or if more
// calls were censored (still open when their trial ended, so never timed) than
// lie beyond the percentile: had these all been slow, it would be another.
func Percentile(h *record.Hist, censored int64, p float64) (ns int64, ok bool) {
	n := h.Count()
	if n < MinSamples(p) || float64(censored) > float64(n)*(100-p)/100 {
		return 0, false
	}
	return h.Percentile(p), true
}
