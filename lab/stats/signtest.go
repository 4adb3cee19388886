package stats

import (
	"cmp"
	"slices"
)

const (
	// Band is the part of 1 within which a median ratio is of no interest: from
	// 1/(1+Band) to 1+Band.
	Band = 0.05
	// Alpha is the chance, under each load, of calling any arm different that is
	// not.
	Alpha = 0.05
)

// A Test asks whether a median ratio lies outside the band.
type Test struct {
	// Above and Below count the blocks whose ratio lies above 1+Band and below
	// 1/(1+Band); Within counts the others.
	Above, Below, Within int
	// P is the two-sided p value of the sign test alone.
	P float64
	// Adjusted is P after Holm's correction over the load's family.
	Adjusted float64
	// Different is set if Adjusted is at most Alpha.
	Different bool
}

// signTest tests the null hypothesis that the median of the ratios lies within
// the band.
//
// Under it a ratio is above 1+Band with a chance of at most 1/2, and below
// 1/(1+Band) likewise, so the binomial tails at 1/2 are bounds: the test errs
// towards not rejecting. The smaller of the two tails is doubled because
// either side may reject.
func signTest(ratios []float64) Test {
	var t Test
	for _, r := range ratios {
		switch {
		case r > 1+Band:
			t.Above++
		case r < 1/(1+Band):
			t.Below++
		default:
			t.Within++
		}
	}
	n := len(ratios)
	t.P = min(1, 2*binomialAtLeast(n, max(t.Above, t.Below)))
	t.Adjusted = t.P
	return t
}

// correct fills in what Holm's correction says of a family of tests.
func correct(family []*Test) {
	p := make([]float64, len(family))
	for i, t := range family {
		p[i] = t.P
	}
	for i, adjusted := range holm(p) {
		family[i].Adjusted, family[i].Different = adjusted, adjusted <= Alpha
	}
}

// holm returns the p values adjusted by Holm's step-down procedure: the i-th
// smallest of m is multiplied by m-i+1, none may be smaller than one before
// it, and none is above 1.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = least
	}
	return adjusted
}

// BlocksNeeded is the least number of blocks with which one of so many compared
// arms can be called different, if all its blocks lie on one side of the band.
// It is 0 if nothing is compared.
func BlocksNeeded(compared int) int {
	if compared == 0 {
		return 0
	}
	for n := 1; ; n++ {
		if 2*binomialAtLeast(n, n)*float64(compared) <= Alpha {
			return n
		}
	}
}
