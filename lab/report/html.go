package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/stats"
)

var (
	//go:embed page.tmpl.html
	pageText string
	//go:embed page.css
	pageCSS string

	pageTemplate = template.Must(template.New("page").Parse(pageText))
)

// HTML writes the run as one page that needs nothing else: no script, no font,
// no picture from elsewhere.
func HTML(w io.Writer, run *record.Run) error {
	return pageTemplate.Execute(w, newPage(newView(run)))
}

// page is what the template shows.
type page struct {
	CSS             template.CSS
	Title, Headline string
	Date, Work      string
	Warnings        []string
	Loads           []pageLoad
	Traffic         *chart
	Published       []publishedRow
	IDNote          string
	Source          string
	Machine, Plan   []fact
	Base            string
	// P50 and P99 are the samples that these percentiles need.
	P50, P99 string
	Floor    bool // the plan has a second run of the baseline
	Payload  bool
	Linked   bool // there are links to speak of
}

type pageLoad struct {
	Callers string // and the link
	Heading string // with what the link achieved
	ID      string
	Verdict []string
	Forest  *chart
	Charts  []*chart
	Rows    []pageRow
	Notes   []note
	// Emulated says that the load went over an emulated link.
	Emulated bool
}

type fact struct{ Name, Value string }

// A pageRow is an arm in a table.
type pageRow struct {
	Arm, Class string
	Note       string // what the arm is for, if not plain
	Cells      []cell
}

type cell struct{ Head, Value string }

func newPage(v *view) *page {
	p := &page{
		CSS: template.CSS(pageCSS), Title: v.title(), Headline: v.headline(), Date: date(v.run.Header.Started),
		Work: v.amountOfWork(), Traffic: v.traffic(), Published: v.published(), IDNote: v.idNote(), Source: publishedSource,
		Machine: v.machineFacts(), Plan: v.planFacts(), Base: v.base,
		P50: thousands(stats.MinSamples(50)), P99: thousands(stats.MinSamples(99)), Payload: v.plan.Payload != nil, Linked: v.linked(),
	}
	for _, s := range []string{v.partial, v.excluded(), v.untyped()} {
		if s != "" {
			p.Warnings = append(p.Warnings, s)
		}
	}
	s := v.ratioScale()
	for i := range v.sum.Loads {
		l := &v.sum.Loads[i]
		p.Floor = p.Floor || l.Floor != nil
		charts := []*chart{rates(l), latencies(l)}
		if l.Emulated == nil {
			charts = append(charts, cpu(l), v.coresBusy(l))
		}
		p.Loads = append(p.Loads, pageLoad{
			Callers: v.loadName(l), Heading: v.heading(l), ID: loadID("load", l), Verdict: v.sentences(l), Forest: v.forest(l, s),
			Charts: charts, Rows: v.pageRows(l), Notes: v.notes(l), Emulated: l.Emulated != nil,
		})
	}
	return p
}

func (v *view) pageRows(l *stats.Load) []pageRow {
	rows := make([]pageRow, 0, len(l.Arms))
	for _, a := range arranged(l) {
		ratio, mark := ratioText(a)
		if mark != "" {
			ratio += " " + mark
		}
		trials := thousands(int64(a.Trials - a.Void))
		if a.Void > 0 {
			trials += fmt.Sprintf(" (%d void)", a.Void)
		}
		ends := []cell{
			{"CPU µs server/client", share(micros(a.ServerCPU), micros(a.ClientCPU))},
			{"cores busy server/client", share(known(a.ServerCores, twoDigits), known(a.ClientCores, twoDigits))},
		}
		if l.Emulated != nil {
			ends = []cell{{"p50 in round trips", roundTrips(l, a)}}
		}
		rows = append(rows, pageRow{a.Name, class(a), armNote(a), slices.Concat([]cell{
			{"calls/s", rate(a.Rate)},
			{"ratio [interval]", ratio},
			{"p50", percentile(a, 50)},
			{"p90", percentile(a, 90)},
			{"p99", percentile(a, 99)},
			{"payload bytes out/in", pair(a.PerCall.PayloadOut, a.PerCall.PayloadIn)},
			{"packets out/in", packets(a)},
		}, ends, []cell{
			{"blocks", trials},
			{"errors", thousands(a.ErrorCount)},
		})})
	}
	return rows
}

func armNote(a *stats.Arm) string {
	switch {
	case a.Baseline:
		return "baseline"
	case a.Again:
		return "noise floor"
	case a.Beside != "":
		return "beside " + a.Beside
	}
	return ""
}

func twoDigits(v float64) string { return fmt.Sprintf("%.2f", math.Round(v*100)/100) }

func (v *view) machineFacts() []fact {
	h := &v.run.Header
	m := &h.Machine
	facts := []fact{{"System", m.OS + "/" + m.Arch}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	add("Kernel", m.Kernel)
	add("CPU", m.CPU)
	add("Cores", thousands(int64(m.Cores))+v.pinning())
	if far := h.Server; far != nil {
		add("Servers on", about(far))
	}
	add("Program", v.build())
	for _, name := range slices.Sorted(maps.Keys(h.Build.Modules)) {
		add(name, h.Build.Modules[name])
	}
	return facts
}

func (v *view) planFacts() []fact {
	p := v.plan
	callers := make([]string, 0, len(p.Callers))
	for _, n := range p.Callers {
		callers = append(callers, thousands(int64(n)))
	}
	facts := []fact{
		{"Service", v.title()},
		{"Baseline", p.Baseline},
		{"Callers", list(callers) + ", in a closed loop"},
		{"Work", v.amountOfWork()},
		{"Seed of the order", strconv.FormatUint(p.Seed, 10)},
		{"Message limit", thousands(int64(p.MaxMessage)) + " bytes"},
		{"Started", date(v.run.Header.Started)},
	}
	if v.linked() {
		facts = append(facts, fact{"Links", list(p.Networks())})
	}
	if p.Payload != nil {
		facts = append(facts, fact{"Payload", fmt.Sprintf("%s, %s bytes, SHA-256 %s", p.Payload.Name, thousands(int64(p.Payload.Bytes)), p.Payload.SHA256)})
	}
	if e := v.run.End; e != nil {
		facts = append(facts, fact{"Ended", date(e.Ended)})
	}
	return facts
}
