package loadreport

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/everywire/everywire/lab/report"
)

// forms are all that can be made of a report.
func forms(r *Report) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return r.Text(w, 0, false) },
		"html": r.HTML, "json": r.JSON, "csv": r.CSV, "prometheus": r.Prometheus,
	}
}

func page(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	outside = regexp.MustCompile(`(?i)https?:|src\s*=|href\s*=|url\(|@import|<script|<link|<img|<iframe|<object|<embed|\son[a-z]+\s*=`)
	drawing = regexp.MustCompile(`(?s)<svg.*?</svg>`)
)

// The page needs nothing else, and its drawings are whole.
func TestHTML(t *testing.T) {
	for name := range cases() {
		r, _ := made(t, name)
		out := page(t, r)
		if m := outside.FindString(out); m != "" {
			t.Errorf("%s: the page has %q", name, m)
		}
		for _, bad := range []string{"NaN", "Inf", "ZgotmplZ", "%!", "<nil>"} {
			if i := strings.Index(out, bad); i >= 0 {
				t.Errorf("%s: the page has %q: %s", name, bad, out[max(0, i-100):i+20])
			}
		}
		for _, svg := range drawing.FindAllString(out, -1) {
			if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
				t.Errorf("%s: %v in %s", name, err, svg)
			}
		}
	}
}

// What is in a record may be anybody's.
func TestHTMLEscapes(t *testing.T) {
	const evil = `<script>alert("x")</script>`
	s := cases()["mix"]
	s.ops = []string{evil, "b"}
	s.n = 2000
	s.thresholds = []string{evil}
	run, _ := s.make()
	run.Header.Load.Target, run.Header.Load.Mix, run.Trials[0].FirstError = evil, evil, evil
	r, err := New(run)
	if err != nil {
		t.Fatal(err)
	}
	if out := page(t, r); strings.Contains(out, "<script") || !strings.Contains(out, "&lt;script&gt;") {
		t.Error("the page has a script")
	}
}

// The drawings show what the timeline has: the tip of each second holds its rate,
// and each line has a point for each second.
func TestPlotsOverTime(t *testing.T) {
	r, _ := made(t, "open")
	plots := r.overTime()
	if len(plots) != 4 {
		t.Fatalf("%d plots, want 4", len(plots))
	}
	rates := plots[0]
	if len(rates.Tips) != 30 {
		t.Fatalf("%d seconds, want 30", len(rates.Tips))
	}
	for i, tip := range rates.Tips {
		if want := strconv.FormatInt(r.Trial.Timeline[i].Right, 10) + " right replies a second"; !strings.Contains(tip.Text, want) {
			t.Errorf("second %d says %q, want %q", i, tip.Text, want)
		}
	}
	if n := strings.Count(rates.Lines[0].Path, "L") + 1; n != 30 {
		t.Errorf("the line has %d points: %s", n, rates.Lines[0].Path)
	}
	// The axis goes 5 % beyond the largest value, so its highest point is there.
	top := tall * (1 - 1/1.05)
	highest := float64(tall)
	for _, l := range rates.Lines {
		for _, m := range regexp.MustCompile(`[ML][0-9.]+ ([0-9.]+)`).FindAllStringSubmatch(l.Path, -1) {
			y, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			highest = min(highest, y)
		}
	}
	if highest < top-0.1 || highest > top+0.1 {
		t.Errorf("the highest point is at %v, want %v", highest, top)
	}
	if few, _ := made(t, "few"); few.overTime() != nil {
		t.Error("a load of one point is drawn over time")
	}
	if r, _ := made(t, "stages"); len(r.points()) != 20 || len(r.Trial.Timeline) != 21 {
		t.Errorf("%d of %d points are drawn, want all but the last, which is short", len(r.points()), len(r.Trial.Timeline))
	}
}

// A line has a gap where nothing is known.
func TestGaps(t *testing.T) {
	r, _ := made(t, "open")
	r.Trial.Timeline[7].Right = 0
	p := r.times()
	for _, l := range p.Lines {
		if n := strings.Count(l.Path, "M"); n != 2 {
			t.Errorf("%s is of %d pieces: %s", l.Class, n, l.Path)
		}
	}
	if !strings.Contains(p.Tips[7].Text, "no right reply") {
		t.Errorf("second 7 says %q", p.Tips[7].Text)
	}
}

// An axis has two values at least, however narrow it is.
func TestNarrowAxes(t *testing.T) {
	for _, c := range []struct{ lo, hi float64 }{{1.31e6, 1.4e6}, {900, 901}, {5e6, 5e6}, {1e3, 1e9}} {
		p := &plot{Height: tall, Y: between([]point{{0, c.lo}, {1, c.hi}})}
		p.yTicks(report.TickLatency)
		if len(p.YTicks) < 2 || p.YTicks[0].Label == p.YTicks[1].Label {
			t.Errorf("from %v to %v: %v", c.lo, c.hi, p.YTicks)
		}
		for _, tick := range p.YTicks {
			if len([]rune(tick.Label)) > 8 {
				t.Errorf("from %v to %v: the label %q", c.lo, c.hi, tick.Label)
			}
		}
	}
}

// The bars of the histogram are all replies.
func TestHistogramIsWhole(t *testing.T) {
	r, _ := made(t, "closed")
	sum := 0.0
	for _, tip := range r.histogram().Tips {
		m := regexp.MustCompile(`: <?([0-9.]+) % of the replies`).FindStringSubmatch(tip.Text)
		if m == nil {
			t.Fatalf("a bar says %q", tip.Text)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if sum < 99 || sum > 101 {
		t.Errorf("the bars are %v %% of the replies", sum)
	}
}

func TestJSON(t *testing.T) {
	for name := range cases() {
		r, _ := made(t, name)
		var b bytes.Buffer
		if err := r.JSON(&b); err != nil {
			t.Fatal(err)
		}
		var d Document
		dec := json.NewDecoder(&b)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		if d.Total.Samples != d.Total.Right+d.Total.Failed || d.Total.Samples != r.Total.Samples || len(d.Operations) != len(r.Ops) || d.Failed != r.Failed() {
			t.Errorf("%s: %+v", name, d.Total)
		}
		if c := d.Calls; d.Open && c.Scheduled != c.Right+c.Failed+c.Censored+c.Dropped+c.Unsent {
			t.Errorf("%s: the calls are %+v", name, c)
		}
		var right, failed int64
		for _, op := range d.Operations {
			right, failed = right+op.Right, failed+op.Failed
		}
		if len(d.Operations) > 0 && (right != d.Calls.Right || failed != d.Calls.Failed) {
			t.Errorf("%s: operations have %d and %d, all calls %+v", name, right, failed, d.Calls)
		}
		if p := d.Total.Service["p99"]; (p != nil) != (r.Total.Right >= 10_000) {
			t.Errorf("%s: p99 is %v", name, p)
		}
	}
}

func TestCSV(t *testing.T) {
	for name := range cases() {
		r, _ := made(t, name)
		var b bytes.Buffer
		if err := r.CSV(&b); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll() // all lines have as many fields as the head
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != 2+len(r.Ops) {
			t.Fatalf("%s: %d lines", name, len(lines))
		}
		samples := 0
		for _, l := range lines[1 : len(lines)-1] {
			n, err := strconv.Atoi(l[2])
			if err != nil || l[0] != "operation" {
				t.Errorf("%s: %v: %v", name, l, err)
			}
			samples += n
		}
		last := lines[len(lines)-1]
		if last[0] != "total" || last[2] != strconv.FormatInt(r.Total.Samples, 10) || len(r.Ops) > 0 && last[2] != strconv.Itoa(samples) {
			t.Errorf("%s: the last line is %v, the others have %d samples", name, last, samples)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrors(t *testing.T) {
	r, _ := made(t, "open")
	for as, write := range forms(r) {
		if err := write(brokenWriter{}); err == nil {
			t.Errorf("%s: no error", as)
		}
	}
}
