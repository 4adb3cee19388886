package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func repeat(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func TestSignTest(t *testing.T) {
	for _, c := range []struct {
		name   string
		ratios []float64
		want   Test
	}{
		{"none", nil, Test{P: 1}},
		{"ten above", repeat(10, 1.2), Test{Above: 10, P: 2.0 / 1024}},
		{"ten below", repeat(10, 0.5), Test{Below: 10, P: 2.0 / 1024}},
		{"ten within", repeat(10, 1.02), Test{Within: 10, P: 1}},
		{"the edges are within", []float64{1.05, 1 / 1.05}, Test{Within: 2, P: 1}},
		{"eight above, two within", append(repeat(8, 2), 1, 1), Test{Above: 8, Within: 2, P: 2 * 56.0 / 1024}},
		{"five and five", append(repeat(5, 2), repeat(5, 0.5)...), Test{Above: 5, Below: 5, P: 1}},
		{"an arm that completed nothing", repeat(6, 0), Test{Below: 6, P: 2.0 / 64}},
	} {
		c.want.Adjusted = c.want.P
		if got := signTest(c.ratios); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.03}, []float64{0.03}},
		// 4 x 0.005, 3 x 0.01, 2 x 0.03, and 1 x 0.04 raised to the one before.
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.6, 0.001}, []float64{1, 1, 0.003}},
		{[]float64{0.02, 0.02}, []float64{0.04, 0.04}},
	} {
		got := holm(c.p)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("holm(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}

func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		got := holm(p)
		for i := range p {
			bonferroni := min(1, p[i]*float64(len(p)))
			if got[i] < p[i] || got[i] > bonferroni+1e-15 {
				t.Fatalf("adjusted %v of %v is not between it and Bonferroni's %v", got[i], p[i], bonferroni)
			}
			for j := range p {
				if p[i] < p[j] && got[i] > got[j] {
					t.Fatalf("order changed: %v", got)
				}
			}
		}
	})
}

func TestBlocksNeeded(t *testing.T) {
	for compared, want := range map[int]int{0: 0, 1: 6, 2: 7, 9: 9, 12: 9, 13: 10} {
		if got := BlocksNeeded(compared); got != want {
			t.Errorf("%d compared arms: %d blocks, want %d", compared, got, want)
		}
	}
}
