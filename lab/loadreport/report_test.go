package loadreport

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/lab/record"
)

// near reports whether two figures are the same but for rounding.
func near(a, b, within float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= within*math.Abs(b)
}

// ended are the calls of an operation that ended in the measured time; "" is all.
func ended(calls []call, op string) (right, all []call) {
	for _, c := range calls {
		if c.dropped || c.censored || op != "" && c.op != op {
			continue
		}
		all = append(all, c)
		if c.err == "" {
			right = append(right, c)
		}
	}
	return right, all
}

// JMeter's columns, computed from the calls in the plainest way.
func TestColumns(t *testing.T) {
	for name, s := range cases() {
		r, calls := made(t, name)
		if name == "worst" {
			continue // its counts were changed
		}
		rows := append([]Row{r.Total}, r.Ops...)
		if len(r.Ops) != len(s.ops) {
			t.Errorf("%s: %d operations, want %d", name, len(r.Ops), len(s.ops))
		}
		for i := range rows {
			row := &rows[i]
			op := row.Name
			if i == 0 {
				op = ""
			}
			right, all := ended(calls, op)
			var sum, squares, in, out float64
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, c := range right {
				ns := math.Round((c.end - c.begin) * 1e9)
				sum += ns
				lo, hi = min(lo, ns), max(hi, ns)
			}
			n := float64(len(right))
			for _, c := range right {
				d := math.Round((c.end-c.begin)*1e9) - sum/n
				squares += d * d
			}
			for _, c := range all {
				in, out = in+float64(c.in), out+float64(c.out)
			}
			if len(right) == 0 {
				lo, hi = math.NaN(), math.NaN()
			}
			if s.uncounted {
				in, out = math.NaN(), math.NaN()
			}
			for _, f := range []struct {
				name      string
				got, want float64
			}{
				{"samples", float64(row.Samples), float64(len(all))},
				{"right", float64(row.Right), n},
				{"failed", float64(row.Failed), float64(len(all) - len(right))},
				{"average", row.Average, sum / n},
				{"min", row.Min, lo},
				{"max", row.Max, hi},
				{"std dev", row.StdDev, math.Sqrt(squares / n)},
				{"error share", row.ErrorShare, float64(len(all)-len(right)) / float64(len(all))},
				{"throughput", row.Throughput, float64(len(all)) / s.seconds},
				{"right/s", row.RightRate, n / s.seconds},
				{"received/s", row.Received, in / s.seconds},
				{"sent/s", row.Sent, out / s.seconds},
				{"average bytes", row.AverageBytes, in / float64(len(all))},
			} {
				if !near(f.got, f.want, 1e-9) {
					t.Errorf("%s, %s: %s is %v, want %v", name, row.Name, f.name, f.got, f.want)
				}
			}
			checkPercentiles(t, name+", "+row.Name, row.Service, right, func(c call) float64 { return c.end - c.begin })
			if r.Open() {
				checkPercentiles(t, name+", "+row.Name+" intended", row.Intended, right, func(c call) float64 { return c.end - c.due })
			} else if row.Intended != nil {
				t.Errorf("%s: a closed loop has %v from the intended start", name, row.Intended)
			}
		}
	}
}

// checkPercentiles holds the percentiles beside those of the sorted times. In these
// cases hardly any call has no time, so that the number of replies decides which
// are known.
func checkPercentiles(t *testing.T, name string, got []Percentile, calls []call, of func(call) float64) {
	t.Helper()
	var times []float64
	for _, c := range calls {
		times = append(times, of(c)*1e9)
	}
	slices.Sort(times)
	for i, need := range []int{100, 1000, 10_000, 100_000, 1} {
		if known := len(times) >= need; got[i].Known != known {
			t.Errorf("%s: %s of %d replies is known: %v", name, PointName(got[i].P), len(times), got[i].Known)
			continue
		} else if !known {
			continue
		}
		// A rank to each side: a histogram rounds ranks in its own way.
		rank := int(math.Ceil(got[i].P / 100 * float64(len(times))))
		lo, hi := times[max(0, rank-2)]*0.998, times[min(len(times)-1, rank)]*1.002
		if v := float64(got[i].NS); v < lo || v > hi {
			t.Errorf("%s: %s is %v, want %v to %v", name, PointName(got[i].P), v, lo, hi)
		}
	}
}

// With a share of cut-off calls the rate is the one that thresholds are checked by.
func TestRateIsTheThresholds(t *testing.T) {
	s := cases()["closed"]
	s.thresholds = []string{"rate<1"}
	s.change = func(run *record.Run) { run.Trials[0].OpenShare = 5000 }
	run, _ := s.make()
	r, err := New(run)
	if err != nil {
		t.Fatal(err)
	}
	if want := (29_998.0 + 5000) / 10; !near(r.Total.RightRate, want, 1e-12) || !strings.Contains(r.Thresholds[0].Text, "rate is 3500/s") {
		t.Errorf("%v right replies a second and %q, want %v", r.Total.RightRate, r.Thresholds[0].Text, want)
	}
}

func TestBytesOfSockets(t *testing.T) {
	s := cases()["mix"]
	s.uncounted = true
	s.change = func(run *record.Run) {
		run.Trials[0].Net = &record.Net{PayloadOut: 40_960, PayloadIn: 20_480, Conns: 3}
	}
	run, _ := s.make()
	r, err := New(run)
	if err != nil {
		t.Fatal(err)
	}
	if !r.SocketBytes || r.Total.Sent != 2048 || r.Total.Received != 1024 || !math.IsNaN(r.Ops[0].Sent) {
		t.Errorf("%+v", r.Total)
	}
	out := text(t, r, 0, false)
	for _, want := range []string{"Bytes are those of the sockets", "3 connections opened in the measured time.", "  1.00", "  2.00"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestThresholds(t *testing.T) {
	for name, want := range map[string][]bool{
		"closed": {false, false, false}, "open": {true, true}, "mix": {true, false, true}, "few": {true}, "worst": {true}, "stages": nil,
	} {
		r, _ := made(t, name)
		var got []bool
		for _, o := range r.Thresholds {
			got = append(got, o.Failed)
		}
		if !slices.Equal(got, want) || r.Failed() != slices.Contains(want, true) {
			t.Errorf("%s: %+v", name, r.Thresholds)
		}
		out := text(t, r, 0, false)
		if n := strings.Count(out, "\nfailed: ") + strings.Count(out, "\nheld: "); n != len(want) {
			t.Errorf("%s: %d thresholds in\n%s", name, n, out)
		}
	}
}

func TestNotALoad(t *testing.T) {
	s := cases()["closed"]
	run, _ := s.make()
	run.Trials = nil
	if _, err := New(run); err == nil || !strings.Contains(err.Error(), "holds no result") {
		t.Error(err)
	}
	run.Header.Load = nil
	if _, err := New(run); err == nil || !strings.Contains(err.Error(), "not the record of a load") {
		t.Error(err)
	}
}

// A report is made from the file alone: it is the same after writing and reading.
func TestFromFile(t *testing.T) {
	for name := range cases() {
		r, _ := made(t, name)
		var file bytes.Buffer
		w, err := record.NewWriter(&file, r.Run.Header)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Trial(*r.Trial); err != nil {
			t.Fatal(err)
		}
		if err := w.End(*r.Run.End); err != nil {
			t.Fatal(err)
		}
		run, err := record.Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := New(run)
		if err != nil {
			t.Fatal(err)
		}
		for as, write := range forms(r) {
			var before, after bytes.Buffer
			if err := write(&before); err != nil {
				t.Fatal(err)
			}
			if err := forms(again)[as](&after); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before.Bytes(), after.Bytes()) {
				t.Errorf("%s: %s is another after reading:\n%s\n%s", name, as, before.String(), after.String())
			}
		}
	}
}

func TestKinds(t *testing.T) {
	row := Row{Errors: map[string]int64{"b": 2, "a": 2, "c": 9, "d": 1}}
	if got := row.Kinds(); !slices.Equal(got, []string{"c", "a", "b", "d"}) {
		t.Error(got)
	}
}

// Each warning is there for what it is about, and for nothing else.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		of     string
		change func(*record.Run, *record.Trial)
		want   string
	}{
		{"closed", func(*record.Run, *record.Trial) {}, ""},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Void = "disturbed" }, "Void: disturbed."},
		{"closed", func(r *record.Run, _ *record.Trial) { r.End = nil }, "The record has no end: the load was killed."},
		{"closed", func(r *record.Run, _ *record.Trial) { r.End.Partial = "interrupted" }, "The load ended early (interrupted): the figures are of the 10 s until then."},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Calls-- }, "29,997 right replies, but 29,998 latencies"},
		{"open", func(_ *record.Run, t *record.Trial) { t.Scheduled++ }, "15,001 scheduled calls, but 15,000 with a fate"},
		{"mix", func(_ *record.Run, t *record.Trial) { t.Ops[0].Calls++ }, "the operations together have 19,912 right replies"},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Errors = map[string]int64{"INTERNAL": 3000} }, "9.09 % of the samples failed."},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Errors = map[string]int64{"INTERNAL": 30} }, ""},
		{"closed", func(_ *record.Run, t *record.Trial) { t.ClientCPU = 18.1 }, "The generator kept 1.81 of its 2 cores busy"},
		{"closed", func(_ *record.Run, t *record.Trial) { t.ClientCPU = 17.9 }, ""},
		{"closed", func(r *record.Run, t *record.Trial) { r.Header.Machine.ClientCores, t.ClientCPU = "1", 9.1 }, "The generator kept 0.91 of its 1 core busy"},
		{"open", func(_ *record.Run, t *record.Trial) { t.PacerLate, t.Late = 16, 16 }, "The pacer was late: 16 calls (0.11 %)"},
		{"open", func(_ *record.Run, t *record.Trial) { t.PacerLate, t.Late = 15, 15 }, ""},
		{"open", func(_ *record.Run, t *record.Trial) { t.PacerLate, t.Late = 10, 170 }, "160 calls (1.07 %) began late because no caller was free: all 100 were"},
		{"open", func(_ *record.Run, t *record.Trial) { t.Dropped, t.Scheduled = 2, t.Scheduled+2 }, "2 calls (0.01 %) had waited for a free caller"},
		{"open", func(_ *record.Run, t *record.Trial) { t.Unsent, t.Scheduled = 1, t.Scheduled+1 }, "1 call (<0.01 %) was due and had not begun"},
		{"open", func(_ *record.Run, t *record.Trial) { t.Unsent, t.Scheduled = 1501, t.Scheduled+1501 }, "There is no p90 from the intended start and p99 from the intended start"},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Censored = 400 }, "400 calls (1.32 % of those that began) were still open"},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Censored = 400 }, "There is no p99:"},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Censored = 200 }, ""},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Stolen = 0.3 }, "The machine's host took 1.50 % of its CPU time away"},
		{"closed", func(_ *record.Run, t *record.Trial) { t.Warnings = []string{"The disk was slow."} }, "The disk was slow."},
		{"closed", func(r *record.Run, t *record.Trial) { r.Trials = []record.Trial{{Void: "x"}, *t} }, "The record holds 2 results; this is the last."},
		{"few", func(*record.Run, *record.Trial) {}, "Too few right replies (7) for p50 (needs 100), p90 (needs 1,000) and p99 (needs 10,000)."},
		{"broken", func(*record.Run, *record.Trial) {}, "There was no right reply"},
	} {
		s := cases()[c.of]
		s.change = func(run *record.Run) {
			if run.Trials[0].Scheduled > 0 {
				run.Trials[0].PacerLate, run.Trials[0].Late = 0, 0
			}
			c.change(run, &run.Trials[0])
		}
		if c.of == "mix" {
			s.fails, s.shape.Patience = 0.005, 0 // so that it has no warning of its own
		}
		run, _ := s.make()
		r, err := New(run)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(r.Warnings, "\n")
		if c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("%s: the warnings are\n%s\nwant %q", c.of, all, c.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{0: "0 %", 1: "100 %", 0.00001: "<0.01 %", 0.0123: "1.23 %", 0.5: "50.0 %", 0.9999: ">99.9 %", 0.0001: "0.01 %", math.NaN(): "–"} {
		if got := Percent(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// The cases are what their names say, or the tests above show nothing.
func TestCases(t *testing.T) {
	for name, s := range cases() {
		run, calls := s.make()
		tr := &run.Trials[0]
		if len(calls) != s.n || run.Header.Plan.Check() != nil || tr.Seconds != s.seconds {
			t.Errorf("%s: %d calls in %v s: %v", name, len(calls), tr.Seconds, run.Header.Plan.Check())
		}
		kinds := slices.Sorted(maps.Keys(tr.Errors))
		if s.fails > 0 && !slices.Equal(kinds, []string{"UNAVAILABLE", "wrong reply"}) {
			t.Errorf("%s: the errors are %v", name, kinds)
		}
	}
	if s := cases()["mix"]; s.shape.Patience != 100*time.Millisecond {
		t.Errorf("mix: a patience of %v", s.shape.Patience)
	} else if run, _ := s.make(); run.Trials[0].Dropped == 0 || run.Trials[0].Late == 0 {
		t.Error("mix: nothing was dropped, or late")
	}
}
