package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everywire/everywire/lab/stats"
)

// comparison is what came of the pairs with one tool.
type comparison struct {
	tool         *tool
	ours, theirs []figures
}

// compare runs the pairs: ours, the other; the other, ours; and so on, so that what
// drifts favours neither.
func (t *tool) compare(ctx context.Context, m *machine, ours string, s *settings, stderr io.Writer) (*comparison, error) {
	program, err := t.find(ctx, m.dir, stderr)
	if err != nil {
		return nil, err
	}
	to, stop, err := t.serve(ctx, m, s)
	if err != nil {
		return nil, err
	}
	defer stop()
	args := append([]string{"load", to.url}, to.ours...)
	args = append(args, "--callers", strconv.Itoa(s.callers), "--duration", s.window.String(), "--json")
	c := &comparison{tool: t}
	for pair := range s.pairs {
		fmt.Fprintf(stderr, "%s: pair %d of %d\n", t.name, pair+1, s.pairs)
		for turn := range 2 {
			if turn == pair%2 {
				f, err := m.generate(ctx, readOurs, ours, args...)
				if err != nil {
					return nil, err
				}
				c.ours = append(c.ours, f)
				continue
			}
			f, err := m.generate(ctx, t.read, program, to.args...)
			if err != nil {
				return nil, err
			}
			c.theirs = append(c.theirs, f)
		}
	}
	return c, nil
}

// figure is what is compared.
type figure struct {
	name string
	of   func(figures) float64
	show func(float64) string
	// claimed is set if the ratio is one of those that are judged together.
	claimed bool
}

var compared = []figure{
	{"right calls a second", func(f figures) float64 { return f.rate }, func(v float64) string { return fmt.Sprintf("%.0f", v) }, true},
	{"mean time", func(f figures) float64 { return f.mean }, micros, true},
	{"p99", func(f figures) float64 { return f.p99 }, micros, true},
	{"generator's CPU a call", func(f figures) float64 { return float64(f.cpu) / f.calls }, micros, false},
	{"generator's cores", func(f figures) float64 { return float64(f.cpu) / (f.calls / f.rate * float64(time.Second)) }, func(v float64) string { return fmt.Sprintf("%.2f", v) }, false},
}

func micros(ns float64) string { return fmt.Sprintf("%.1f µs", ns/1e3) }

func blocks(all []figures, of func(figures) float64) []stats.Block {
	list := make([]stats.Block, 0, len(all))
	for i, f := range all {
		if v := of(f); v > 0 {
			list = append(list, stats.Block{Block: i, Value: v})
		}
	}
	return list
}

// line is one row of the table.
type line struct {
	figure
	c            *comparison
	ours, theirs []stats.Block
	ratio        stats.Ratio
	verdict      string
}

// lines are all rows; the claims of all of them are judged together.
func lines(all []*comparison) []*line {
	var rows, claims []*line
	var family []stats.Ratio
	for _, c := range all {
		for _, f := range compared {
			l := &line{figure: f, c: c, ours: blocks(c.ours, f.of), theirs: blocks(c.theirs, f.of), verdict: "–"}
			if len(l.ours) == 0 || len(l.theirs) == 0 {
				continue // the tool does not tell
			}
			l.ratio = stats.Pair(l.ours, l.theirs)
			rows = append(rows, l)
			if f.claimed {
				claims, family = append(claims, l), append(family, l.ratio)
			}
		}
	}
	for i, test := range stats.Judge(family) {
		claims[i].verdict = "not distinguished"
		if test.Different {
			claims[i].verdict = "different"
		}
	}
	return rows
}

func report(w io.Writer, m *machine, s *settings, all []*comparison) {
	fmt.Fprintf(w, "everywire load beside others: %d callers, %d pairs of %v in the order ABBA, %v\n\n", s.callers, s.pairs, s.window, m)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "beside\tfigure\teverywire\tthe other\tratio\t95 % interval\tat 5 %")
	rows := lines(all)
	for _, l := range rows {
		interval := "–"
		if i := l.ratio.Interval; i != nil {
			interval = fmt.Sprintf("%.3f to %.3f", i.Low, i.High)
		}
		fmt.Fprintf(table, "%s, %s\t%s\t%s\t%s\t%.3f\t%s\t%s\n", l.c.tool.name, l.c.tool.protocol, l.name,
			l.show(stats.Middle(l.ours)), l.show(stats.Middle(l.theirs)), l.ratio.Median, interval, l.verdict)
	}
	_ = table.Flush() // to a terminal or a file, whose own errors show
	claims := 0
	for _, l := range rows {
		if l.claimed {
			claims++
		}
	}
	if need := stats.BlocksNeeded(claims); s.pairs < need {
		fmt.Fprintf(w, "\n%d pairs show no difference, however large: %d are needed for %d claims.\n", s.pairs, need, claims)
	}
	fmt.Fprint(w, "\n"+strings.TrimSpace(explanation)+"\n")
}

const explanation = `
Ratios are everywire's figure over the other's, the median over pairs; "different" says that a sign
test, corrected for all claims, finds the median ratio more than 5 % from 1. Loops are closed: a mean
time is about callers over rate, so those two say the same in two ways. What explains a difference is
the generator's CPU a call. Where a generator's cores come near those that it has, its rate is its
own ceiling, and replies wait to be read: then its times hold its own delay, too. Where the server is
the ceiling, rates agree whatever generators cost.
`
