package loadreport

import (
	"html/template"
	"io"
	"strings"

	"github.com/everywire/everywire/lab/report"
)

// HTML writes the report as one page that needs nothing else: no script, no font,
// no picture from elsewhere.
func (r *Report) HTML(w io.Writer) error {
	d := r.digest()
	d.Foot = "Made from the record of the load by everywire report. " + d.Foot
	spread, err := figure(true, r.distributions()...)
	if err != nil {
		return err
	}
	time, err := figure(false, r.overTime()...)
	if err != nil {
		return err
	}
	about, err := r.facts()
	if err != nil {
		return err
	}
	if r.Total.Right > 0 {
		parts := &d.Sections[1].Parts // the percentiles
		*parts = append(*parts, report.Part{Figure: spread})
	}
	over := report.Section{Heading: "Over time", Parts: []report.Part{{Figure: time}}}
	if len(r.overTime()) == 0 {
		over.Parts = []report.Part{{Text: "The load took less than two seconds, or nobody collected what happened in each of them.", Quiet: true}}
	}
	sections := append([]report.Section{}, d.Sections[:2]...)
	sections = append(sections, over)
	sections = append(sections, d.Sections[2:]...)
	sections = append(sections, report.Section{Heading: "Load and machine", Parts: []report.Part{{Figure: about}}})
	d.Sections = sections
	return d.HTML(w)
}

type fact struct{ Name, Value string }

var factsTemplate = template.Must(template.New("facts").Parse(
	`<dl class="facts">{{range .}}<div><dt>{{.Name}}</dt><dd>{{.Value}}</dd></div>{{end}}</dl>`))

// facts are what was asked for, and where.
func (r *Report) facts() (template.HTML, error) {
	h := &r.Run.Header
	all := []fact{
		{"Target", r.Load.Target}, {"Method", r.Load.Method}, {"Mix", r.Load.Mix}, {"Load", r.how()}, {"Connections", r.Load.Connections},
		{"Thresholds", strings.Join(r.Load.Thresholds, "; ")}, {"Started", report.Date(h.Started)},
		{"Machine", report.Machine(&h.Machine)}, {"Kernel", h.Machine.Kernel}, {"Generator’s cores", h.Machine.ClientCores}, {"Program", report.Program(&h.Build)},
	}
	if end := r.Run.End; end != nil {
		all = append(all, fact{"Ended", report.Date(end.Ended)})
	}
	var known []fact
	for _, f := range all {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	var b strings.Builder
	err := factsTemplate.Execute(&b, known)
	return template.HTML(b.String()), err //nolint:gosec // html/template wrote it
}
