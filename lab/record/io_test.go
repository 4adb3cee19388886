package record

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/everywire/everywire/lab/plan"
)

var header = Header{
	Started: time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC),
	Build:   Build{Version: "v0.1.0", Go: "go1.26.8"},
	Machine: Machine{OS: "linux", Arch: "amd64", Cores: 2},
	Plan: plan.Plan{
		Service: "arith", Baseline: "rest", Callers: []int{1, 32}, Blocks: 2, Measure: time.Second,
		Arms: []plan.Arm{{Name: "rest", Kind: plan.Wire, Target: "rest"}, {Name: "grpc", Kind: plan.Wire, Target: "grpc"}},
	},
}

func trial(arm string, block, callers int) Trial {
	t := Trial{
		Block: block, Arm: arm, Callers: callers, Started: header.Started, Seconds: 0.5, Calls: 3,
		Errors: map[string]int64{"UNAVAILABLE": 1}, FirstError: "line one\nline two", Censored: 1, ServerCPU: 0.1,
		Net: &Net{PayloadOut: 663, PayloadIn: 423, PacketsOut: -1, PacketsIn: -1, WireOut: -1, WireIn: -1},
	}
	for _, ns := range []int64{100, 20_000, 3_000_000} {
		t.Latency.Record(ns)
	}
	return t
}

// written is a whole record of three trials.
func written(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range []Trial{trial("rest", 0, 1), trial("grpc", 0, 1), {Block: 1, Arm: "rest", Callers: 32, Void: "server died"}} {
		if err := w.Trial(tr); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(End{Ended: header.Started.Add(time.Minute), Partial: "interrupted"}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	run, err := Read(bytes.NewReader(written(t)))
	if err != nil {
		t.Fatal(err)
	}
	h := header
	h.Type, h.Format = TypeHeader, Format
	first, second := trial("rest", 0, 1), trial("grpc", 0, 1)
	first.Type, second.Type = TypeTrial, TypeTrial
	want := &Run{
		Header: h,
		Trials: []Trial{first, second, {Type: TypeTrial, Block: 1, Arm: "rest", Callers: 32, Void: "server died"}},
		End:    &End{Type: TypeEnd, Ended: header.Started.Add(time.Minute), Partial: "interrupted"},
	}
	if diff := cmp.Diff(want, run, cmpopts.IgnoreUnexported(Hist{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, p := range []float64{0, 50, 100} {
		if got, want := run.Trials[0].Latency.Percentile(p), first.Latency.Percentile(p); got != want {
			t.Errorf("p%v is %d, was %d", p, got, want)
		}
	}
	if n := run.Trials[0].Latency.Count(); n != 3 {
		t.Errorf("%d latencies, want 3", n)
	}
}

// TestCutOff cuts a record at every byte: what remains is either read up to
// the last whole line or, within the header, refused.
func TestCutOff(t *testing.T) {
	whole := written(t)
	headerLen := bytes.IndexByte(whole, '\n')
	for n := range whole {
		run, err := Read(bytes.NewReader(whole[:n]))
		if n < headerLen {
			if err == nil {
				t.Fatalf("cut at %d: no error without a whole header", n)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		lines := bytes.Count(whole[:n], []byte("\n")) - 1
		if run.End != nil && n < len(whole)-1 || len(run.Trials) < min(3, lines) {
			t.Fatalf("cut at %d: %d trials of %d lines, end %v", n, len(run.Trials), lines, run.End)
		}
	}
}

func TestReadErrors(t *testing.T) {
	lines := strings.SplitAfter(string(written(t)), "\n")
	head, tr, end := lines[0], lines[1], lines[4]
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "record: the file is empty; a record begins with a header line"},
		{"only line ends", "\n\n", "record: the file is empty; a record begins with a header line"},
		{"a foreign file", "PK\x03\x04\x00\x00", `record: line 1: not a record of a run, which begins with {"type":"header",`},
		{"foreign JSON", "{\n\"a\": 1}\n", `record: line 1: not a record of a run, which begins with {"type":"header",`},
		{"another JSON line", `{"a":1}` + "\n", `record: line 1: not a record of a run: the first line's type is "", not "header"`},
		{"no header", tr, `record: line 1: not a record of a run: the first line's type is "trial", not "header"`},
		{"a newer format", strings.Replace(head, `"format":2`, `"format":3`, 1), "record: line 1: the record has format 3 and this program knows up to 2; use a newer everywire"},
		{"no format", strings.Replace(head, `"format":2,`, ``, 1), "record: line 1: the record has format 0; formats count from 1"},
		{"a bad plan", strings.Replace(head, `"baseline":"rest"`, `"baseline":"x"`, 1), `record: line 1: plan: the baseline "x" is not among the arms`},
		{"a wrong kind of value", strings.Replace(head, `"cores":2`, `"cores":"two"`, 1), "record: line 1: machine.cores is a JSON string, which does not fit"},
		{"an unknown type", head + `{"type":"note"}` + "\n", `record: line 2: unknown type "note"; known are "header", "trial" and "end"`},
		{"a broken line inside", head + tr[:40] + "\n" + end, "record: line 2: not JSON at byte 40: unexpected end of JSON input"},
		{"two records", head + tr + end + head, "record: line 4: a second header: these are two records in one file; give each a file of its own"},
		{"two headers", head + head, "record: line 2: a second header: these are two records in one file; give each a file of its own"},
		{"after the end", head + end + tr, `record: line 3: a line of type "trial" after the end of the run`},
		{"an unknown arm", head + strings.Replace(tr, `"arm":"rest"`, `"arm":"soap"`, 1), `record: line 2: a trial of "soap", which is not an arm of the plan`},
		{"an unknown block", head + strings.Replace(tr, `"block":0`, `"block":2`, 1), "record: line 2: a trial of block 2; the plan has blocks 0 to 1"},
		{"an unknown load", head + strings.Replace(tr, `"callers":1`, `"callers":3`, 1), "record: line 2: a trial with 3 callers; the plan has [1 32]"},
		{"an unknown link", head + strings.Replace(tr, `"callers":1`, `"callers":1,"link":"rtt=1ms"`, 1), `record: line 2: a trial over "rtt=1ms"; the plan's links are ["loopback"]`},
		{"the same trial twice", head + tr + "\n" + tr, `record: line 4: the trial of "rest" with 1 callers in block 0 stands in line 2 already`},
		{"a negative count", head + strings.Replace(tr, `"calls":3`, `"calls":-3`, 1), "record: line 2: calls is -3; it cannot be negative"},
		{"no time", head + strings.Replace(tr, `"seconds":0.5`, `"seconds":0`, 1), "record: line 2: seconds is 0 and the trial is not void"},
		{"a negative bucket", head + strings.Replace(tr, `"latency":[`, `"latency":[[5,-1],`, 1), "record: line 2: histogram bucket [5, -1] is negative"},
	} {
		_, err := Read(strings.NewReader(c.in))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
}

// Each link has its own trials, and a record without links, as of format 1, is
// of loopback.
func TestLinks(t *testing.T) {
	h := header
	h.Plan.Links = []string{plan.Loopback, "rtt=1ms"}
	over := trial("rest", 0, 1)
	over.Link, over.Emulated = "rtt=1ms", &Emulated{Asked: 1e6, RTT: 1.1e6, LostIn: 2}
	var b bytes.Buffer
	w, err := NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range []Trial{over, trial("rest", 0, 1)} {
		if err := w.Trial(tr); err != nil {
			t.Fatal(err)
		}
	}
	whole := b.String()
	run, err := Read(strings.NewReader(whole))
	if err != nil || len(run.Trials) != 2 {
		t.Fatalf("%v, %v", run, err)
	}
	if got := run.Trials[0]; got.Network() != "rtt=1ms" || *got.Emulated != *over.Emulated || run.Trials[1].Network() != plan.Loopback {
		t.Errorf("read %+v and %+v", got, run.Trials[1])
	}
	if _, err := Read(strings.NewReader(whole + strings.SplitAfter(whole, "\n")[1])); err == nil || !strings.Contains(err.Error(), "over rtt=1ms in block 0 stands in line 2 already") {
		t.Error(err)
	}
	old := strings.Replace(string(written(t)), `"format":2`, `"format":1`, 1)
	if run, err := Read(strings.NewReader(old)); err != nil || run.Trials[0].Network() != plan.Loopback {
		t.Errorf("format 1: %v", err)
	}
}

// A void trial may be made again.
func TestVoidTrialFollowedByAnother(t *testing.T) {
	void := trial("rest", 0, 1)
	void.Void = "disturbed"
	var b bytes.Buffer
	w, err := NewWriter(&b, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range []Trial{void, void, trial("rest", 0, 1)} {
		if err := w.Trial(tr); err != nil {
			t.Fatal(err)
		}
	}
	run, err := Read(&b)
	if err != nil || len(run.Trials) != 3 {
		t.Fatalf("got %v, %v", run, err)
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	in := strings.Replace(string(written(t)), `"type":"trial",`, `"type":"trial","weather":"rain",`, 1)
	if run, err := Read(strings.NewReader(in)); err != nil || len(run.Trials) != 3 {
		t.Errorf("%v", err)
	}
}

// lineWriter fails after some writes and notes what each of them held.
type lineWriter struct {
	writes []string
	fail   int
}

var errFull = errors.New("no space left")

func (w *lineWriter) Write(p []byte) (int, error) {
	if len(w.writes) == w.fail {
		return 0, errFull
	}
	w.writes = append(w.writes, string(p))
	return len(p), nil
}

func TestWriter(t *testing.T) {
	lw := &lineWriter{fail: 2}
	w, err := NewWriter(lw, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Trial(trial("rest", 0, 1)); err != nil {
		t.Fatal(err)
	}
	for i, s := range lw.writes {
		if strings.Count(s, "\n") != 1 || !strings.HasSuffix(s, "\n") {
			t.Errorf("write %d is not one line: %q", i, s)
		}
	}
	if err := w.Trial(trial("rest", 1, 1)); !errors.Is(err, errFull) {
		t.Errorf("a full disk gave %v", err)
	}
	lw.fail = 9
	if err := w.End(End{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Trial(trial("rest", 1, 1)); err == nil {
		t.Error("a trial after the end was taken")
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	w, _ := NewWriter(&b, header)
	_ = w.Trial(trial("rest", 0, 1))
	_ = w.End(End{})
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Add([]byte(`{"type":"header","format":1,"plan":{"arms":[{"name":"a"}],"baseline":"a","blocks":1,"callers":[1],"measure_ns":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := Read(bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of several lines: %q", err)
			}
			return
		}
		// What was read can be written and read again.
		var out bytes.Buffer
		w, err := NewWriter(&out, run.Header)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range run.Trials {
			if err := w.Trial(tr); err != nil {
				t.Fatal(err)
			}
		}
		again, err := Read(&out)
		if err != nil || len(again.Trials) != len(run.Trials) {
			t.Fatalf("%d trials became %v: %v", len(run.Trials), again, err)
		}
	})
}
