package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/stats"
)

const (
	// width is the largest number of columns that Text uses, minWidth the
	// smallest that it tries to do with.
	width, minWidth = 100, 40
	// roomForNames is how many columns of a narrow table are for the names.
	roomForNames = 16
)

// TextOptions are the options of [Text].
type TextOptions struct {
	// Color allows ANSI colours; set it only if the output is a terminal.
	Color bool
	// Columns is how wide the terminal is; 0 stands for 100, and more than that
	// is not used. Tables leave out columns on a terminal that is narrower.
	Columns int
}

// Text writes the run for a terminal, at most 100 columns wide: a table for
// each number of callers with its notes, the bytes per call beside published
// ones, and the verdict.
func Text(w io.Writer, run *record.Run, opts TextOptions) error {
	v := newView(run)
	t := newText(opts)
	t.view = v
	t.paragraph("", bold, "everywire compare: "+v.title())
	t.paragraph("", "", v.amountOfWork()+"; "+date(run.Header.Started))
	t.paragraph("", "", v.machine()+"; "+v.build())
	for _, s := range []string{v.partial, v.excluded(), v.untyped()} {
		if s != "" {
			t.paragraph("", yellow, s)
		}
	}
	for i := range v.sum.Loads {
		t.load(&v.sum.Loads[i])
	}
	t.published()
	t.b.WriteByte('\n')
	t.paragraph("", bold, "Verdict, in calls per second")
	for i := range v.sum.Loads {
		l := &v.sum.Loads[i]
		t.paragraph("", "", "At "+v.loadName(l)+":")
		for _, s := range v.sentences(l) {
			t.paragraph("- ", "", s)
		}
	}
	_, err := w.Write(t.b.Bytes())
	return err
}

const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

type text struct {
	*view
	b     bytes.Buffer
	color bool
	width int
}

func newText(opts TextOptions) *text {
	t := &text{color: opts.Color, width: width}
	if opts.Columns > 0 {
		t.width = min(width, max(minWidth, opts.Columns))
	}
	return t
}

// styled writes s in a style; ends of lines stand outside of it. Names and
// messages in a record may be anybody's: what would steer the terminal is
// replaced.
func (t *text) styled(style, s string) {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
	if t.color && style != "" && s != "" {
		s = style + s + reset
	}
	t.b.WriteString(s)
}

// paragraph writes words in lines of at most t.width columns; further lines are
// indented as far as the mark is wide.
func (t *text) paragraph(mark, style, s string) {
	t.b.WriteString(mark)
	indent := utf8.RuneCountInString(mark)
	line, col := "", indent
	for _, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case line == "":
			line, col = word, col+n
		case col+1+n <= t.width:
			line, col = line+" "+word, col+1+n
		default:
			t.styled(style, line)
			t.b.WriteString("\n" + strings.Repeat(" ", indent))
			line, col = word, indent+n
		}
	}
	t.styled(style, line)
	t.b.WriteByte('\n')
}

func (t *text) load(l *stats.Load) {
	t.b.WriteByte('\n')
	t.paragraph("", bold, t.heading(l))
	last, meaning := "CPU µs", "CPU: of the server, per call"
	if l.Emulated != nil {
		last, meaning = "RTTs", "RTTs: the median call in round trips of the link"
	}
	tab := table{
		head: []string{"arm", "calls/s", "ratio [interval]", "", "p50", "p99", "bytes out/in", "packets", last, "errors"},
		left: []bool{true, false, true, true},
		// What a narrow terminal can do without, the least wanted first.
		optional: []string{"packets", "CPU µs", "bytes out/in", "p99"},
	}
	if l.Emulated != nil {
		tab.optional = slices.DeleteFunc(tab.optional, func(s string) bool { return s == "CPU µs" })
	}
	for _, a := range arranged(l) {
		tab.rows = append(tab.rows, tableRow{t.cells(l, a), t.style(a)})
	}
	tab.write(t)
	marks := "~ not distinguished from " + t.base + " by a test over blocks that is corrected for the number of arms, as the intervals are not; " + meaning + "; bytes: of TCP payload, per call."
	t.paragraph("", dim, marks)
	if len(tab.dropped) > 0 {
		t.paragraph("", dim, "No room here for "+list(tab.dropped)+": a terminal of "+strconv.Itoa(width)+" columns and the HTML report have all.")
	}
	for _, n := range t.notes(l) {
		style := dim
		if n.Warn {
			style = yellow
		}
		t.paragraph("", style, n.Text)
	}
}

// arranged puts the baseline and its second run first, then the other wires,
// the references and the floor, each in the plan's order.
func arranged(l *stats.Load) []*stats.Arm {
	out := make([]*stats.Arm, len(l.Arms))
	for i := range l.Arms {
		out[i] = &l.Arms[i]
	}
	place := func(a *stats.Arm) int {
		switch {
		case a.Baseline:
			return 0
		case a.Again:
			return 1
		}
		return 2 + slices.Index([]plan.Kind{plan.Wire, plan.Reference, plan.Ping}, a.Kind)
	}
	slices.SortStableFunc(out, func(a, b *stats.Arm) int { return place(a) - place(b) })
	return out
}

func (t *text) cells(l *stats.Load, a *stats.Arm) []string {
	ratio, mark := ratioText(a)
	last := micros(a.ServerCPU)
	if l.Emulated != nil {
		last = roundTrips(l, a)
	}
	return []string{
		a.Name, rate(a.Rate), ratio, mark, percentile(a, 50), percentile(a, 99),
		pair(a.PerCall.PayloadOut, a.PerCall.PayloadIn), packets(a),
		last, thousands(a.ErrorCount),
	}
}

// ratioText is a table's ratio and its mark.
func ratioText(a *stats.Arm) (ratio, mark string) {
	switch {
	case a.Calls == 0 || !a.Baseline && len(a.Ratio.Blocks) == 0:
		return none, ""
	case a.Baseline:
		return "1", ""
	case a.Test != nil && !a.Test.Different:
		return ratioCell(a.Ratio), "~"
	}
	return ratioCell(a.Ratio), ""
}

func (t *text) style(a *stats.Arm) string {
	switch {
	case a.Baseline:
		return bold
	case a.Test == nil || !a.Test.Different:
		return ""
	case a.Ratio.Median > 1:
		return green
	}
	return red
}

func (t *text) published() {
	rows := t.view.published()
	if len(rows) == 0 {
		return
	}
	t.b.WriteByte('\n')
	t.paragraph("", bold, "Bytes of TCP payload per call, out/in, beside those of "+publishedSource)
	tab := table{head: []string{"arm", "here", "there", "the article's wire"}, left: []bool{true, false, false, true}}
	for _, r := range rows {
		tab.rows = append(tab.rows, tableRow{[]string{r.Arm, r.Here, r.There, r.Wire}, ""})
	}
	tab.write(t)
	if note := t.idNote(); note != "" {
		t.paragraph("", "", note)
	}
}

// table aligns cells; columns are to the right unless left says otherwise.
type table struct {
	head []string
	left []bool
	rows []tableRow
	// optional are the heads of columns that may be left out, the first first;
	// dropped are those that write left out.
	optional, dropped []string
}

type tableRow struct {
	cells []string
	style string
}

// write writes the table with two spaces between columns, one where two would
// be too wide. A name in the first column that leaves too little room has a
// line of its own, unless the terminal is a narrow one and there are columns to
// leave out.
func (tab *table) write(t *text) {
	widths, rest := tab.widths()
	for t.width < width && len(tab.optional) > 0 && min(widths[0], roomForNames)+rest+len(widths)-1 > t.width {
		tab.drop(tab.optional[0])
		tab.optional = tab.optional[1:]
		widths, rest = tab.widths()
	}
	gap := 2
	if widths[0]+rest+gap*(len(widths)-1) > t.width {
		gap = 1
	}
	widths[0] = min(widths[0], max(8, t.width-rest-gap*(len(widths)-1)))
	tab.line(t, tab.head, widths, gap, dim)
	for _, r := range tab.rows {
		cells := r.cells
		if utf8.RuneCountInString(cells[0]) > widths[0] {
			t.paragraph("", r.style, cells[0])
			cells = append([]string{""}, cells[1:]...)
		}
		tab.line(t, cells, widths, gap, r.style)
	}
}

// widths are those of the columns; rest is the sum without the first.
func (tab *table) widths() (widths []int, rest int) {
	widths = make([]int, len(tab.head))
	for i, h := range tab.head {
		widths[i] = utf8.RuneCountInString(h)
		for _, r := range tab.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
		}
		if i > 0 {
			rest += widths[i]
		}
	}
	return widths, rest
}

// drop takes out a column, which is aligned to the right.
func (tab *table) drop(head string) {
	i := slices.Index(tab.head, head)
	tab.head = slices.Delete(tab.head, i, i+1)
	for j := range tab.rows {
		tab.rows[j].cells = slices.Delete(tab.rows[j].cells, i, i+1)
	}
	tab.dropped = append(tab.dropped, head)
}

func (tab *table) line(t *text, cells []string, widths []int, gap int, style string) {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			fmt.Fprintf(&b, "%*s", gap, "")
		}
		pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(c)))
		if i < len(tab.left) && tab.left[i] {
			b.WriteString(c + pad)
		} else {
			b.WriteString(pad + c)
		}
	}
	t.styled(style, strings.TrimRight(b.String(), " "))
	t.b.WriteByte('\n')
}
