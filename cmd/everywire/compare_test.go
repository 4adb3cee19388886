package main

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everywire/everywire/lab/record"
)

func TestCompare(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	out, errs, status := command(t, "", "compare", "--wires", "rest,rest?reconnect,jsonrpc+tcp,grpc-go,ping", "--callers", "3,1",
		"--blocks", "2", "--measure", "20ms", "--out", dir)
	if status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	checkWidth(t, "compare", out)
	for _, want := range []string{"rest (again)", "ping", "1 caller", "3 callers", "Nothing is claimed", "Verdict", filepath.Join(dir, "report.html")} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	html, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !bytes.Contains(html, []byte("</html>")) {
		t.Errorf("the page: %v, %d bytes", err, len(html))
	}
	run := readRecord(t, dir)
	if n := distinct(run.Trials); n != 2*6*2 || run.End == nil || run.End.Partial != "" {
		t.Errorf("the record has %d trials and the end %+v", n, run.End)
	}
	for _, trial := range run.Trials {
		if trial.Void == "" && (trial.Calls == 0 || len(trial.Errors) > 0 || trial.Net.PayloadOut == 0) {
			t.Errorf("a trial of %s without calls, or with errors: %+v", trial.Arm, trial)
		}
	}

	again, _, status := command(t, "", "report", filepath.Join(dir, "run.jsonl"))
	if status != exitOK || !strings.HasPrefix(out, again) {
		t.Errorf("the report made again differs, status %d:\n%s", status, again)
	}
	for _, as := range []string{"json", "csv", "html"} {
		if text, errs, status := command(t, "", "report", filepath.Join(dir, "run.jsonl"), "--as", as); status != exitOK || text == "" {
			t.Errorf("as %s: status %d, %s", as, status, errs)
		}
	}
}

// Every wire runs over an emulated link beside loopback.
func TestCompareOverLinks(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	out, errs, status := command(t, "", "compare", "--wires", "rest,rest?reconnect,jsonrpc+http,jsonrpc+tcp,msgpackrpc+tcp,grpc,ping", "--callers", "2",
		"--blocks", "1", "--measure", "20ms", "--link", "rtt=2ms,rate=100mbit,loss=0.1%", "--link", "loopback", "--out", dir)
	if status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	checkWidth(t, "compare", out)
	for _, want := range []string{"2 callers over rtt=2ms,rate=100mbit,loss=0.1% (achieved ", "2 callers over loopback", "RTTs", "CPU figures come from loopback only"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	for _, trial := range readRecord(t, dir).Trials {
		if trial.Void == "" && (trial.Calls == 0 || len(trial.Errors) > 0 || (trial.Link == "") != (trial.Emulated == nil)) {
			t.Errorf("a trial of %s over %s without calls, or with errors: %+v", trial.Arm, trial.Network(), trial)
		}
	}
}

func TestCompareJSONAndPayload(t *testing.T) {
	dir := t.TempDir()
	payload := filepath.Join(dir, "order.json")
	// 2^53 + 1: protobuf's Value holds doubles only, so gRPC cannot carry it.
	if err := os.WriteFile(payload, []byte(`{"id": 9007199254740993, "lines": [{"n": 1.0}, {"n": 2e3}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, status := command(t, "", "compare", "--wires", "rest,grpc,grpc?codec=json,msgpackrpc+tcp,jsonrpc+http", "--callers", "1",
		"--blocks", "1", "--measure", "20ms", "--out", dir, "--json", "--payload", payload, "--documents")
	if status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	if !stdjson.Valid([]byte(out)) {
		t.Errorf("not JSON: %s", out)
	}
	if !strings.Contains(errs, "grpc cannot carry the payload and is left out") {
		t.Errorf("nothing says that grpc is left out: %s", errs)
	}
	run := readRecord(t, dir)
	if n := distinct(run.Trials); n != 5 || len(run.Header.Plan.Excluded) != 1 {
		t.Errorf("%d trials, excluded %v", n, run.Header.Plan.Excluded)
	}
	for _, trial := range run.Trials {
		if trial.Void == "" && trial.Calls == 0 || len(trial.Errors) > 0 {
			t.Errorf("%s: %d calls, errors %v, %s", trial.Arm, trial.Calls, trial.Errors, trial.FirstError)
		}
	}
}

// A payload travels as typed values, so protobuf carries the integer too; what has no
// type is told.
func TestCompareTypedPayload(t *testing.T) {
	dir := t.TempDir()
	files := make([]string, 2)
	for i, text := range []string{
		`{"id": 9007199254740993, "lines": [{"n": 1.5}, {"n": 2}], "map": [[1.5, 2.5]], "note": null}`,
		`{"id": 1, "lines": [], "map": [], "note": "x"}`,
	} {
		files[i] = filepath.Join(dir, fmt.Sprintf("order%d.json", i))
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, status := command(t, "", "compare", "--wires", "rest,grpc,grpc?codec=cbor,msgpackrpc+tcp,jsonrpc+tcp,net/http,jrpc2,grpc-go,grpc-go+protobuf", "--callers", "2",
		"--blocks", "1", "--measure", "20ms", "--out", dir, "--payload", files[0], "--payload", files[1])
	if status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	checkWidth(t, "compare", out)
	for _, want := range []string{"grpc-go cannot carry the payload and is left out: ", "no type was found for map[], which travels as a document: lists of lists"} {
		if !strings.Contains(errs, want) {
			t.Errorf("nothing says %q: %s", want, errs)
		}
	}
	if !strings.Contains(strings.Join(strings.Fields(out), " "), "The payload travels as values of a type that was inferred from it; as documents: map[] (lists of lists") {
		t.Errorf("the report is silent about types:\n%s", out)
	}
	run := readRecord(t, dir)
	if n := distinct(run.Trials); n != 9 || len(run.Header.Plan.Excluded) != 1 {
		t.Errorf("%d trials, excluded %v", n, run.Header.Plan.Excluded)
	}
	for _, trial := range run.Trials {
		if trial.Void == "" && trial.Calls == 0 || len(trial.Errors) > 0 {
			t.Errorf("%s: %d calls, errors %v, %s", trial.Arm, trial.Calls, trial.Errors, trial.FirstError)
		}
	}
}

// Interrupted in the middle, compare reports what it has, says so, and leaves
// no process behind.
func TestCompareInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, []string{
			"compare", "--wires", "rest,jsonrpc+tcp", "--callers", "1", "--blocks", "1000", "--measure", "20ms", "--out", dir,
		}, strings.NewReader(""), &out, &errs)
	}()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, "run.jsonl")); err == nil && info.Size() > 8<<10 {
			break
		}
	}
	cancel()
	if status := <-done; status != exitInterrupted {
		t.Errorf("status %d: %s", status, errs.String())
	}
	if !strings.Contains(strings.ToLower(out.String()), "partial") {
		t.Errorf("the output does not say that it is partial:\n%s", out.String())
	}
	run := readRecord(t, dir)
	if run.End == nil || run.End.Partial == "" || len(run.Trials) == 0 {
		t.Errorf("%d trials, end %+v", len(run.Trials), run.End)
	}
	for _, children := range glob(t, "/proc/self/task/*/children") {
		if text, err := os.ReadFile(children); err == nil && len(text) > 0 {
			t.Errorf("children are left: %s", text)
		}
	}
}

// A run in which nothing worked is reported, and is a failure.
func TestCompareWithoutReplies(t *testing.T) {
	out, errs, status := command(t, "", "compare", "--wires", "rest", "--callers", "1", "--blocks", "1", "--measure", "20ms",
		"--max-message", "10", "--out", t.TempDir())
	if status != exitFailure || !strings.Contains(errs, "no call of any arm got a correct reply") || !strings.Contains(out, "larger than max") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
}

// The record is in the file as the run goes, so that a killed run leaves all
// its finished trials.
func TestCompareRecordsAsItGoes(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, []string{"compare", "--wires", "rest", "--callers", "1", "--blocks", "1", "--measure", "1s", "--out", dir},
			strings.NewReader(""), io.Discard, io.Discard)
	}()
	var text []byte
	for deadline := time.Now().Add(20 * time.Second); len(text) == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, _ = os.ReadFile(filepath.Join(dir, "run.jsonl"))
	}
	cancel()
	<-done
	if !bytes.HasSuffix(text, []byte("}\n")) || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("while the first trial runs the record is %q, want the header", text)
	}
}

// distinct counts trials, one that was made again once.
func distinct(trials []record.Trial) int {
	type key struct {
		block, callers int
		arm            string
	}
	seen := map[key]bool{}
	for _, t := range trials {
		seen[key{t.Block, t.Callers, t.Arm}] = true
	}
	return len(seen)
}

func readRecord(t *testing.T, dir string) *record.Run {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run, err := record.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
