package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBinomial(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want float64
	}{
		{0, 0, 1},
		{1, 0, 1.0 / 2},
		{4, -1, 0},
		{4, 1, 5.0 / 16},
		{6, 0, 1.0 / 64},
		{10, 1, 11.0 / 1024},
		{10, 2, 56.0 / 1024},
		{10, 10, 1},
		{10, 12, 1},
	} {
		if got := binomialAtMost(c.n, c.k); got != c.want {
			t.Errorf("P(B(%d) <= %d) = %v, want %v", c.n, c.k, got, c.want)
		}
	}
	if got := binomialAtLeast(9, 9); got != 1.0/512 {
		t.Errorf("P(B(9) >= 9) = %v", got)
	}
	// Beyond the range of 2^-n in a float64.
	if got := binomialAtMost(3001, 1500); got != 0.5 {
		t.Errorf("P(B(3001) <= 1500) = %v, want 0.5 by symmetry", got)
	}
}

func TestMedianInterval(t *testing.T) {
	for _, c := range []struct {
		n, k     int // the interval is the k-th smallest to the k-th largest; 0 for none
		coverage float64
	}{
		{0, 0, 0},
		{1, 0, 0},
		{5, 0, 0},
		{6, 1, 1 - 2.0/64},
		{8, 1, 1 - 2.0/256},
		{9, 2, 1 - 2*10.0/512},
		{10, 2, 1 - 2*11.0/1024},
		{20, 6, 1 - 2*21700.0/1048576},
	} {
		values := make([]float64, c.n)
		for i := range values {
			values[i] = float64((i*7)%c.n + 1) // 1 to n, shuffled unless 7 divides n
		}
		iv, ok := MedianInterval(values, 0.95)
		if ok != (c.k > 0) {
			t.Errorf("n=%d: interval exists: %v", c.n, ok)
			continue
		}
		if ok && (iv.Low != float64(c.k) || iv.High != float64(c.n+1-c.k) || math.Abs(iv.Coverage-c.coverage) > 1e-12) {
			t.Errorf("n=%d: %+v, want %d to %d with %v", c.n, iv, c.k, c.n+1-c.k, c.coverage)
		}
	}
}

func TestMedian(t *testing.T) {
	if got := Median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("odd: %v", got)
	}
	if got := Median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("even: %v", got)
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("empty: not NaN")
	}
	in := []float64{3, 1, 2}
	Median(in)
	if !slices.Equal(in, []float64{3, 1, 2}) {
		t.Error("Median changed its argument")
	}
}

// TestCoverage draws samples whose true median is 0 and counts how often the
// interval holds it: as often as it states, for any shape of noise.
func TestCoverage(t *testing.T) {
	const draws = 3000
	shapes := map[string]func(*rand.Rand) float64{
		"normal":    func(r *rand.Rand) float64 { return r.NormFloat64() },
		"cauchy":    func(r *rand.Rand) float64 { return math.Tan(math.Pi * (r.Float64() - 0.5)) },
		"lognormal": func(r *rand.Rand) float64 { return math.Exp(2*r.NormFloat64()) - 1 },
		"bimodal": func(r *rand.Rand) float64 {
			if r.IntN(2) == 0 {
				return -5 - r.Float64()
			}
			return r.Float64()
		},
	}
	for name, draw := range shapes {
		for _, n := range []int{6, 10, 17, 30} {
			rng := rand.New(rand.NewPCG(11, uint64(n)))
			values, held, stated := make([]float64, n), 0, 0.0
			for range draws {
				for i := range values {
					values[i] = draw(rng)
				}
				iv, ok := MedianInterval(values, Level)
				if !ok {
					t.Fatalf("%s, n=%d: no interval", name, n)
				}
				stated = iv.Coverage
				if iv.Low <= 0 && 0 <= iv.High {
					held++
				}
			}
			// The bimodal median is any value between its halves; 0 lies at an end
			// of that gap and is held as often as any other.
			got, sd := float64(held)/draws, math.Sqrt(stated*(1-stated)/draws)
			if stated < Level || math.Abs(got-stated) > 4*sd {
				t.Errorf("%s, n=%d: held %.4f, stated %.4f", name, n, got, stated)
			}
		}
	}
}

func TestIntervalHoldsMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 40).Draw(t, "values")
		iv, ok := MedianInterval(values, Level)
		if ok != (len(values) >= 6) {
			t.Fatalf("%d values: interval exists: %v", len(values), ok)
		}
		if m := Median(values); ok && (m < iv.Low || iv.High < m || iv.Coverage < Level) {
			t.Fatalf("median %v, interval %+v", m, iv)
		}
	})
}
