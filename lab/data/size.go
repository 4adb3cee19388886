package data

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// maxSize bounds what one placeholder can make.
const maxSize = 64 << 20

// A distribution is that of an integer.
type distribution struct {
	from, to int64 // uniform, both included; to is the most of an exponential one
	mean     float64
}

// draw draws from it. An exponential one is 1 and what is drawn, rounded, as the
// article on gRPC with JSON has its sizes.
func (d *distribution) draw(r *rand.Rand) int64 {
	if d.mean > 0 {
		return int64(math.Min(1+math.Round(r.ExpFloat64()*d.mean), float64(d.to)))
	}
	if d.from == d.to {
		return d.from
	}
	// The width of the whole range of int64 does not fit into it.
	return int64(uint64(d.from) + r.Uint64N(uint64(d.to-d.from)+1)) //nolint:gosec // modular arithmetic
}

const sizeForms = "a size is N, FROM TO, or exp MEAN [MOST], in bytes or as 64KiB"

// size reads the size of a text.
func (p *parser) size(head word, args []word) (*distribution, error) {
	if len(args) > 0 && args[0].text == "exp" {
		return p.exponential(args[0], args[1:], 1<<20)
	}
	switch len(args) {
	case 1, 2:
	default:
		return nil, p.bad(head, "%s has a size: %s", head.text, sizeForms)
	}
	d := new(distribution)
	var err error
	if d.from, err = p.count(args[0]); err != nil {
		return nil, err
	}
	last := args[len(args)-1]
	if d.to, err = p.count(last); err != nil {
		return nil, err
	}
	return d, p.inOrder(d, last)
}

func (p *parser) inOrder(d *distribution, last word) error {
	if d.to < d.from {
		return p.bad(last, "%d is less than %d, which is to be the least", d.to, d.from)
	}
	if uint64(d.to-d.from) == math.MaxUint64 { //nolint:gosec // the width, as a number of values
		return p.bad(last, "the range is too wide by one")
	}
	return nil
}

// exponential reads MEAN [MOST].
func (p *parser) exponential(head word, args []word, most int64) (*distribution, error) {
	if len(args) != 1 && len(args) != 2 {
		return nil, p.bad(head, "exp has one argument or two, the mean and the most: {{exp 64}}, {{exp 64 1000}}")
	}
	mean, err := strconv.ParseFloat(args[0].text, 64)
	if err != nil || !(mean > 0) || mean > maxSize {
		n, sizeErr := p.count(args[0])
		if sizeErr != nil || n == 0 {
			return nil, p.bad(args[0], "the mean %q is no number above 0", args[0].text)
		}
		mean = float64(n)
	}
	d := &distribution{mean: mean, to: most}
	if len(args) == 2 {
		if d.to, err = p.count(args[1]); err != nil {
			return nil, err
		}
		if d.to < 1 {
			return nil, p.bad(args[1], "the most is at least 1")
		}
	}
	return d, nil
}

var sizeUnits = []struct {
	suffix string
	n      int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"B", 1}, {"", 1}}

// count reads a number of bytes.
func (p *parser) count(w word) (int64, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(w.text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		switch {
		case err != nil || n < 0:
			return 0, p.bad(w, "%q is no size: %s", w.text, sizeForms)
		case n > maxSize/u.n:
			return 0, p.bad(w, "%s is over the limit of 64MiB for one value", w.text)
		}
		return n * u.n, nil
	}
	panic("the last unit fits every text")
}
