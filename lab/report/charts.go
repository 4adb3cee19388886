package report

import (
	"fmt"
	"math"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/stats"
)

// class is the style of an arm's marks: by what may be said about it.
func class(a *stats.Arm) string {
	switch {
	case a.Baseline:
		return "base"
	case a.Test == nil || a.Kind == plan.Ping:
		return "floor"
	case !a.Test.Different:
		return "same"
	case a.Ratio.Median > 1:
		return "more"
	}
	return "less"
}

// kindClass is the style of an arm's bars: by what it is.
func kindClass(a *stats.Arm) string {
	switch {
	case a.Kind == plan.Wire && a.Again:
		return "wire again"
	case a.Kind == plan.Wire:
		return "wire"
	case a.Kind == plan.Reference:
		return "ref"
	}
	return "ping"
}

// ratioScale is the one axis of all forest plots, so that loads compare.
func (v *view) ratioScale() scale {
	values := []float64{1 / (1 + stats.Band) / 1.05, (1 + stats.Band) * 1.05}
	for i := range v.sum.Loads {
		for j := range v.sum.Loads[i].Arms {
			if a := &v.sum.Loads[i].Arms[j]; a.Calls > 0 {
				values = append(values, a.Ratio.Values()...)
			}
		}
	}
	return logScale(values)
}

// forest shows each arm's ratio to the baseline: the median, its interval and
// every block.
func (v *view) forest(l *stats.Load, s scale) *chart {
	c := newChart(loadID("ratio", l), "Calls per second, relative to "+v.base,
		"Large mark: median of the blocks' ratios. Bar: its interval. Small dots: the blocks. Shaded: within 5 % of "+v.base+". Logarithmic.")
	c.Legend = []legend{
		{"more", "dot", "faster"}, {"less", "diamond", "slower"}, {"same", "ring", "not distinguished"}, {"floor", "square", "no claim: " + noClaim(l)},
	}
	arms := arranged(l)
	for _, a := range arms {
		if a.Baseline {
			c.row(a.Name, "1", "base")
			continue
		}
		value := ratioCell(a.Ratio)
		if a.Calls == 0 {
			value = "no correct reply"
			if a.Trials == 0 {
				value = "not measured"
			}
		} else if a.Test != nil && !a.Test.Different {
			value += " ~"
		}
		y := c.row(a.Name, value, class(a))
		if a.Calls > 0 && len(a.Ratio.Blocks) > 0 {
			c.ratio(s, a, y)
		}
	}
	band := mark{Shape: "rect", Class: "band", X: s.x(1 / (1 + stats.Band)), W: s.width(1/(1+stats.Band), 1+stats.Band), Y: 0, H: float64(c.Height), Title: "within 5 % of " + v.base}
	one := mark{Shape: "line", Class: "one", X: s.x(1), W: s.x(1), Y: 0, Y2: float64(c.Height)}
	c.Marks = append([]mark{band, one}, c.Marks...)
	c.axis(s, 15, tickRatio)
	return c
}

func noClaim(l *stats.Load) string {
	var words []string
	for _, a := range arranged(l) {
		if a.Again || a.Kind == plan.Ping {
			words = append(words, a.Name)
		}
	}
	return list(words)
}

func (c *chart) ratio(s scale, a *stats.Arm, y float64) {
	cl := class(a)
	for i, b := range a.Ratio.Blocks {
		// Alternating heights keep dots apart that have nearly the same value.
		at := y + 9 + 2.5*float64(i%3-1)
		c.point(s, b.Value, at, 2, "dot", cl+" block", fmt.Sprintf("%s, block %d: %s", a.Name, b.Block+1, ratioNumber(b.Value)))
	}
	if iv := a.Ratio.Interval; iv != nil && iv.Low > 0 {
		c.line(s, iv.Low, iv.High, y-4, cl+" interval")
	}
	shape := map[string]string{"more": "dot", "less": "diamond", "same": "ring", "floor": "square"}[cl]
	if a.Ratio.Median > 0 {
		c.point(s, a.Ratio.Median, y-4, 5, shape, cl, a.Name+": "+ratioCell(a.Ratio))
	}
}

// rates shows the correct replies per second of each arm.
func rates(l *stats.Load) *chart {
	c := newChart(loadID("rate", l), "Calls per second", "Bar: median of the blocks. Dots: the blocks.")
	c.Legend = kindLegend(l)
	largest := 0.0
	for _, a := range l.Arms {
		for _, b := range a.Rates {
			largest = max(largest, b.Value)
		}
	}
	s := linearScale(largest)
	for _, a := range arranged(l) {
		y := c.row(a.Name, rate(a.Rate), kindClass(a))
		c.bar(s, 0, a.Rate, y-3, 14, kindClass(a), a.Name+": "+rate(a.Rate)+" calls/s")
		for i, b := range a.Rates {
			c.point(s, b.Value, y+9+2.5*float64(i%3-1), 2, "dot", "same block", fmt.Sprintf("%s, block %d: %s calls/s", a.Name, b.Block+1, rate(b.Value)))
		}
	}
	c.axis(s, 13, tickCount)
	return c
}

func kindLegend(l *stats.Load) []legend {
	all := []struct {
		kind plan.Kind
		legend
	}{{plan.Wire, legend{"wire", "bar", "wire"}}, {plan.Reference, legend{"ref", "bar", "reference"}}, {plan.Ping, legend{"ping", "bar", "bare socket"}}}
	var out []legend
	for _, k := range all {
		for i := range l.Arms {
			if l.Arms[i].Kind == k.kind {
				out = append(out, k.legend)
				break
			}
		}
	}
	return out
}

// latencies shows the percentiles that have enough samples.
func latencies(l *stats.Load) *chart {
	c := newChart(loadID("latency", l), "Latency of a call",
		"From sending to the checked reply, all blocks pooled. Logarithmic. Beside the names: p50 and p99; one with too few calls is left out.")
	c.Legend = []legend{{"p50", "dot", "p50"}, {"p90", "ring", "p90"}, {"p99", "diamond", "p99"}}
	var all []float64
	for i := range l.Arms {
		for _, p := range []float64{50, 90, 99} {
			if ns, ok := stats.Percentile(&l.Arms[i].Latency, l.Arms[i].Censored, p); ok {
				all = append(all, float64(ns))
			}
		}
	}
	s := logScale(all)
	for _, a := range arranged(l) {
		y := c.row(a.Name, percentile(a, 50)+" · "+percentile(a, 99), kindClass(a))
		var have []float64
		for _, p := range []struct {
			p           float64
			class, mark string
		}{{50, "p50", "dot"}, {90, "p90", "ring"}, {99, "p99", "diamond"}} {
			if ns, ok := stats.Percentile(&a.Latency, a.Censored, p.p); ok {
				have = append(have, float64(ns))
				c.point(s, float64(ns), y, 5, p.mark, p.class, fmt.Sprintf("%s, %s: %s", a.Name, p.class, latency(ns)))
			}
		}
		if len(have) > 1 {
			c.Marks = append([]mark{{Shape: "line", Class: "span", X: s.x(have[0]), W: s.x(have[len(have)-1]), Y: y, Y2: y}}, c.Marks...)
		}
	}
	if len(all) > 0 {
		c.axis(s, 19, tickLatency)
	}
	return c
}

// cpu shows both ends' CPU time per call.
func cpu(l *stats.Load) *chart {
	c := newChart(loadID("cpu", l), "CPU time per call", "User and system time of each process. Beside the names: server/client in µs.")
	c.Legend = []legend{{"server", "bar", "server"}, {"client", "bar", "client"}}
	largest := 0.0
	for i := range l.Arms {
		if sum := l.Arms[i].ServerCPU + l.Arms[i].ClientCPU; !math.IsNaN(sum) {
			largest = max(largest, sum*1e6)
		}
	}
	s := linearScale(largest)
	for _, a := range arranged(l) {
		server, client := a.ServerCPU*1e6, a.ClientCPU*1e6
		y := c.row(a.Name, share(micros(a.ServerCPU), micros(a.ClientCPU)), kindClass(a))
		c.bar(s, 0, server, y, 14, "server", a.Name+", server: "+micros(a.ServerCPU)+" µs")
		c.bar(s, server, server+client, y, 14, "client", a.Name+", client: "+micros(a.ClientCPU)+" µs")
	}
	c.axis(s, 19, func(v float64) string { return tickCount(v) + " µs" })
	return c
}

// coresBusy shows how many cores each end kept busy, which tells whose ceiling
// was reached.
func (v *view) coresBusy(l *stats.Load) *chart {
	c := newChart(loadID("cores", l), "Cores kept busy",
		"CPU time over measured time. Upper bar: server"+onCores(v.run.Header.Machine.ServerCores)+". Lower bar: client"+onCores(v.run.Header.Machine.ClientCores)+".")
	c.Legend = []legend{{"server", "bar", "server"}, {"client", "bar", "client"}}
	largest := 1.0
	for i := range l.Arms {
		for _, n := range []float64{l.Arms[i].ServerCores, l.Arms[i].ClientCores} {
			if !math.IsNaN(n) {
				largest = max(largest, n)
			}
		}
	}
	s := linearScale(largest)
	for _, a := range arranged(l) {
		y := c.row(a.Name, share(known(a.ServerCores, twoDigits), known(a.ClientCores, twoDigits)), kindClass(a))
		c.bar(s, 0, a.ServerCores, y-7, 11, "server", fmt.Sprintf("%s, server: %.2f cores", a.Name, a.ServerCores))
		c.bar(s, 0, a.ClientCores, y+7, 11, "client", fmt.Sprintf("%s, client: %.2f cores", a.Name, a.ClientCores))
	}
	c.axis(s, 13, tickCount)
	return c
}

func onCores(list string) string {
	if list == "" {
		return ""
	}
	return " (on core " + list + ")"
}

// traffic shows the bytes of a call, payload and headers apart. They hardly
// depend on the number of callers, so the first load stands for all.
func (v *view) traffic() *chart {
	if len(v.sum.Loads) == 0 {
		return nil
	}
	l := &v.sum.Loads[0]
	c := newChart("bytes", "Bytes per call at "+v.loadName(l),
		"Upper bar: towards the server. Lower bar: back. Solid: payload of TCP. Pale: TCP and IP headers of its segments, pure ACKs included. Beside the names: payload out/in, then with headers.")
	c.Legend = []legend{{"payload", "bar", "payload"}, {"headers", "bar", "TCP/IP headers"}}
	largest := 0.0
	for i := range l.Arms {
		p := l.Arms[i].PerCall
		for _, b := range []float64{p.PayloadOut, p.PayloadIn, p.WireOut, p.WireIn} {
			if !math.IsNaN(b) {
				largest = max(largest, b)
			}
		}
	}
	if largest == 0 {
		return nil
	}
	s := linearScale(largest)
	for _, a := range arranged(l) {
		p := a.PerCall
		y := c.row(a.Name, trafficWords(p), kindClass(a))
		for _, d := range []struct {
			at            float64
			way           string
			payload, wire float64
		}{{-7, "out", p.PayloadOut, p.WireOut}, {7, "in", p.PayloadIn, p.WireIn}} {
			c.bar(s, 0, d.payload, y+d.at, 11, "payload", fmt.Sprintf("%s, %s: %s bytes of payload", a.Name, d.way, amount(d.payload)))
			c.bar(s, d.payload, d.wire, y+d.at, 11, "headers", fmt.Sprintf("%s, %s: %s bytes of headers", a.Name, d.way, amount(d.wire-d.payload)))
		}
	}
	c.axis(s, 13, tickCount)
	return c
}

func trafficWords(p stats.PerCall) string {
	s := pair(p.PayloadOut, p.PayloadIn)
	if w := pair(p.WireOut, p.WireIn); s != none && w != none {
		s += " · " + w
	}
	return s
}
