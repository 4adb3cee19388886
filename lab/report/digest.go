package report

import (
	_ "embed"
	"html/template"
	"io"
	"math"
	"strconv"

	"github.com/everywire/everywire/lab/stats"
)

// A Digest is a report of more than one run: headings, sentences, tables and
// charts of ratios. Whoever makes one knows what they mean; here they get their
// looks, on a terminal and as a page.
type Digest struct {
	// Kicker is the small line above the title.
	Kicker, Title string
	// Lead is what the digest says first.
	Lead []string
	// Meta is the small line after it.
	Meta     string
	Warnings []string
	Sections []Section
	// Foot is the small print at the end.
	Foot string
}

// A Section is a heading and what stands below it, in order.
type Section struct {
	Heading string
	Parts   []Part
}

// A Part is a paragraph, a list, a table, a chart or a figure: the first that is set.
type Part struct {
	// Heading stands above it, if it is not empty.
	Heading string
	Text    string
	// Warn marks the text as a warning, Quiet as an explanation.
	Warn, Quiet bool
	List        []string
	Table       *Table
	// Chart is shown on a page only.
	Chart *RatioChart
	// Figure is shown on a page only. Its maker answers for it.
	Figure template.HTML
}

// A Table is cells under heads. The first column is to the left, the others are
// to the right.
type Table struct {
	Head []string
	Rows [][]string
	// Optional are the heads of columns that a narrow terminal may leave out, the
	// least wanted first.
	Optional []string
	// Wide is set for one of many columns: on a narrow page its rows become cards.
	Wide bool
}

// A RatioChart shows ratios with their intervals, and published ones beside
// them.
type RatioChart struct {
	Title, Caption string
	Rows           []RatioRow
}

// A RatioRow is one ratio. Published is 0 if there is none.
type RatioRow struct {
	Name      string
	Ratio     stats.Ratio
	Different bool
	Published float64
}

// Text writes the digest for a terminal.
func (d *Digest) Text(w io.Writer, opts TextOptions) error {
	t := newText(opts)
	t.paragraph("", bold, d.Title)
	for _, s := range d.Lead {
		t.paragraph("", "", s)
	}
	if d.Meta != "" {
		t.paragraph("", "", d.Meta)
	}
	for _, s := range d.Warnings {
		t.paragraph("! ", yellow, s)
	}
	for _, s := range d.Sections {
		t.b.WriteByte('\n')
		t.paragraph("", bold, s.Heading)
		for i := range s.Parts {
			t.part(&s.Parts[i])
		}
	}
	if d.Foot != "" {
		t.b.WriteByte('\n')
		t.paragraph("", dim, d.Foot)
	}
	_, err := w.Write(t.b.Bytes())
	return err
}

func (t *text) part(p *Part) {
	if p.Chart != nil || p.Figure != "" {
		return
	}
	if p.Heading != "" {
		t.b.WriteByte('\n')
		t.paragraph("", bold, p.Heading)
	}
	switch {
	case p.Text != "":
		style := ""
		switch {
		case p.Warn:
			style = yellow
		case p.Quiet:
			style = dim
		}
		t.paragraph("", style, p.Text)
	case p.Table != nil:
		tab := table{head: p.Table.Head, left: []bool{true}, optional: p.Table.Optional}
		for _, cells := range p.Table.Rows {
			tab.rows = append(tab.rows, tableRow{cells, ""})
		}
		tab.write(t)
	default:
		for _, s := range p.List {
			t.paragraph("- ", "", s)
		}
	}
}

//go:embed digest.tmpl.html
var digestText string

// The charts and the marks in them are the page's own.
var digestTemplate = template.Must(template.Must(pageTemplate.Clone()).New("digest").Parse(digestText))

// HTML writes the digest as one page that needs nothing else.
func (d *Digest) HTML(w io.Writer) error {
	return digestTemplate.Execute(w, digestPage{Digest: d, CSS: template.CSS(pageCSS)})
}

type digestPage struct {
	*Digest
	CSS template.CSS
}

// Plot is the chart of a part, for the template.
func (digestPage) Plot(id string, r *RatioChart) *chart {
	c := newChart(id, r.Title, r.Caption)
	c.Legend = []legend{{"more", "dot", "faster"}, {"less", "diamond", "slower"}, {"same", "ring", "not distinguished"}, {"ref", "square", "published"}}
	values := []float64{1 / (1 + stats.Band) / 1.05, (1 + stats.Band) * 1.05}
	for _, row := range r.Rows {
		values = append(values, row.Ratio.Values()...)
		values = append(values, row.Published)
	}
	s := logScale(values)
	for _, row := range r.Rows {
		c.compared(s, row)
	}
	band := mark{Shape: "rect", Class: "band", X: s.x(1 / (1 + stats.Band)), W: s.width(1/(1+stats.Band), 1+stats.Band), Y: 0, H: float64(c.Height), Title: "within 5 %"}
	one := mark{Shape: "line", Class: "one", X: s.x(1), W: s.x(1), Y: 0, Y2: float64(c.Height)}
	c.Marks = append([]mark{band, one}, c.Marks...)
	c.axis(s, 15, tickRatio)
	return c
}

// compared adds a row with our ratio and the published one.
func (c *chart) compared(s scale, row RatioRow) {
	cl, shape := "same", "ring"
	switch {
	case row.Different && row.Ratio.Median > 1:
		cl, shape = "more", "dot"
	case row.Different:
		cl, shape = "less", "diamond"
	}
	value := RatioText(row.Ratio)
	if row.Published > 0 {
		value += ", published " + plain(row.Published)
	}
	y := c.row(row.Name, value, cl)
	if iv := row.Ratio.Interval; iv != nil && iv.Low > 0 {
		c.line(s, iv.Low, iv.High, y-4, cl+" interval")
	}
	if row.Ratio.Median > 0 && !math.IsInf(row.Ratio.Median, 0) {
		c.point(s, row.Ratio.Median, y-4, 5, shape, cl, row.Name+": "+RatioText(row.Ratio))
	}
	if row.Published > 0 {
		c.point(s, row.Published, y+9, 4, "square", "ref", "published: "+plain(row.Published))
	}
}

// RatioText writes a ratio and its interval: "3.12 [2.95, 3.30]"; "–" if there
// is none.
func RatioText(r stats.Ratio) string { return ratioCell(r) }

// Times writes a ratio in a sentence: "3.1", "0.97".
func Times(v float64) string { return plain(v) }

// Within writes the interval of a ratio in a sentence, "2.9 to 3.3", or why there
// is none.
func Within(r stats.Ratio) string { return plainInterval(r) }

// Number writes a figure with three significant digits, "–" if it is not known.
func Number(v float64) string { return known(v, significant) }

// SectionID is what a page calls its n-th section, from 0.
func SectionID(n int) string { return "s" + strconv.Itoa(n) }

// ID is SectionID for the template.
func (digestPage) ID(n int) string { return SectionID(n) }

// PartID is what a page calls a part of a section.
func (digestPage) PartID(section, part int) string {
	return SectionID(section) + "p" + strconv.Itoa(part)
}
