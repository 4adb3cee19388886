package loadreport

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/everywire/everywire/lab/report"
)

// A plot is lines over an axis. Its drawing is stretched to the room there is;
// labels stand beside it, so that they are not.
type plot struct {
	ID, Title string
	Caption   string
	Desc      string // the figures in words, for those who do not see them
	Height    int    // in pixels
	Legend    []key
	Lines     []line
	X, Y      axis
	XTicks    []mark
	YTicks    []mark
	Tips      []tip
}

// key says what a line is.
type key struct{ Class, Text string }

// line is a path of the drawing; Area fills what is below it.
type line struct{ Class, Path, Area string }

// mark is a label at an axis, at so many percent of its length.
type mark struct {
	At    string
	Label string
	Class string
}

// tip is a part of the drawing that says something when it is pointed at.
type tip struct {
	X, W string
	Text string
}

// across is the width of a drawing in its own units.
const across = 1000

// axis maps values to 0 to 1.
type axis struct {
	lo, hi float64
	log    bool
}

func (a axis) at(v float64) float64 {
	if a.log {
		v, a.lo, a.hi = math.Log(v), math.Log(a.lo), math.Log(a.hi)
	}
	return min(1, max(0, (v-a.lo)/(a.hi-a.lo)))
}

// upTo is an axis from zero to a little more than the largest value.
func upTo(largest float64) axis {
	if !(largest > 0) {
		largest = 1
	}
	return axis{hi: largest * 1.05}
}

// between is a logarithmic axis of all values that are positive.
func between(values ...[]point) axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, list := range values {
		for _, p := range list {
			if p.y > 0 {
				lo, hi = min(lo, p.y), max(hi, p.y)
			}
		}
	}
	if lo > hi {
		lo, hi = 1, 10
	}
	room := max(1.15, math.Pow(hi/lo, 0.05))
	return axis{lo: lo / room, hi: hi * room, log: true}
}

// point is a value at a place; one that is not known is NaN, and the line has a
// gap there.
type point struct{ x, y float64 }

func largest(values ...[]point) float64 {
	most := 0.0
	for _, list := range values {
		for _, p := range list {
			if p.y > most { // not if it is NaN
				most = p.y
			}
		}
	}
	return most
}

func (p *plot) place(v point) (x, y float64) {
	return p.X.at(v.x) * across, (1 - p.Y.at(v.y)) * float64(p.Height)
}

// draw adds a line through the points, filled to the ground if fill is set.
func (p *plot) draw(class, name string, points []point, fill bool) {
	var path, area strings.Builder
	open := false
	first, last := 0.0, 0.0
	shut := func() {
		if open && fill {
			fmt.Fprintf(&area, "L%s %dL%s %dZ", short(last), p.Height, short(first), p.Height)
		}
		open = false
	}
	for i, v := range points {
		if math.IsNaN(v.y) || p.Y.log && v.y <= 0 {
			shut()
			continue
		}
		x, y := p.place(v)
		to := "L"
		if !open {
			to, first = "M", x
		}
		open, last = true, x
		step := to + short(x) + " " + short(y)
		path.WriteString(step)
		if fill {
			area.WriteString(step)
		}
		if alone := (i == 0 || math.IsNaN(points[i-1].y)) && (i == len(points)-1 || math.IsNaN(points[i+1].y)); alone {
			path.WriteString("h0.01") // a point, by its round ends
		}
	}
	shut()
	if path.Len() == 0 {
		return
	}
	p.Lines = append(p.Lines, line{class, path.String(), area.String()})
	p.Legend = append(p.Legend, key{class, name})
}

// bars adds one bar for each value; each is as wide as the distance to the next
// place, the last as wide as width.
func (p *plot) bars(class, name string, points []point, width float64) {
	var area strings.Builder
	for _, v := range points {
		if !(v.y > 0) {
			continue
		}
		x, y := p.place(v)
		right := p.X.at(v.x+width) * across
		if p.X.log {
			right = p.X.at(v.x*width) * across
		}
		fmt.Fprintf(&area, "M%s %dV%sH%sV%dZ", short(x), p.Height, short(y), short(right), p.Height)
	}
	p.Lines = append(p.Lines, line{Class: class + " solid", Area: area.String()})
	p.Legend = append(p.Legend, key{class + " solid", name})
}

func (p *plot) yTicks(label func(float64) string) {
	ticks := report.Ticks(p.Y.lo, p.Y.hi, p.Y.log, 18)
	if len(ticks) < 2 && p.Y.log {
		// No two round values lie in it: it is a narrow one, of times.
		ratio := p.Y.hi / p.Y.lo
		ticks = []float64{p.Y.lo * math.Pow(ratio, 0.1), p.Y.lo * math.Pow(ratio, 0.9)}
		label = span
	}
	for _, v := range ticks {
		p.YTicks = append(p.YTicks, mark{At: percent(1 - p.Y.at(v)), Label: label(v)})
	}
}

func (p *plot) xTick(v float64, label string) {
	at := p.X.at(v)
	class := ""
	switch {
	case at < 0.03:
		class = "first"
	case at > 0.97:
		class = "last"
	}
	p.XTicks = append(p.XTicks, mark{percent(at), label, class})
}

// tip adds what is said from one value to another.
func (p *plot) tip(from, to float64, text string) {
	x := p.X.at(from) * across
	p.Tips = append(p.Tips, tip{short(x), short(p.X.at(to)*across - x), text})
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 2, 64) + "%" }

// short writes a place with as many digits as can be seen.
func short(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

var (
	//go:embed plot.tmpl.html
	plotText     string
	plotTemplate = template.Must(template.New("plot").Parse(plotText))
)

// figure is the plots in HTML, one below the other or, if pair is set, beside each
// other.
func figure(pair bool, plots ...*plot) (template.HTML, error) {
	var b strings.Builder
	err := plotTemplate.Execute(&b, struct {
		Pair  bool
		Plots []*plot
	}{pair, plots})
	return template.HTML(b.String()), err //nolint:gosec // html/template wrote it
}
