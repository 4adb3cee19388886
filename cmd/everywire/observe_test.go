package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/everywire/everywire/wire"
)

// fetch reads a page.
func fetch(t *testing.T, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// A server is seen from outside: its metrics, its profiles, its traces and its log.
func TestServeObserved(t *testing.T) {
	spans := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut off lacks what is looked for
		spans <- r.URL.Path + " " + string(body)
	}))
	defer collector.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pr, pw := io.Pipe()
	var stderr lockedBuffer
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, []string{"serve", "kv", "--on", "rest://127.0.0.1:0", "--admin", "127.0.0.1:0", "--traces", collector.URL, "--log-calls", "--log-format", "json"},
			strings.NewReader(""), pw, &stderr)
		pw.Close()
	}()
	lines := bufio.NewScanner(pr)
	lines.Scan()
	target, err := wire.ParseTarget(strings.TrimPrefix(lines.Text(), "serving kv on "))
	if err != nil {
		t.Fatal(err)
	}
	lines.Scan()
	_, admin, ok := strings.Cut(lines.Text(), "metrics, profiles and health on ")
	if !ok {
		t.Fatalf("serve printed %q: %s", lines.Text(), stderr.String())
	}
	go io.Copy(io.Discard, pr)

	if _, errs, status := command(t, "", "call", target.String(), "io.grpc.KeyValueService/Create", `{"key":"a2V5","value":"dg=="}`); status != exitOK {
		t.Fatal(errs)
	}
	const want = `rpc_server_call_duration_seconds_count{rpc_method="io.grpc.KeyValueService/Create",rpc_response_status_code="OK",wire="rest"} 1`
	page := ""
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(page, want); { // a call is counted after its reply
		if time.Now().After(deadline) {
			t.Fatalf("no %s in\n%s", want, page)
		}
		_, page = fetch(t, admin+"metrics")
	}
	if problems, err := promlint.New(strings.NewReader(page)).Lint(); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	for path, want := range map[string]string{"healthz": "serving", "debug/pprof/goroutine?debug=1": "goroutine profile", "": "/metrics", "debug/pprof/": "heap"} {
		if status, body := fetch(t, admin+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("/%s: %d %q", path, status, body)
		}
	}
	if status, _ := fetch(t, admin+"nothing"); status != http.StatusNotFound {
		t.Errorf("/nothing: %d", status)
	}
	cancel()
	if status := <-done; status != exitOK {
		t.Errorf("serve ended with status %d: %s", status, stderr.String())
	}
	select {
	case got := <-spans:
		if !strings.HasPrefix(got, "/v1/traces ") || !strings.Contains(got, "io.grpc.KeyValueService/Create") {
			t.Errorf("the collector got %q", got)
		}
	default:
		t.Error("the collector got no trace before the server ended")
	}
	if log := stderr.String(); !strings.Contains(log, `"rpc.method":"io.grpc.KeyValueService/Create","rpc.response.status_code":"OK"`) || !strings.Contains(log, `"trace_id"`) {
		t.Errorf("the log is %s", log)
	}
}

func TestServeObservedWrongly(t *testing.T) {
	for _, args := range [][]string{
		{"--traces", "localhost:4318"},
		{"--traces", "http://localhost:4318/?tenant=a"},
		{"--traces", "http://localhost:4318", "--trace-sample", "2"},
		{"--traces", "http://localhost:4318", "--trace-sample", "NaN"},
		{"--trace-sample", "0.5"}, // of no traces
	} {
		_, errs, status := command(t, "", append([]string{"serve", "kv", "--on", "rest://127.0.0.1:0"}, args...)...)
		if status != exitUsage || !strings.Contains(errs, args[len(args)-2]) {
			t.Errorf("%v: status %d, %q", args, status, errs)
		}
	}
	if _, errs, status := command(t, "", "serve", "kv", "--on", "rest://127.0.0.1:0", "--admin", "127.0.0.1:x"); status != exitFailure || !strings.Contains(errs, "--admin") {
		t.Errorf("status %d, %q", status, errs)
	}
}
