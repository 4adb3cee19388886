package loadreport

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/report"
	"github.com/everywire/everywire/lab/stats"
)

// Text writes the report for a terminal of so many columns, 0 standing for 100,
// which is the most that is used. colour allows ANSI colours.
func (r *Report) Text(w io.Writer, width int, colour bool) error {
	d := r.digest()
	d.Title = d.Kicker + ": " + d.Title
	return d.Text(w, report.TextOptions{Color: colour, Columns: width})
}

// digest is what text and page have in common.
func (r *Report) digest() *report.Digest {
	d := &report.Digest{Kicker: "everywire load", Title: r.Title(), Warnings: r.Warnings, Foot: r.foot()}
	d.Lead = []string{r.headline()}
	d.Meta = r.how() + "; " + report.Date(r.Run.Header.Started) + "; " + r.where() + "."
	d.Sections = append(d.Sections, r.summary(), r.latency())
	for _, s := range []report.Section{r.fate(), r.failures(), r.judged()} {
		if len(s.Parts) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	return d
}

// Title says what was called.
func (r *Report) Title() string {
	words := []string{report.Short(r.Load.Target)}
	if r.Load.Method != "" {
		words = append(words, report.Short(r.Load.Method))
	}
	if r.Load.Mix != "" {
		words = append(words, "with "+report.Short(r.Load.Mix))
	}
	return strings.Join(words, " ")
}

// headline is the result in a sentence.
func (r *Report) headline() string {
	t := &r.Total
	s := fmt.Sprintf("%s right replies a second", report.Number(t.RightRate))
	if r.Open() {
		s += fmt.Sprintf(", of %s that were due", report.Number(perSecond(float64(r.Trial.Scheduled), r.Trial.Seconds)))
	}
	if t.Samples == 0 {
		return s + "; no call ended." + r.verdict()
	}
	words := []string{s, Percent(t.ErrorShare) + " failed"}
	for _, list := range []struct {
		of   []Percentile
		name string
	}{{t.Service, ""}, {t.Intended, " from the intended start"}} {
		if len(list.of) == 0 || !list.of[0].Known {
			continue
		}
		half := fmt.Sprintf("half of the replies%s within %s", list.name, report.Latency(list.of[0].NS))
		if p := list.of[2]; p.Known {
			half += ", 99 % within " + report.Latency(p.NS)
		}
		words = append(words, half)
	}
	return strings.Join(words, "; ") + "." + r.verdict()
}

// verdict says how many thresholds failed.
func (r *Report) verdict() string {
	all, failed := len(r.Thresholds), 0
	for _, o := range r.Thresholds {
		if o.Failed {
			failed++
		}
	}
	switch {
	case all == 0:
		return ""
	case failed == 0 && all == 1:
		return " The threshold held."
	case failed == 0:
		return fmt.Sprintf(" All %d thresholds held.", all)
	case all == 1:
		return " The threshold failed."
	}
	return fmt.Sprintf(" %d of %d thresholds failed.", failed, all)
}

// how says in which way calls were made.
func (r *Report) how() string {
	p := &r.Run.Header.Plan
	words := []string{"Closed loop, " + report.Count(r.Trial.Callers, "caller")}
	if r.Open() {
		words[0] = "Open loop, " + stages(&r.Shape) + ", at most " + report.Count(r.Trial.Callers, "call") + " at once"
	}
	for _, more := range []struct {
		said bool
		text string
	}{
		{r.Shape.Poisson, "gaps as of a Poisson process"},
		{r.Shape.Patience > 0, fmt.Sprintf("a due call waits %v at most", r.Shape.Patience)},
		{r.Shape.Calls > 0, report.Count(r.Shape.Calls, "call") + " each"},
		{r.Shape.Ramp > 0, fmt.Sprintf("begun over %v", r.Shape.Ramp)},
		{r.Shape.Think > 0, "a pause of " + pause(&r.Shape) + " after each reply"},
		{r.Load.Connections != "", "connections: " + report.Short(r.Load.Connections)},
		{r.Trial.Link != "" && r.Trial.Link != plan.Loopback, "over the emulated link " + r.Trial.Link},
	} {
		if more.said {
			words = append(words, more.text)
		}
	}
	s := strings.Join(words, ", ") + fmt.Sprintf("; %s measured", seconds(r.Trial.Seconds))
	if p.Warmup > 0 {
		s += fmt.Sprintf(" after %v of warm-up", p.Warmup)
	}
	return s
}

func pause(s *plan.Shape) string {
	if s.ThinkExp {
		return fmt.Sprintf("%v on average (exponential)", s.Think)
	}
	return s.Think.String()
}

// stages writes the rates of an open loop; of many, the first ones.
func stages(s *plan.Shape) string {
	const most = 4
	words := make([]string, 0, len(s.Stages))
	for i, st := range s.Stages {
		if i == most {
			words = append(words, report.Count(len(s.Stages)-most, "further stage"))
			break
		}
		w := report.Number(st.From)
		if st.From != st.To {
			w += " to " + report.Number(st.To)
		}
		w += " calls/s"
		if len(s.Stages) > 1 {
			w += " for " + st.For.Round(time.Millisecond).String()
		}
		words = append(words, w)
	}
	return strings.Join(words, ", then ")
}

// where says on what the load generator ran.
func (r *Report) where() string {
	h := &r.Run.Header
	s := "from " + report.Machine(&h.Machine)
	if c := h.Machine.ClientCores; c != "" {
		s += " (on " + c + ")"
	}
	return s + "; " + report.Program(&h.Build)
}

// summary is JMeter's table.
func (r *Report) summary() report.Section {
	tab := report.Table{
		Head: []string{"operation", "samples", "average", "min", "max", "std dev", "error %", "throughput", "recv KB/s", "sent KB/s", "avg bytes"},
		// The least wanted first.
		Optional: []string{"sent KB/s", "avg bytes", "std dev", "recv KB/s", "min"},
		Wide:     true,
	}
	for i := range r.Ops {
		tab.Rows = append(tab.Rows, r.Ops[i].cells())
	}
	tab.Rows = append(tab.Rows, r.Total.cells())
	text := "Samples are calls that ended in the measured time, right or not; throughput is samples a second. Times are of service, of right replies. KB are 1,024 bytes; avg bytes are those received for a sample."
	switch {
	case r.Total.In < 0:
		text += " Nobody counted bytes."
	case r.SocketBytes:
		text += " Bytes are those of the sockets, so they have calls, too, that ended after the measured time, and they are not told apart by operation."
	}
	return report.Section{Heading: "Calls", Parts: []report.Part{{Table: &tab}, {Text: text, Quiet: true}}}
}

const kilobyte = 1024

func (row *Row) cells() []string {
	return []string{
		report.Short(row.Name), report.Whole(row.Samples), span(row.Average), span(row.Min), span(row.Max), span(row.StdDev),
		Percent(row.ErrorShare), report.Number(row.Throughput) + "/s", report.Number(row.Received / kilobyte), report.Number(row.Sent / kilobyte),
		report.Amount(row.AverageBytes),
	}
}

// span writes a time in nanoseconds.
func span(ns float64) string {
	if math.IsNaN(ns) {
		return report.None
	}
	return report.Latency(int64(math.Round(ns)))
}

// latency is the table of percentiles.
func (r *Report) latency() report.Section {
	tab := report.Table{Head: []string{"time"}, Wide: true}
	for _, p := range Points {
		tab.Head = append(tab.Head, PointName(p))
	}
	dashes := false
	add := func(name string, list []Percentile) {
		if len(list) == 0 {
			return
		}
		cells := []string{name}
		for _, p := range list {
			if p.Known {
				cells = append(cells, report.Latency(p.NS))
			} else {
				cells, dashes = append(cells, report.None), true
			}
		}
		tab.Rows = append(tab.Rows, cells)
	}
	rows := r.Ops
	if len(rows) != 1 {
		rows = append(rows[:len(rows):len(rows)], r.Total)
	}
	for i := range rows {
		prefix := ""
		if len(rows) > 1 {
			prefix = cut(report.Short(rows[i].Name), 36) + ", "
		}
		add(prefix+"service", rows[i].Service)
		add(prefix+"from intended start", rows[i].Intended)
	}
	text := "Service: from the beginning of a call to its reply."
	if r.Open() {
		text += " From intended start: from when the call was to begin, which is what its user waits."
	} else {
		text += " In a closed loop a caller that waits calls nobody: while the target stalls it is called less, and the stall is in few of these times. A load at a rate shows what users would meet."
	}
	if dashes {
		text += fmt.Sprintf(" %s: too few right replies (p50 needs %s, p90 %s, p99 %s and p99.9 %s), or more calls without a time than lie beyond it.", report.None,
			report.Whole(stats.MinSamples(50)), report.Whole(stats.MinSamples(90)), report.Whole(stats.MinSamples(99)), report.Whole(stats.MinSamples(99.9)))
	}
	return report.Section{Heading: "Percentiles", Parts: []report.Part{{Table: &tab}, {Text: text, Quiet: true}}}
}

// fate says what became of the calls, and how well the generator kept its time.
func (r *Report) fate() report.Section {
	t := r.Trial
	var words []string
	if r.Open() {
		words = append(words, fmt.Sprintf("%s due: %s right, %s failed, %s still open at the end, %s dropped, %s unsent.",
			report.Count(int(t.Scheduled), "call"), report.Whole(t.Calls), report.Whole(r.Total.Failed), report.Whole(t.Censored), report.Whole(t.Dropped), report.Whole(t.Unsent)))
		words = append(words, fmt.Sprintf("%s began more than 1 ms late, %s of them because the generator was late.", r.callsAndShare(t.Late), report.Whole(t.PacerLate)))
		if t.Lag.Count() > 0 {
			words = append(words, fmt.Sprintf("The generator's own delay: half of the calls within %s, 99 %% within %s, the longest %s.",
				report.Latency(t.Lag.Percentile(50)), report.Latency(t.Lag.Percentile(99)), report.Latency(t.Lag.Percentile(100))))
		}
	} else {
		words = append(words, fmt.Sprintf("%s began: %s right, %s failed, %s still open at the end.",
			report.Count(int(t.Ended()), "call"), report.Whole(t.Calls), report.Whole(r.Total.Failed), report.Whole(t.Censored)))
	}
	if busy, of := r.Busy(); busy > 0 {
		s := fmt.Sprintf("The generator kept %.2f of %s busy", busy, report.Count(of, "core"))
		if n := t.Ended(); n > 0 {
			s += fmt.Sprintf(", %s a call", report.Latency(int64(t.ClientCPU*1e9/float64(n))))
		}
		words = append(words, s+".")
	}
	if n := t.Net; n != nil {
		words = append(words, fmt.Sprintf("%s opened in the measured time.", report.Count(int(n.Conns), "connection")))
	}
	if e := t.Emulated; e != nil {
		words = append(words, link(e))
	}
	return report.Section{Heading: "What became of the calls", Parts: []report.Part{{List: words}}}
}

func link(e *record.Emulated) string {
	return fmt.Sprintf("The emulated link: %s of round trip was asked for, %s achieved; packets were %s late on average; %s lost, %s overflowed.",
		report.Latency(e.Asked), report.Latency(e.RTT), report.Latency(e.Late), report.Whole(e.LostOut+e.LostIn), report.Whole(e.OverflowedOut+e.OverflowedIn))
}

// failures are the errors by kind, with the text of the first.
func (r *Report) failures() report.Section {
	if r.Total.Failed == 0 {
		return report.Section{}
	}
	tab := report.Table{Head: []string{"kind", "calls", "of samples"}}
	row := &r.Total
	for _, kind := range row.Kinds() {
		n := row.Errors[kind]
		cells := []string{report.Short(kind), report.Whole(n), Percent(float64(n) / float64(row.Samples))}
		if len(r.Ops) > 1 {
			cells = append(cells, r.spread(kind))
		}
		tab.Rows = append(tab.Rows, cells)
	}
	if len(r.Ops) > 1 {
		tab.Head = append(tab.Head, "of operations")
	}
	parts := []report.Part{{Table: &tab}}
	if s := r.Trial.FirstError; s != "" {
		parts = append(parts, report.Part{Text: "The first error: " + report.Short(s)})
	}
	return report.Section{Heading: "Errors", Parts: parts}
}

// spread says which operations had errors of a kind, as far as there is room.
func (r *Report) spread(kind string) string {
	const most = 2
	var words []string
	more := 0
	for i := range r.Ops {
		switch n := r.Ops[i].Errors[kind]; {
		case n == 0:
		case len(words) == most:
			more++
		default:
			words = append(words, fmt.Sprintf("%s %s", cut(report.Short(r.Ops[i].Name), 20), report.Whole(n)))
		}
	}
	s := strings.Join(words, ", ")
	if more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// judged are the thresholds.
func (r *Report) judged() report.Section {
	var parts []report.Part
	for _, o := range r.Thresholds {
		if o.Failed {
			parts = append(parts, report.Part{Text: "failed: " + o.Text, Warn: true})
		} else {
			parts = append(parts, report.Part{Text: "held: " + o.Text})
		}
	}
	return report.Section{Heading: "Thresholds", Parts: parts}
}

func (r *Report) foot() string {
	return "What each figure is: docs/spec/load-report.md."
}
