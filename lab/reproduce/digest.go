package reproduce

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/report"
	"github.com/everywire/everywire/lab/stats"
)

// Digest puts the articles' tables and ours side by side, answers their claims,
// and says what differs and what went wrong.
func Digest(results []*Result) *report.Digest {
	d := &report.Digest{Kicker: "everywire reproduce", Title: "Published comparisons of REST with RPC, measured again"}
	if len(results) == 1 {
		d.Title = results[0].Article.Title
	}
	d.Lead = lead(results)
	for _, r := range results {
		d.Sections = append(d.Sections, r.section())
		for _, name := range r.failures() {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s, %s: %s.", r.Article.Name, name, strings.TrimSuffix(r.Failed[name], ".")))
		}
	}
	d.Foot = "Ratios are medians over paired blocks, with intervals of at least 95 % coverage. A difference is called one if a sign test over the blocks, corrected for all claims of the article, " +
		"says that the median ratio lies outside of 5 %. The records beside this page hold every trial: everywire report FILE."
	return d
}

// lead says where and how long.
func lead(results []*Result) []string {
	for _, r := range results {
		names := slices.Sorted(maps.Keys(r.Runs))
		if len(names) == 0 {
			continue
		}
		run := r.Runs[names[0]]
		m, b := run.Header.Machine, run.Header.Build
		out := []string{fmt.Sprintf("On %s/%s, %s, %d cores; everywire %s, %s; %s.",
			m.OS, m.Arch, m.CPU, m.Cores, b.Version, b.Go, run.Header.Started.UTC().Format("2006-01-02 15:04 UTC"))}
		if r.Scale != Full {
			out = append(out, "One block of each experiment: it shows that everything works, and claims nothing.")
		}
		return out
	}
	return nil
}

// failures are the experiments that went wrong.
func (r *Result) failures() []string { return slices.Sorted(maps.Keys(r.Failed)) }

func (r *Result) section() report.Section {
	s := report.Section{Heading: r.Article.Name + ": " + r.Article.Title}
	s.Parts = append(s.Parts, report.Part{Text: r.Article.System})
	answers := r.Answers()
	chart := &report.RatioChart{
		Title:   "How much faster",
		Caption: "Large mark: median of the blocks' ratios, with its interval. Square: as published. Shaded: within 5 %. Logarithmic.",
	}
	var sentences []string
	for _, a := range answers {
		sentences = append(sentences, a.Sentence)
		chart.Rows = append(chart.Rows, report.RatioRow{Name: a.Claim.Short, Ratio: a.Ratio, Different: a.Test.Different && r.Scale == Full, Published: a.Claim.Published})
	}
	s.Parts = append(s.Parts, report.Part{Heading: "What it claims, and what we find", List: sentences}, report.Part{Chart: chart})
	for i := range r.Article.Tables {
		t := &r.Article.Tables[i]
		s.Parts = append(s.Parts, report.Part{Heading: t.Caption, Table: r.table(t)})
	}
	s.Parts = append(s.Parts, r.backends()...)
	s.Parts = append(s.Parts, report.Part{Heading: "What differs, and what is not said", List: r.Article.Differs})
	if notes := r.notes(); len(notes) > 0 {
		s.Parts = append(s.Parts, report.Part{Heading: "Notes", List: notes})
	}
	return s
}

// table puts the article's figures and ours side by side.
func (r *Result) table(t *Table) *report.Table {
	out := &report.Table{Head: []string{"", "published", "here", "ratio published", "ratio here"}}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, []string{
			row.Label, number(row.Published), number(r.middle(t.Unit, row.Ours)), number(row.Ratio), r.ratioOf(row),
		})
	}
	return out
}

// number writes a published figure or one of ours, nothing where there is none.
func number(v float64) string {
	if v == 0 || math.IsNaN(v) {
		return ""
	}
	return report.Number(v)
}

// middle is our figure in the table's unit.
func (r *Result) middle(unit string, v Value) float64 {
	m := stats.Middle(r.blocks(v))
	if unit == "ms" {
		m /= 1e6
	}
	return m
}

func (r *Result) ratioOf(row Row) string {
	if row.Base == (Value{}) {
		return ""
	}
	return report.RatioText(r.ratio(row.Ours, row.Base))
}

// backends says how the calls of an arm were spread over its replicas.
func (r *Result) backends() []report.Part {
	t := &report.Table{Head: []string{"", "first", "second", "third", "spread"}}
	for _, name := range slices.Sorted(maps.Keys(r.Runs)) {
		run := r.Runs[name]
		for _, a := range run.Header.Plan.Arms {
			if a.Cluster == nil || a.Again {
				continue
			}
			if row := spread(run, a); row != nil {
				t.Rows = append(t.Rows, row)
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []report.Part{{Heading: "Calls that each replica had", Table: t}}
}

// spread is the row of an arm: the calls of each of its replicas over all
// blocks, the busiest of a block first.
func spread(run *record.Run, a plan.Arm) []string {
	sums := make([]int64, a.Cluster.Replicas)
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Arm != a.Name || t.Void != "" || len(t.Backends) != len(sums) {
			continue
		}
		for j, n := range slices.Backward(slices.Sorted(slices.Values(t.Backends))) {
			sums[len(sums)-1-j] += n
		}
	}
	row, total := []string{a.Name}, int64(0)
	for _, n := range sums {
		total += n
	}
	if total == 0 {
		return nil
	}
	for _, n := range sums {
		row = append(row, fmt.Sprintf("%.0f %%", 100*float64(n)/float64(total)))
	}
	for len(row) < 4 {
		row = append(row, "")
	}
	kind := "by call"
	if float64(sums[0]) > 0.5*float64(total) {
		kind = "by connection"
	}
	return append(row, kind)
}

// notes are remarks on the runs: what was left out, void or failed.
func (r *Result) notes() []string {
	var out []string
	for _, e := range r.Article.Experiments {
		run := r.Runs[e.Name]
		if run == nil {
			continue
		}
		for _, x := range run.Header.Plan.Excluded {
			out = append(out, fmt.Sprintf("%s: %s was left out: %s.", e.Name, x.Arm, strings.TrimSuffix(x.Reason, ".")))
		}
		for _, l := range stats.Summarize(run).Loads {
			out = append(out, loadNotes(e.Name, run, &l)...)
		}
	}
	return out
}

// loadNotes are of one load of an experiment.
func loadNotes(experiment string, run *record.Run, l *stats.Load) []string {
	var out []string
	name := experiment
	if len(run.Header.Plan.Networks()) > 1 {
		name += " over " + l.Link
	}
	if len(run.Header.Plan.Callers) > 1 {
		name += fmt.Sprintf(" with %d callers", l.Callers)
	}
	for i := range l.Arms {
		a := &l.Arms[i]
		if a.ErrorCount > 0 {
			out = append(out, fmt.Sprintf("%s: %d of %d calls of %s failed: %s.", name, a.ErrorCount, a.Calls+a.ErrorCount, a.Name, strings.TrimSuffix(a.FirstError, ".")))
		}
		for _, reason := range slices.Sorted(maps.Keys(a.Voids)) {
			n, trials := a.Voids[reason], "trials"
			if n == 1 {
				trials = "trial"
			}
			out = append(out, fmt.Sprintf("%s: %d void %s of %s, not counted: %s.", name, n, trials, a.Name, strings.TrimSuffix(reason, ".")))
		}
	}
	if n, all := run.Disturbed(l.Callers, l.Link); n > 0 {
		out = append(out, fmt.Sprintf("%s: %s", name, report.Disturbed(n, all)))
	}
	if l.Floor != nil && l.Floor.Ratio.Interval != nil {
		out = append(out, fmt.Sprintf("%s: the noise floor, %s beside itself, is %s.", name, run.Header.Plan.Baseline, report.RatioText(l.Floor.Ratio)))
	}
	if e := l.Emulated; e != nil {
		out = append(out, fmt.Sprintf("%s: the link's round trip was %v where %v was asked for.", name, e.RTT.Round(10*time.Microsecond), e.Asked))
	}
	return out
}
