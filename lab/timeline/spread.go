package timeline

import (
	"math"
	"math/bits"

	"github.com/everywire/everywire/lab/record"
)

// A spread holds times in buckets of which there are 64 between a power of two
// and the next: a bucket's middle is less than 1 % from all that it holds. Its
// powers are allocated when a time comes that needs them: those of a second take
// one or two kilobytes, where a histogram of the record takes 200.
type spread struct {
	count, sum, max int64
	powers          [powers]*[perPower]uint32
}

const (
	perPower = 64
	logPer   = 6
	// powers go to 2^40 ns, 18 minutes; what takes longer is counted there.
	powers  = 35
	longest = 1<<(powers+logPer-1) - 1
)

// place is the bucket of a time: values below 64 have a bucket each.
func place(ns int64) (power, bucket int) {
	v := uint64(min(max(ns, 0), longest)) //nolint:gosec // it is not negative
	power = max(0, bits.Len64(v)-logPer)
	if power == 0 {
		return 0, int(v) //nolint:gosec // below 64
	}
	// The highest bit is set in all values of a power: it tells nothing.
	return power, int(v>>(power-1)) - perPower //nolint:gosec // below 64
}

// middle is the middle of a bucket.
func middle(power, bucket int) int64 {
	if power == 0 {
		return int64(bucket)
	}
	low := int64(bucket+perPower) << (power - 1)
	return low + (int64(1)<<(power-1)-1)/2
}

func (s *spread) add(ns int64) {
	s.count++
	s.sum += ns
	s.max = max(s.max, ns)
	power, bucket := place(ns)
	if s.powers[power] == nil {
		s.powers[power] = new([perPower]uint32)
	}
	s.powers[power][bucket]++
}

func (s *spread) merge(other *spread) {
	s.count, s.sum, s.max = s.count+other.count, s.sum+other.sum, max(s.max, other.max)
	for i, p := range other.powers {
		if p == nil {
			continue
		}
		if s.powers[i] == nil {
			s.powers[i] = new([perPower]uint32)
		}
		for j, n := range p {
			s.powers[i][j] += n
		}
	}
}

// clear empties it and keeps its memory.
func (s *spread) clear() {
	s.count, s.sum, s.max = 0, 0, 0
	for _, p := range s.powers {
		if p != nil {
			clear(p[:])
		}
	}
}

// percentile is the time that p percent do not pass, 0 if there are none.
func (s *spread) percentile(p float64) int64 {
	rank := max(1, int64(math.Ceil(p/100*float64(s.count))))
	for i, power := range s.powers {
		if power == nil {
			continue
		}
		for j, n := range power {
			if rank -= int64(n); rank <= 0 {
				return min(middle(i, j), s.max)
			}
		}
	}
	return 0
}

// record is the spread as a record has it.
func (s *spread) record() record.Spread {
	if s.count == 0 {
		return record.Spread{}
	}
	return record.Spread{Mean: s.sum / s.count, P50: s.percentile(50), P99: s.percentile(99), Max: s.max}
}
