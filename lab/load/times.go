package load

import (
	"math/big"
	"math/bits"

	"github.com/everywire/everywire/lab/record"
)

// times are sums of latencies in nanoseconds, in integers: adding one is some
// cycles, where Welford's mean needs a division that the next addition waits for,
// and nothing is rounded. Squares take 128 bits.
type times struct {
	count, sum, min, max    int64
	squaresHigh, squaresLow uint64
}

func (t *times) add(ns int64) {
	if t.count == 0 || ns < t.min {
		t.min = ns
	}
	t.max = max(t.max, ns)
	t.count++
	t.sum += ns
	t.addSquares(bits.Mul64(uint64(ns), uint64(ns))) //nolint:gosec // a latency is not negative
}

func (t *times) addSquares(high, low uint64) {
	var carry uint64
	t.squaresLow, carry = bits.Add64(t.squaresLow, low, 0)
	t.squaresHigh, _ = bits.Add64(t.squaresHigh, high, carry)
}

func (t *times) merge(other *times) {
	if other.count == 0 {
		return
	}
	if t.count == 0 || other.min < t.min {
		t.min = other.min
	}
	t.max = max(t.max, other.max)
	t.count += other.count
	t.sum += other.sum
	t.addSquares(other.squaresHigh, other.squaresLow)
}

// record is them as they stand in a record: the sum of squared deviations from the
// mean is the sum of squares without the square of the sum over the count.
func (t *times) record() record.Times {
	if t.count == 0 {
		return record.Times{}
	}
	count, sum := big.NewInt(t.count), big.NewInt(t.sum)
	squares := new(big.Int).SetUint64(t.squaresHigh)
	squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(t.squaresLow))
	mean, _ := new(big.Rat).SetFrac(sum, count).Float64()
	deviations := new(big.Rat).SetInt(squares)
	deviations.Sub(deviations, new(big.Rat).SetFrac(new(big.Int).Mul(sum, sum), count))
	squared, _ := deviations.Float64()
	return record.Times{Count: t.count, Mean: mean, Squares: squared, Min: t.min, Max: t.max}
}
