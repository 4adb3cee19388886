package stats

import (
	"math"
	"math/big"
	"slices"
)

// Level is the least coverage of an interval.
const Level = 0.95

// An Interval of a median: its two ends are values of the sample.
type Interval struct {
	Low, High float64
	// Coverage is the exact chance that such an interval holds the true median;
	// it is at least the level asked for.
	Coverage float64
}

// Median returns the median of values in any order, NaN if there are none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// MedianInterval returns the narrowest interval between the k-th smallest and
// the k-th largest value that covers the median with at least the given level.
// It reports false if even the smallest and the largest do not: at 95 % with
// fewer than six values.
//
// The true median lies below the k-th smallest value exactly if fewer than k
// values fall below the median, each of which does so with chance 1/2, and
// likewise above. The coverage is therefore 1 - 2 P(B <= k-1) where B is
// binomial with n and 1/2, whatever the distribution, as long as it is
// continuous; with ties the coverage is larger.
func MedianInterval(values []float64, level float64) (Interval, bool) {
	n := len(values)
	k, coverage := 0, 0.0
	for try := 1; 2*try <= n; try++ {
		c := 1 - 2*binomialAtMost(n, try-1)
		if c < level {
			break
		}
		k, coverage = try, c
	}
	if k == 0 {
		return Interval{}, false
	}
	s := slices.Sorted(slices.Values(values))
	return Interval{Low: s[k-1], High: s[n-k], Coverage: coverage}, true
}

// binomialAtMost is P(B <= k) for B binomial with n trials and chance 1/2,
// computed in whole numbers.
func binomialAtMost(n, k int) float64 {
	if k < 0 {
		return 0
	}
	term, sum := big.NewInt(1), new(big.Int)
	for i := 0; i <= min(k, n); i++ {
		sum.Add(sum, term)
		// C(n, i+1) = C(n, i) (n-i) / (i+1), always whole.
		term.Mul(term, big.NewInt(int64(n-i))).Quo(term, big.NewInt(int64(i+1)))
	}
	p, _ := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
	return p
}

// binomialAtLeast is P(B >= k); by symmetry P(B <= n-k).
func binomialAtLeast(n, k int) float64 { return binomialAtMost(n, n-k) }
