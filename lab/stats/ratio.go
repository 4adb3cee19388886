package stats

import "math"

// A Block is a value of one block.
type Block struct {
	Block int // from 0
	Value float64
}

// A Ratio compares two throughputs block by block.
type Ratio struct {
	// Blocks are the ratios of the blocks that count, in order.
	Blocks []Block
	// Median is the median ratio, taken on the logarithm; NaN without blocks.
	Median float64
	// Interval is nil if there are too few blocks for one.
	Interval *Interval
}

// Values are the ratios alone.
func (r Ratio) Values() []float64 {
	v := make([]float64, len(r.Blocks))
	for i, b := range r.Blocks {
		v[i] = b.Value
	}
	return v
}

// newRatio makes the median and the interval from the blocks' ratios. Both are
// taken on logarithms, so that a over b and b over a are each other's inverse.
func newRatio(blocks []Block) Ratio {
	logs := make([]float64, len(blocks))
	for i, b := range blocks {
		logs[i] = math.Log(b.Value) // -Inf for an arm that completed nothing
	}
	r := Ratio{Blocks: blocks, Median: math.Exp(Median(logs))}
	if iv, ok := MedianInterval(logs, Level); ok {
		r.Interval = &Interval{Low: math.Exp(iv.Low), High: math.Exp(iv.High), Coverage: iv.Coverage}
	}
	return r
}

// paired divides a by b in the blocks that both have. A block in which b
// completed nothing has no ratio.
func paired(a, b []Block) Ratio {
	under := map[int]float64{}
	for _, x := range b {
		under[x.Block] = x.Value
	}
	var out []Block
	for _, x := range a {
		if d := under[x.Block]; d > 0 {
			out = append(out, Block{x.Block, x.Value / d})
		}
	}
	return newRatio(out)
}

// A Part takes the ratio of a wire arm to the baseline apart, with the help of
// the reference implementations beside both. In each block
//
//	arm/baseline = (reference/base reference) x (arm/reference) / (baseline/base reference)
//
// exactly; the first factor is what changing the wire does between two
// implementations that are not ours, the others are how far ours are from
// them. It tells as much about the wire as those references are equally good.
type Part struct {
	Arm, Reference          string
	Baseline, BaseReference string // BaseReference is "" if the baseline has none
	// Wire is Reference over BaseReference.
	Wire Ratio
	// Ours is Arm over Reference, BaseOurs is Baseline over BaseReference.
	Ours, BaseOurs Ratio
	// Implementation is Ours over BaseOurs in the same blocks.
	Implementation Ratio
}
