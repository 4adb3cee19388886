package loadreport

import (
	"fmt"
	"math"
	"strconv"

	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/report"
	"github.com/everywire/everywire/lab/stats"
)

// A second's percentile is drawn from so many replies on; it is a look at the load
// and no result.
const seenP50, seenP99 = 10, 100

const (
	tall   = 170 // the height of a plot over time
	taller = 230
)

// seconds are the points of the timeline that are drawn: not a last one that is
// much shorter than the others, whose rates say nothing.
func (r *Report) points() []record.Second {
	list := r.Trial.Timeline
	if n := len(list); n > 1 && list[n-1].Seconds < list[0].Seconds/2 {
		return list[:n-1]
	}
	return list
}

// overTime are the plots of the timeline, none if it has no two points.
func (r *Report) overTime() []*plot {
	if len(r.points()) < 2 {
		return nil
	}
	plots := []*plot{r.rates(), r.times()}
	if p := r.troubles(); p != nil {
		plots = append(plots, p)
	}
	return append(plots, r.inFlight())
}

// series takes one value of each second.
func (r *Report) series(of func(*record.Second) float64) []point {
	list := r.points()
	out := make([]point, 0, len(list))
	for i := range list {
		s := &list[i]
		out = append(out, point{s.At + s.Seconds/2, of(s)})
	}
	return out
}

// timed begins a plot over time.
func (r *Report) timed(id, title, caption string) *plot {
	list := r.points()
	last := &list[len(list)-1]
	p := &plot{ID: id, Title: title, Caption: caption, Height: tall, X: axis{hi: last.At + last.Seconds}}
	if w := list[0].Seconds; w > 1 {
		p.Caption += fmt.Sprintf(" A point is of %s s.", strconv.FormatFloat(w, 'f', -1, 64))
	}
	unit, name := 1.0, "s"
	switch {
	case p.X.hi > 5*3600:
		unit, name = 3600, "h"
	case p.X.hi > 300:
		unit, name = 60, "min"
	}
	for _, v := range report.Ticks(0, p.X.hi/unit, false, 9) {
		p.xTick(v*unit, strconv.FormatFloat(v, 'g', 6, 64)+" "+name)
	}
	return p
}

// tips says in words what a plot shows of each second.
func (p *plot) tips(r *Report, text func(*record.Second) string) {
	list := r.points()
	for i := range list {
		s := &list[i]
		p.tip(s.At, s.At+s.Seconds, fmt.Sprintf("%s to %s: %s", seconds(s.At), seconds(s.At+s.Seconds), text(s)))
	}
}

func failed(s *record.Second) (n int64) {
	for _, v := range s.Errors {
		n += v
	}
	return n
}

func (r *Report) rates() *plot {
	right := r.series(func(s *record.Second) float64 { return perSecond(float64(s.Right), s.Seconds) })
	begun := r.series(func(s *record.Second) float64 { return perSecond(float64(s.Begun), s.Seconds) })
	p := r.timed("rate", "Calls a second", "Right replies that came in each second, and calls that began in it.")
	p.Y = upTo(largest(right, begun))
	p.draw("c-blue", "right replies", right, true)
	p.draw("c-gray thin", "begun", begun, false)
	p.yTicks(report.TickCount)
	p.tips(r, func(s *record.Second) string {
		return fmt.Sprintf("%s right replies a second, %s begun", report.Number(perSecond(float64(s.Right), s.Seconds)), report.Number(perSecond(float64(s.Begun), s.Seconds)))
	})
	lo, hi := extremes(right)
	p.Desc = fmt.Sprintf("From %s to %s right replies a second.", report.Number(lo), report.Number(hi))
	return p
}

func extremes(list []point) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for _, p := range list {
		if math.IsNaN(p.y) {
			continue
		}
		if !(lo <= p.y) {
			lo = p.y
		}
		if !(hi >= p.y) {
			hi = p.y
		}
	}
	return lo, hi
}

func (r *Report) times() *plot {
	at := func(least int64, of func(*record.Second) int64) []point {
		return r.series(func(s *record.Second) float64 {
			if v := of(s); s.Right >= least && v > 0 {
				return float64(v)
			}
			return math.NaN()
		})
	}
	p50 := at(seenP50, func(s *record.Second) int64 { return s.Service.P50 })
	p99 := at(seenP99, func(s *record.Second) int64 { return s.Service.P99 })
	worst := at(1, func(s *record.Second) int64 { return s.Service.Max })
	p := r.timed("time", "Time of a reply", fmt.Sprintf("Of the replies that came in each second; p50 from %d replies, p99 from %d. Logarithmic.", seenP50, seenP99))
	p.Height = taller
	intended := at(seenP99, func(s *record.Second) int64 { return s.Intended.P99 })
	p.Y = between(p50, p99, worst, intended)
	p.draw("c-gray thin", "longest", worst, false)
	p.draw("c-orange", "p99", p99, false)
	if r.Open() {
		p.draw("c-violet dashed", "p99 from the intended start", intended, false)
	}
	p.draw("c-blue", "p50", p50, false)
	p.yTicks(report.TickLatency)
	p.tips(r, func(s *record.Second) string {
		text := "no right reply"
		if s.Right > 0 {
			text = "longest " + report.Latency(s.Service.Max)
		}
		if s.Right >= seenP99 {
			text = "p99 " + report.Latency(s.Service.P99) + ", " + text
			if r.Open() {
				text = "p99 from the intended start " + report.Latency(s.Intended.P99) + ", " + text
			}
		}
		if s.Right >= seenP50 {
			text = "p50 " + report.Latency(s.Service.P50) + ", " + text
		}
		return text
	})
	if lo, hi := extremes(p50); !math.IsNaN(lo) {
		p.Desc = fmt.Sprintf("p50 from %s to %s.", span(lo), span(hi))
	}
	if lo, hi := extremes(p99); !math.IsNaN(lo) {
		p.Desc += fmt.Sprintf(" p99 from %s to %s.", span(lo), span(hi))
	}
	return p
}

// troubles are what did not go well, nil if all did.
func (r *Report) troubles() *plot {
	kinds := []struct {
		class, name string
		of          func(*record.Second) int64
	}{
		{"c-orange", "failed", failed},
		{"c-violet", "dropped", func(s *record.Second) int64 { return s.Dropped }},
		{"c-gray", "began late", func(s *record.Second) int64 { return s.Late }},
	}
	var all [][]point
	total := make([]int64, len(kinds))
	for i, k := range kinds {
		all = append(all, r.series(func(s *record.Second) float64 {
			total[i] += k.of(s)
			return perSecond(float64(k.of(s)), s.Seconds)
		}))
	}
	if total[0]+total[1]+total[2] == 0 {
		return nil
	}
	p := r.timed("trouble", "Calls a second that did not go well", "Calls that failed in each second, were dropped in it, or began late in it.")
	p.Y = upTo(largest(all...))
	for i, k := range kinds {
		if total[i] > 0 {
			p.draw(k.class, k.name, all[i], i == 0)
			p.Desc += fmt.Sprintf("%s %s. ", report.Whole(total[i]), k.name)
		}
	}
	p.yTicks(report.TickCount)
	p.tips(r, func(s *record.Second) string {
		return fmt.Sprintf("%s failed, %s dropped, %s began late", report.Whole(failed(s)), report.Whole(s.Dropped), report.Whole(s.Late))
	})
	return p
}

func (r *Report) inFlight() *plot {
	open := r.series(func(s *record.Second) float64 { return float64(s.InFlight) })
	for i, s := range r.points() {
		open[i].x = s.At + s.Seconds
	}
	p := r.timed("open", "Open calls", "Calls that had begun and not ended, at the end of each second.")
	p.Height = 110
	p.Y = upTo(max(5, largest(open)))
	p.draw("c-teal", "open calls", open, false)
	p.yTicks(report.TickCount)
	p.tips(r, func(s *record.Second) string { return report.Whole(s.InFlight) + " open at the end" })
	lo, hi := extremes(open)
	p.Desc = fmt.Sprintf("From %s to %s.", report.Number(lo), report.Number(hi))
	return p
}

// distributions are the plots of how times are spread, none without a right reply.
func (r *Report) distributions() []*plot {
	if r.Total.Right == 0 {
		return nil
	}
	return []*plot{r.curve(), r.histogram()}
}

// hists are the histograms that are drawn.
func (r *Report) hists() []histogram {
	list := []histogram{{"c-blue", "service", r.Total.service, r.Trial.Censored}}
	if r.Open() {
		list = append(list, histogram{"c-violet dashed", "from the intended start", r.Total.intended, r.Trial.Censored + r.Trial.Dropped + r.Trial.Unsent})
	}
	return list
}

type histogram struct {
	class, name string
	*record.Hist
	untimed int64
}

// curve is time over percentile. Each further tenth of the axis to the right has
// fewer calls by the same factor; it ends where there are too few.
func (r *Report) curve() *plot {
	p := &plot{
		ID: "curve", Title: "Time by percentile", Height: taller,
		Caption: "So many percent of the replies took no longer. The line ends where fewer than 100 calls lie beyond. Both axes are logarithmic.",
	}
	var all [][]point
	end := 1.0
	for _, h := range r.hists() {
		var list []point
		for nines := 0.1; nines <= 5; nines += 0.02 { // 1 is p90, 2 is p99
			q := 100 - math.Pow(10, 2-nines)
			ns, ok := stats.Percentile(h.Hist, h.untimed, q)
			if !ok {
				break
			}
			list = append(list, point{nines, float64(ns)})
			end = max(end, nines)
		}
		all = append(all, list)
	}
	p.X, p.Y = axis{lo: 0.1, hi: end}, between(all...)
	for i, h := range r.hists() {
		p.draw(h.class, h.name, all[i], false)
	}
	for _, q := range []float64{50, 90, 99, 99.9, 99.99} {
		if nines := 2 - math.Log10(100-q); nines <= end+0.001 {
			p.xTick(nines, PointName(q))
		}
	}
	p.yTicks(report.TickLatency)
	for _, v := range r.Total.Service {
		if v.Known {
			p.Desc += fmt.Sprintf("%s %s. ", PointName(v.P), report.Latency(v.NS))
		}
	}
	return p
}

// binsPerDecade is how fine the histogram is drawn.
const binsPerDecade = 20

// histogram is how many replies took how long.
func (r *Report) histogram() *plot {
	p := &plot{
		ID: "histogram", Title: "How long replies took", Height: taller,
		Caption: fmt.Sprintf("The share of the right replies in each of %d equal steps to ten times as long. The time is logarithmic.", binsPerDecade),
	}
	var all [][]point
	first, last := math.MaxInt, math.MinInt
	for _, h := range r.hists() {
		share := map[int]float64{}
		for ns, n := range h.All() {
			i := int(math.Floor(math.Log10(float64(ns)) * binsPerDecade))
			share[i] += 100 * float64(n) / float64(h.Count())
			first, last = min(first, i), max(last, i)
		}
		var list []point
		for i := first - 1; len(share) > 0 && i <= last+1; i++ {
			list = append(list, point{math.Pow(10, float64(i)/binsPerDecade), share[i]})
		}
		all = append(all, list)
	}
	step := math.Pow(10, 1.0/binsPerDecade)
	p.X = axis{lo: math.Pow(10, float64(first)/binsPerDecade) / step, hi: math.Pow(10, float64(last)/binsPerDecade) * step * step, log: true}
	p.Y = upTo(largest(all...))
	for i, h := range r.hists() {
		if i == 0 {
			p.bars(h.class, h.name, all[i], step)
			continue
		}
		for j := range all[i] {
			all[i][j].x *= math.Sqrt(step) // the middle of a step
		}
		p.draw(h.class, h.name, all[i], false)
	}
	for _, v := range report.Ticks(p.X.lo, p.X.hi, true, 19) {
		p.xTick(v, report.TickLatency(v))
	}
	p.yTicks(func(v float64) string { return report.TickCount(v) + " %" })
	for _, v := range all[0] {
		if v.y > 0 {
			p.tip(v.x, v.x*step, fmt.Sprintf("%s to %s: %s of the replies", span(v.x), span(v.x*step), Percent(v.y/100)))
		}
	}
	p.Desc = fmt.Sprintf("From %s to %s.", span(r.Total.Min), span(r.Total.Max))
	return p
}
