package arith

import (
	"math"
	"math/big"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

func TestSum(t *testing.T) {
	for _, c := range []struct {
		in   []int64
		want int64
		code codes.Code
	}{
		{nil, 0, codes.OK},
		{[]int64{20, 21}, 41, codes.OK},
		{[]int64{-5, 5, 0}, 0, codes.OK},
		{[]int64{math.MaxInt64, 1}, 0, codes.OutOfRange},
		{[]int64{math.MinInt64, -1}, 0, codes.OutOfRange},
		{[]int64{math.MaxInt64, math.MinInt64}, -1, codes.OK},
	} {
		out, err := sum(t.Context(), &SumRequest{Numbers: c.in})
		if status.Code(err) != c.code {
			t.Errorf("sum(%v): %v, want code %v", c.in, err, c.code)
		} else if err == nil && out.Sum != c.want {
			t.Errorf("sum(%v) = %d, want %d", c.in, out.Sum, c.want)
		}
	}
}

// Against arbitrary precision: right, or an error exactly when a partial sum
// leaves the range.
func TestSumProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.Int64()).Draw(t, "numbers")
		total, fits := new(big.Int), true
		for _, n := range in {
			total.Add(total, big.NewInt(n))
			fits = fits && total.IsInt64()
		}
		out, err := sum(t.Context(), &SumRequest{Numbers: in})
		if (err == nil) != fits {
			t.Fatalf("sum(%v): error %v, but the sum fits: %v", in, err, fits)
		}
		if err == nil && out.Sum != total.Int64() {
			t.Fatalf("sum(%v) = %d, want %v", in, out.Sum, total)
		}
	})
}
