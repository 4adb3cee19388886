package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

// few are the arms of the smaller cases.
func few(names ...string) []plan.Arm {
	var arms []plan.Arm
	for _, a := range classic {
		for _, n := range names {
			if a.Name == n {
				arms = append(arms, a)
			}
		}
	}
	return arms
}

// cases are runs that went well and runs that did not.
func cases() map[string]synthetic {
	small := func(blocks int) synthetic {
		s := synthetic{plan: classicPlan(blocks, 1), cost: classicCost, end: done}
		s.plan.Arms = few("rest", "rest (again)", "jsonrpc+tcp", "grpc", "grpc?codec=json", "net/http", "jrpc2", "ping")
		return s
	}
	classic := synthetic{plan: classicPlan(10, 1, 32), cost: classicCost, end: done}

	quick := small(3)
	quick.plan.Measure /= 10

	partial := small(10)
	partial.end = &record.End{Type: record.TypeEnd, Ended: done.Ended, Partial: "interrupted"}
	partial.change = func(t *record.Trial) bool { return t.Block < 4 }

	killed := small(10)
	killed.end = nil
	killed.change = func(t *record.Trial) bool { return t.Block == 0 && t.Arm != "grpc" && t.Arm != "rest" }

	void := small(10)
	void.change = func(t *record.Trial) bool {
		switch {
		case t.Arm == "jsonrpc+tcp" && t.Block < 2:
			t.Void = "3.1 % of the CPU time was stolen"
		case t.Arm == "rest" && t.Block == 5:
			t.Void = "the server died: exit status 2"
		case t.Arm == "grpc?codec=json":
			t.Void = "the server did not start"
			t.Calls, t.Seconds, t.Latency, t.Net = 0, 0, record.Hist{}, nil
		}
		return true
	}

	errs := small(10)
	errs.change = func(t *record.Trial) bool {
		switch {
		case t.Arm == "grpc" && t.Block == 3:
			t.Errors = map[string]int64{"UNAVAILABLE": 12, "wrong reply": 1}
			t.FirstError = "transport is closing:\n\tread tcp 127.0.0.1: connection reset by peer <b>&"
		case t.Arm == "jrpc2":
			t.Calls, t.Latency, t.Net = 0, record.Hist{}, nil
			t.Errors, t.FirstError = map[string]int64{"RESOURCE_EXHAUSTED": 1200}, "message of 5,000,000 bytes; the limit is 4,194,304"
		}
		return true
	}

	moved := small(10)
	moved.change = func(t *record.Trial) bool {
		if t.Arm == "rest (again)" {
			t.Calls += t.Calls / 5
		}
		return true
	}

	payload := small(10)
	payload.plan.Service = "echo"
	payload.plan.Payload = &plan.Payload{Name: "citm_catalog.json", Bytes: 1727204, SHA256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
	payload.plan.Excluded = []plan.Excluded{{Arm: "msgpackrpc+tcp", Reason: "its keys are not all text."}}
	payload.cost = map[string]cost{}
	for name, c := range classicCost {
		c.micros, c.server, c.client, c.out, c.in, c.packets = c.micros*280, c.server*280, c.client*280, 1727204+c.out, 1727204+c.in, 30
		payload.cost[name] = c
	}
	// grpc cannot carry it and is in no block; the system counts no packets.
	payload.change = func(t *record.Trial) bool {
		t.Net.PacketsOut, t.Net.PacketsIn, t.Net.WireOut, t.Net.WireIn = -1, -1, -1, -1
		return !strings.HasPrefix(t.Arm, "grpc")
	}
	// A second link, 1000 times slower than loopback, that lost some packets.
	links := small(10)
	links.plan.Links = []string{plan.Loopback, "rtt=142.5ms,loss=0.1%"}
	links.plan.Measure = 20 * time.Second
	return map[string]synthetic{
		"links": links, "classic": classic, "quick": quick, "partial": partial, "killed": killed,
		"void": void, "errors": errs, "moved": moved, "payload": payload,
	}
}

// runs are the cases' runs, made once; no test changes them.
var runs = sync.OnceValue(func() map[string]*record.Run {
	out := map[string]*record.Run{}
	for name, s := range cases() {
		out[name] = s.run()
	}
	return out
})

func TestText(t *testing.T) {
	for name, run := range runs() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Text(&b, run, TextOptions{}); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", b.Bytes())
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if strings.Contains(b.String(), "\x1b") {
				t.Error("colour without being asked for it")
			}
			if bad := regexp.MustCompile(`NaN|Inf|%!`).FindString(b.String()); bad != "" {
				t.Errorf("%s in the text", bad)
			}
		})
	}
}

// Nothing is wider than the terminal: tables leave out columns and say which.
func TestTextOnNarrowTerminals(t *testing.T) {
	for name, run := range runs() {
		for _, columns := range []int{60, 80, 100, 200} {
			var b bytes.Buffer
			if err := Text(&b, run, TextOptions{Columns: columns}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("%s: %d columns on a terminal of %d: %s", name, n, columns, line)
				}
			}
			head := strings.Contains(b.String(), "packets CPU µs") || strings.Contains(b.String(), "packets  CPU µs")
			told := strings.Contains(b.String(), "No room here for packets")
			if head != (columns >= width) || told != (columns < width) {
				t.Errorf("%s, %d columns: all columns %v, left out %v", name, columns, head, told)
			}
		}
	}
	var b bytes.Buffer
	_ = Text(&b, runs()["classic"], TextOptions{Columns: 80})
	golden(t, "classic80.txt", b.Bytes())
}

// A record may be anybody's; its names and messages do not steer the terminal.
func TestTextIsHarmless(t *testing.T) {
	s := cases()["quick"]
	bad := "gr\x1b[2Jpc\u009b"
	s.plan.Arms = append(few("rest"), plan.Arm{Name: bad, Kind: plan.Wire, Target: "grpc"})
	s.cost = map[string]cost{"rest": classicCost["rest"], bad: classicCost["grpc"]}
	var b bytes.Buffer
	if err := Text(&b, s.run(), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u009b") || !strings.Contains(b.String(), "gr\uFFFD[2Jpc\uFFFD") {
		t.Errorf("control characters:\n%q", b.String())
	}
}

func TestTextInColor(t *testing.T) {
	var plainText, colored bytes.Buffer
	run := runs()["void"]
	_ = Text(&plainText, run, TextOptions{})
	_ = Text(&colored, run, TextOptions{Color: true})
	if !strings.Contains(colored.String(), green) {
		t.Error("no colour")
	}
	if got := regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(colored.String(), ""); got != plainText.String() {
		t.Error("the text in colour differs from the plain one")
	}
}

// Bytes of failed calls stand in no comparison with the article's, and replies
// that came too late are not called missing.
func TestPublishedAndFailed(t *testing.T) {
	s := cases()["quick"]
	s.change = func(t *record.Trial) bool {
		switch t.Arm {
		case "jsonrpc+tcp":
			t.Errors = map[string]int64{"UNAVAILABLE": 1}
		case "grpc":
			t.Calls, t.OpenShare, t.Latency = 0, 2.5, record.Hist{}
		}
		return true
	}
	v := newView(s.run())
	for _, row := range v.published() {
		if row.Arm == "jsonrpc+tcp" {
			t.Errorf("failed calls count: %+v", row)
		}
	}
	if len(v.published()) == 0 {
		t.Error("nothing is compared with the article")
	}
	got := failed(&v.sum.Loads[0])
	want := []string{"grpc gave no correct reply within the measured time, only later; measure longer (--measure)."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A trial that was made again is one trial of the plan, so that it cannot hide
// one that is missing.
func TestPartialCountsTrialsMadeAgain(t *testing.T) {
	whole := runs()["quick"]
	run := *whole
	again := whole.Trials[0]
	again.Void = "CPU time was stolen"
	run.Trials = slices.Concat([]record.Trial{again, again}, whole.Trials)
	if s := newView(&run).partial; s != "" {
		t.Errorf("a whole run is called partial: %s", s)
	}
	run.Trials = slices.Concat([]record.Trial{again, again}, whole.Trials[:len(whole.Trials)-1])
	if s, want := newView(&run).partial, "The record is not complete: 23 of 24 trials ran."; s != want {
		t.Errorf("got %q, want %q", s, want)
	}
}

func TestLongNames(t *testing.T) {
	s := cases()["quick"]
	long := "jsonrpc+unix+tls?codec=msgpack&framing=line&compression=gzip"
	s.plan.Arms = append(few("rest", "grpc"), plan.Arm{Name: long, Kind: plan.Wire, Target: long})
	s.cost = maps.Clone(s.cost)
	s.cost[long] = cost{micros: 31, spread: 0.2, ceiling: 1e6}
	var b bytes.Buffer
	if err := Text(&b, s.run(), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), long) {
		t.Error("the name is cut")
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(line) > width+1 {
			t.Errorf("too wide: %s", line)
		}
	}
}

func TestJSON(t *testing.T) {
	for name, run := range runs() {
		var b bytes.Buffer
		if err := JSON(&b, run); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var doc Document
		dec := json.NewDecoder(bytes.NewReader(b.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p := &run.Header.Plan; len(doc.Loads) != len(p.Callers)*len(p.Networks()) || len(doc.Loads[0].Arms) != len(p.Arms) {
			t.Errorf("%s: %d loads", name, len(doc.Loads))
		}
		if name == "void" {
			golden(t, "void.json", b.Bytes())
		}
		if name == "links" {
			near, far := &doc.Loads[0], &doc.Loads[1]
			if near.Emulated != nil || near.Arms[0].ServerCPU == nil || far.Arms[0].ServerCPU != nil {
				t.Errorf("CPU figures must come from loopback only: %+v, %+v", near.Arms[0], far.Arms[0])
			}
			if e := far.Emulated; e == nil || e.Asked != 142_500_000 || e.RTT <= e.Asked || e.Lost == 0 {
				t.Errorf("the link: %+v", e)
			}
		}
	}
}

func TestCSV(t *testing.T) {
	for name, run := range runs() {
		var b bytes.Buffer
		if err := CSV(&b, run); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows, err := csv.NewReader(bytes.NewReader(b.Bytes())).ReadAll()
		if p := &run.Header.Plan; err != nil || len(rows) != 1+p.Turns()*len(p.Callers) {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
		if name == "payload" {
			golden(t, "payload.csv", b.Bytes())
		}
	}
}

func TestHTML(t *testing.T) {
	for name, run := range runs() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := HTML(&b, run); err != nil {
				t.Fatal(err)
			}
			if name == "errors" {
				golden(t, "errors.html", bytes.Replace(b.Bytes(), []byte(pageCSS), nil, 1)) // the style has no figures
			}
			page := b.String()
			if bad := regexp.MustCompile(`(?i)NaN\b|[+-]Inf\b|%!|ZgotmplZ|https?://| (src|href)=|<script|@import|url\(|<link|<img|=""`).FindString(page); bad != "" {
				t.Errorf("%q in the page", bad)
			}
			for _, s := range newView(run).verdict() {
				_, s, _ = strings.Cut(s, ": ")
				s = strings.ToLower(escape(s))
				if !strings.Contains(strings.ToLower(page), s) {
					t.Errorf("the verdict lacks %q", s)
				}
			}
			checkSVG(t, page)
			ids := map[string]bool{}
			for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				if ids[m[1]] {
					t.Errorf("two elements have the id %s", m[1])
				}
				ids[m[1]] = true
			}
			for _, m := range regexp.MustCompile(` aria-labelledby="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				for id := range strings.FieldsSeq(m[1]) {
					if !ids[id] {
						t.Errorf("nothing has the id %s", id)
					}
				}
			}
		})
	}
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;", "+", "&#43;").Replace(s)
}

// checkSVG parses every chart and checks that nothing is drawn outside of it.
func checkSVG(t *testing.T, page string) {
	t.Helper()
	charts := regexp.MustCompile(`(?s)<svg class="strip".*?</svg>\n</div>`).FindAllString(page, -1)
	if len(charts) < 5 {
		t.Fatalf("%d charts", len(charts))
	}
	place := regexp.MustCompile(`^(-?[0-9.]+)%$`)
	for _, c := range charts {
		dec := xml.NewDecoder(strings.NewReader(strings.TrimSuffix(c, "\n</div>")))
		titled := false
		for {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("a chart is not well formed: %v", err)
			}
			el, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			titled = titled || el.Name.Local == "desc"
			for _, a := range el.Attr {
				if m := place.FindStringSubmatch(a.Value); m != nil && (strings.HasPrefix(m[1], "-") || len(strings.Split(m[1], ".")[0]) > 2 && m[1] != "100.00") {
					t.Errorf("%s of a %s is %s", a.Name.Local, el.Name.Local, a.Value)
				}
			}
		}
		if !titled {
			t.Error("a chart has no description")
		}
	}
}

// TestFromFile makes a report from a record in a file, as another program
// would have left it.
func TestFromFile(t *testing.T) {
	s := cases()["quick"]
	s.plan.Arms = few("rest", "rest (again)", "jsonrpc+tcp", "ping")
	run := s.run()
	var b bytes.Buffer
	w, err := record.NewWriter(&b, run.Header)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range run.Trials {
		if err := w.Trial(tr); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(*run.End); err != nil {
		t.Fatal(err)
	}
	golden(t, "small.jsonl", b.Bytes())
	f, err := os.Open(filepath.Join("testdata", "small.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	again, err := record.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	_ = Text(&want, run, TextOptions{})
	if err := Text(&got, again, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("the record and its file differ (-run +file):\n%s", diff)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrors(t *testing.T) {
	run := runs()["quick"]
	for name, err := range map[string]error{
		"text": Text(brokenWriter{}, run, TextOptions{}), "html": HTML(brokenWriter{}, run),
		"json": JSON(brokenWriter{}, run), "csv": CSV(brokenWriter{}, run),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{latency(7), "7ns"}, {latency(999), "999ns"}, {latency(1000), "1.00µs"}, {latency(9_996), "10.0µs"}, {latency(108_400), "108µs"},
		{latency(999_600), "1.00ms"}, {latency(12_340_000), "12.3ms"}, {latency(2_500_000_000), "2.50s"}, {latency(600_000_000_000), "600s"},
		{thousands(0), "0"}, {thousands(999), "999"}, {thousands(1000), "1,000"}, {thousands(-1234567), "-1,234,567"},
		{significant(9.996), "10.0"}, {significant(0.5), "0.50"}, {significant(99.96), "100"},
		{amount(221), "221"}, {amount(59.97), "60"}, {amount(2.2), "2.2"}, {amount(1727204), "1.73M"}, {amount(12345), "12.3k"}, {amount(999_960), "1.00M"},
		{ratioNumber(3.116), "3.12"}, {ratioNumber(0.0312), "0.031"}, {ratioNumber(15.34), "15.3"}, {ratioNumber(1234), "1,234"},
		{plain(3.14), "3.1"}, {plain(1.336), "1.34"}, {plain(12.7), "13"},
		{list([]string{"a", "b", "c"}), "a, b and c"}, {list([]string{"a"}), "a"},
		{count(1, "caller"), "1 caller"}, {count(32, "caller"), "32 callers"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestCores(t *testing.T) {
	for cpus, want := range map[string]int{"": 8, "0": 1, "0-3": 4, "0-1,6": 3, "all": 8, "3-1": 8} {
		if got := cores(cpus, 8); got != want {
			t.Errorf("%q: %d, want %d", cpus, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, s := range []scale{
		logScale(nil), logScale([]float64{1}), logScale([]float64{0.9, 1.1}), logScale([]float64{1e-3, 1e7}),
		linearScale(0), linearScale(0.003), linearScale(7), linearScale(180_000), linearScale(1.7e6),
	} {
		ticks := s.ticks(15)
		if len(ticks) == 0 {
			t.Errorf("%+v has no ticks", s)
		}
		for i, v := range ticks {
			if v < s.lo || v > s.hi || i > 0 && s.at(v)-s.at(ticks[i-1]) < 15 {
				t.Errorf("%+v: ticks %v", s, ticks)
				break
			}
		}
	}
}
