package report

import (
	"math"
	"slices"
	"strconv"
)

// A chart is a list of rows, each with a label and a strip of plot beside it.
// Horizontal places are percentages of the plot's width and vertical ones are
// pixels, so a chart fills what room there is without scaling its text.
type chart struct {
	ID, Title string
	Caption   string // what is shown and how to read it
	Desc      string // the figures in words, for those who do not see them
	Legend    []legend
	Rows      []chartRow
	Height    int // of the rows, in pixels
	Full      int // with the axis
	Ticks     []tick
	Marks     []mark
}

type legend struct{ Class, Shape, Text string }

type chartRow struct{ Name, Value, Class string }

type tick struct{ X, Anchor, Label string }

// A mark is one shape in the plot: "rect" has a corner at X, Y and the size W,
// H; "line" goes from X, Y to W, Y2; "dot", "ring", "square" and "diamond" have
// their middle at X, Y and the radius R. Title is shown when one points at it.
type mark struct {
	Shape, Class string
	X, W         string
	Y, Y2, H, R  float64
	Title        string
}

// Neg and Twice are for shapes with corners, which are drawn around an origin.
func (m mark) Neg() float64   { return -m.R }
func (m mark) Twice() float64 { return 2 * m.R }

const (
	rowHeight  = 38
	axisHeight = 24
	// Plots keep this many percent free at both sides, so that no mark is cut.
	margin = 2.0
)

func newChart(id, title, caption string) *chart {
	return &chart{ID: id, Title: title, Caption: caption}
}

// row adds a row and returns the middle of its strip.
func (c *chart) row(name, value, class string) float64 {
	c.Rows = append(c.Rows, chartRow{name, value, class})
	c.Height = len(c.Rows) * rowHeight
	c.Full = c.Height + axisHeight
	if value != "" {
		c.Desc += name + ": " + value + ". "
	}
	return float64(c.Height) - rowHeight/2
}

// A scale maps values to percentages of a plot's width.
type scale struct {
	lo, hi float64
	log    bool
}

func (s scale) at(v float64) float64 {
	if s.log {
		v, s.lo, s.hi = math.Log(v), math.Log(s.lo), math.Log(s.hi)
	}
	return margin + (100-2*margin)*min(1, max(0, (v-s.lo)/(s.hi-s.lo)))
}

func (s scale) x(v float64) string { return percent(s.at(v)) }

// width is that of a bar from one value to another.
func (s scale) width(from, to float64) string { return percent(s.at(to) - s.at(from)) }

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }

// linearScale goes from zero to a little more than the largest value.
func linearScale(largest float64) scale {
	if !(largest > 0) {
		largest = 1
	}
	return scale{lo: 0, hi: largest * 1.02}
}

// logScale covers all values with some room at both ends.
func logScale(values []float64) scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		lo, hi = 1, 1
	}
	room := max(1.08, math.Pow(hi/lo, 0.04))
	return scale{lo: lo / room, hi: hi * room, log: true}
}

// axis adds ticks at round values that stand at least apart percent of the
// width from each other.
func (c *chart) axis(s scale, apart float64, label func(float64) string) {
	for _, v := range s.ticks(apart) {
		anchor := "middle"
		switch x := s.at(v); {
		case x < 4:
			anchor = "start"
		case x > 96:
			anchor = "end"
		}
		c.Ticks = append(c.Ticks, tick{s.x(v), anchor, label(v)})
	}
}

func (s scale) ticks(apart float64) []float64 {
	if !s.log {
		return s.linearTicks(apart)
	}
	// The most welcome values first; one that is too near to another is left out.
	var out []float64
	from, to := int(math.Floor(math.Log10(s.lo))), int(math.Ceil(math.Log10(s.hi)))
	for _, f := range []float64{1, 2, 5, 3, 1.5, 7} {
		for e := from; e <= to; e++ {
			v := f * math.Pow(10, float64(e))
			near := func(u float64) bool { return math.Abs(s.at(u)-s.at(v)) < apart }
			if v >= s.lo && v <= s.hi && !slices.ContainsFunc(out, near) {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return out
}

// linearTicks are the multiples of the smallest round step that keeps them
// apart.
func (s scale) linearTicks(apart float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(s.hi))-2)
	for i := 0; s.at(step)-s.at(0) < apart; i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10
	}
	var out []float64
	for i := 0.0; i*step <= s.hi; i++ {
		out = append(out, i*step)
	}
	return out
}

func (c *chart) add(m mark) { c.Marks = append(c.Marks, m) }

func (c *chart) bar(s scale, from, to, y, h float64, class, title string) {
	if !(to > from) {
		return
	}
	c.add(mark{Shape: "rect", Class: class, X: s.x(from), W: s.width(from, to), Y: y - h/2, H: h, Title: title})
}

// line draws from one value to another at a height.
func (c *chart) line(s scale, from, to, y float64, class string) {
	c.add(mark{Shape: "line", Class: class, X: s.x(from), W: s.x(to), Y: y, Y2: y})
}

// point draws a mark whose middle is at a value.
func (c *chart) point(s scale, v, y, r float64, shape, class, title string) {
	c.add(mark{Shape: shape, Class: class, X: s.x(v), Y: y, R: r, Title: title})
}

func tickRatio(v float64) string {
	return strconv.FormatFloat(v, 'g', 3, 64) + "x"
}

func tickLatency(ns float64) string {
	v, unit := ns, "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, next
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " " + unit
}

func tickCount(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e3:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
