package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

// recordOf writes the record of a small run, a load's if load is not nil.
func recordOf(t *testing.T, load *record.Load, trials ...record.Trial) string {
	t.Helper()
	var b bytes.Buffer
	w, err := record.NewWriter(&b, record.Header{
		Started: time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC), Machine: record.Machine{OS: "linux", Arch: "amd64", Cores: 2}, Load: load,
		Plan: plan.Plan{
			Service: "arith", Baseline: "load", Callers: []int{3}, Blocks: 1, Measure: time.Second,
			Arms: []plan.Arm{{Name: "load", Kind: plan.Wire, Target: "grpc"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range trials {
		if err := w.Trial(tr); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(record.End{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func smallTrial() record.Trial {
	tr := record.Trial{Arm: "load", Callers: 3, Seconds: 1}
	for i := range 200 {
		ns := int64(i+1) * 10_000
		tr.Latency.Record(ns)
		tr.Times.Add(ns)
		tr.Calls++
	}
	return tr
}

// The report of a load, in each of its forms.
func TestReportOfLoad(t *testing.T) {
	file := recordOf(t, &record.Load{Target: "grpc://h:9090", Method: "a.B/C", Thresholds: []string{"max>1ms"}}, smallTrial())
	for as, want := range map[string]string{
		"text":       "everywire load: grpc://h:9090 a.B/C\n200 right replies a second; 0 % failed;",
		"html":       "<h1>grpc://h:9090 a.B/C</h1>",
		"json":       `"max>1ms: max is 2ms"`,
		"csv":        "\ntotal,a.B/C,200,200,0,0,",
		"prometheus": `everywire_load_calls_total{operation="a.B/C",status="OK"} 200`,
	} {
		out, errs, status := command(t, "", "report", file, "--as", as)
		if status != exitOK || errs != "" || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %q, no %q in\n%s", as, status, errs, want, out)
		}
		to := filepath.Join(t.TempDir(), "out")
		if none, _, status := command(t, "", "report", file, "--as", as, "-o", to); status != exitOK || none != "" {
			t.Errorf("%s: status %d and %q with -o", as, status, none)
		}
		if written, err := os.ReadFile(to); err != nil || string(written) != out {
			t.Errorf("%s: the file differs from what is printed: %v", as, err)
		}
	}
	out, _, status := command(t, "", "report", file, "--json")
	if !json.Valid([]byte(out)) || status != exitOK {
		t.Errorf("--json: status %d, %s", status, out)
	}
}

// What cannot be made of a record is told before a file is overwritten.
func TestReportErrors(t *testing.T) {
	load := recordOf(t, &record.Load{Target: "grpc://h:9090"}, smallTrial())
	empty := recordOf(t, &record.Load{Target: "grpc://h:9090"})
	comparison := recordOf(t, nil, smallTrial())
	kept := filepath.Join(t.TempDir(), "kept")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{load, "--as", "jtl"}, exitUsage, "a record has no single calls"},
		{[]string{comparison, "--as", "prometheus"}, exitUsage, "the record of a comparison; those have text, html, json and csv"},
		{[]string{load, "--as", "csv", "--json"}, exitUsage, "--json and --as csv: give one of them"},
		{[]string{empty}, exitFailure, "holds no result"},
	} {
		if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, status := command(t, "", append(append([]string{"report"}, c.args...), "-o", kept)...)
		if status != c.status || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("report %s: status %d, %q and %q, want status %d and %q", strings.Join(c.args, " "), status, out, errs, c.status, c.want)
		}
		if text, err := os.ReadFile(kept); err != nil || string(text) != "kept" {
			t.Errorf("report %s: overwrote the file: %q, %v", strings.Join(c.args, " "), text, err)
		}
	}
	if out, _, status := command(t, "", "report", comparison); status != exitOK || !strings.Contains(out, "everywire compare:") {
		t.Errorf("a comparison: status %d, %s", status, out)
	}
}
