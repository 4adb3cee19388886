package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/flow"
)

// helloFiles are the example's, which serve and call at an address that is free: each
// as the name of a file.
func helloFiles(t *testing.T, variant string) (server, client string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	lis.Close()
	dir := t.TempDir()
	at := func(name string) string {
		text, err := os.ReadFile("../../examples/flow/" + name + variant + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.NewReplacer("://:8080 ", "://127.0.0.1:"+port+" ", "://localhost:8080 ", "://127.0.0.1:"+port+" ", "every: 100ms", "every: 2ms").Replace(string(text))
		file := dir + "/" + name + ".yaml"
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return at("hello-server"), at("hello-client")
}

// The examples are as good as they say.
func TestFlowCheckExamples(t *testing.T) {
	names, err := os.ReadDir("../../examples/flow")
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), ".yaml") {
			continue
		}
		stdout, stderr, status := command(t, "", "flow", "check", "../../examples/flow/"+n.Name())
		if status != exitOK || stderr != "" || !strings.Contains(stdout, "good: 1 triggers, 1 flows") {
			t.Errorf("%s: %d\n%s%s", n.Name(), status, stdout, stderr)
		}
	}
}

// The pair runs by one command, in both variants, ends by itself, and says what ran.
func TestFlowRunPair(t *testing.T) {
	for _, variant := range []string{"", "-grpc"} {
		server, client := helloFiles(t, variant)
		stdout, stderr, status := command(t, "", "flow", "run", server, client, "--count", "5", "--set", "name=Ada", "--json")
		if status != exitOK {
			t.Fatalf("%q: status %d: %s", variant, status, stderr)
		}
		if n := strings.Count(stderr, `msg="Hello, Ada, welcome!" flow=ask step=log`); n != 5 {
			t.Errorf("%q: %d greetings are logged: %s", variant, n, stderr)
		}
		var got summaryDoc
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Flows) != 2 || got.Flows[0].Flow != "greet" || got.Flows[1].Flow != "ask" || len(got.Timers) != 1 || got.Timers[0].Trigger != "tick" {
			t.Fatalf("%q: %s", variant, stdout)
		}
		for _, f := range got.Flows {
			if f.Started != 5 || f.Completed != 5 || f.Failed != 0 || f.Mean == nil || *f.Mean <= 0 || *f.Max < *f.Median {
				t.Errorf("%q: %+v", variant, f)
			}
			for _, a := range f.Activities {
				if want := int64(5); a.Activity == "return" && a.Started != 0 || a.Activity != "return" && a.Completed != want {
					t.Errorf("%q: %+v", variant, a)
				}
			}
		}
	}
}

// The table fits, and has what the runs have.
func TestFlowRunTable(t *testing.T) {
	server, client := helloFiles(t, "")
	stdout, stderr, status := command(t, "", "flow", "run", server, client, "--count", "3")
	if status != exitOK {
		t.Fatal(stderr)
	}
	want := regexp.MustCompile(`(?m)^ *flow, activity +runs +failed +canceled +mean +median +max\n` +
		` *hello-server: greet +3 +0 +0 +\S+s +\S+s +\S+s\n +return +0 +0 +0 +- +- +-\n +greeting \(map\) +3 .*\n +return_2 +3 .*\n` +
		` *hello-client: ask +3 +0 +0 .*\n +ask \(invoke\) +3 .*\n +log +3 .*\n`)
	if !want.MatchString(stdout) {
		t.Errorf("got\n%s", stdout)
	}
	for line := range strings.Lines(stdout) {
		if len([]rune(line)) > 101 {
			t.Errorf("the line is too long: %s", line)
		}
	}
}

// Runs that fail make the command fail, and it says how many.
func TestFlowRunFails(t *testing.T) {
	_, client := helloFiles(t, "")
	stdout, stderr, status := command(t, "", "flow", "run", client, "--count", "2")
	if status != exitFailure || !strings.Contains(stderr, "everywire: 2 runs that timers started failed: the log says why") || !strings.Contains(stderr, `msg="a run failed" flow=ask trigger=tick`) {
		t.Errorf("status %d: %s", status, stderr)
	}
	if !regexp.MustCompile(`hello-client: ask +2 +2 +0 `).MatchString(stdout) {
		t.Errorf("got\n%s", stdout)
	}
	// A target that is taken is one line.
	server, _ := helloFiles(t, "")
	_, stderr, status = command(t, "", "flow", "run", server, server, "--for", "10s")
	if status != exitFailure || !strings.Contains(stderr, "the address is in use") {
		t.Errorf("served twice: status %d: %s", status, stderr)
	}
}

// --for ends the command, and a flow that is not done is waited for.
func TestFlowRunFor(t *testing.T) {
	server, _ := helloFiles(t, "")
	_, stderr, status := command(t, "", "flow", "run", server, "--for", "10ms")
	if status != exitOK || strings.Contains(stderr, "stopping") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// Metrics can be read while flows run, and a signal ends them in good order.
func TestFlowRunMetrics(t *testing.T) {
	server, client := helloFiles(t, "")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	pr, pw := io.Pipe()
	var stdout lockedBuffer
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, []string{"flow", "run", server, client, "--metrics", "127.0.0.1:0", "--log-format", "json"}, strings.NewReader(""), &stdout, pw)
		pw.Close()
	}()
	var page string
	said := make(chan string, 1)
	lines := bufio.NewScanner(pr)
	for page == "" && lines.Scan() {
		page = strings.TrimPrefix(lines.Text(), "metrics on ")
	}
	go func() {
		var rest strings.Builder
		for lines.Scan() {
			rest.WriteString(lines.Text() + "\n")
		}
		said <- rest.String()
	}()
	const greeted = `flow_run_duration_seconds_count{application="hello-client",flow="ask",state="completed",version="1.0.0"} `
	deadline := time.Now().Add(20 * time.Second)
	var text string
	for !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(greeted) + `[1-9]`).MatchString(text) {
		if time.Now().After(deadline) {
			t.Fatalf("no run was counted: %s", text)
		}
		text = fetched(t, page)
	}
	for _, part := range []string{
		`flow_activity_duration_seconds_bucket{activity="ask",application="hello-client",flow="ask",kind="invoke",state="completed",version="1.0.0",le="10"} `,
		`flow_runs_started_total{application="hello-server",flow="greet",version="1.0.0"} `,
		`rpc_server_call_duration_seconds_count{rpc_method="hello.Hello/Greet",rpc_response_status_code="OK",wire="rest"} `,
		`go_goroutines `,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %s", part)
		}
	}
	if resp, err := http.Get(strings.TrimSuffix(page, "/metrics") + "/debug/pprof/"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("profiles are shown: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	interrupt()
	if status := <-done; status != exitOK {
		t.Errorf("status %d", status)
	}
	if rest := <-said; !strings.Contains(rest, "stopping: runs and calls in flight have 10s to finish; a second signal stops at once") || !strings.Contains(rest, `"msg":"Hello, World, welcome!"`) {
		t.Errorf("it said %s", rest)
	}
	stdout.mu.Lock()
	defer stdout.mu.Unlock()
	if !strings.Contains(stdout.b.String(), "hello-client: ask") {
		t.Errorf("it printed %s", stdout.b.String())
	}
}

func fetched(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Errors of files are told with their places, as text and as JSON.
func TestFlowErrors(t *testing.T) {
	dir := t.TempDir()
	bad := dir + "/bad.yaml"
	const text = `name: bad
methods: {a.B/C: {route: 'GET /x/{nope}'}}
triggers:
  t: {on: 'rest://:8080?framing=line', method: a.B/C, flow: f}
flows:
  f: {steps: [{invoke: {target: 'soap://h:1', method: a.B/C}}]}
`
	if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const place = "    "
	for _, verb := range []string{"check", "run"} {
		stdout, stderr, status := command(t, "", "flow", verb, bad)
		if status != exitFailure || !strings.HasSuffix(stderr, "everywire: there are 2 errors in "+bad+"\n") {
			t.Errorf("%s: status %d: %s", verb, status, stderr)
		}
		for _, want := range []string{
			bad + ":4:11: rest has no option \"framing\"", place + "  t: {on: 'rest://:8080?framing=line', method: a.B/C, flow: f}\n" + place + "          ^\n",
			bad + ":6:33: ", place + "  f: {steps: [{invoke: {target: 'soap://h:1', method: a.B/C}}]}\n" + place + strings.Repeat(" ", 32) + "^\n",
		} {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%s says\n%s%swant %s", verb, stdout, stderr, want)
			}
		}
	}
	// What is wrong with routes is found when the rest is right.
	good := strings.NewReplacer("?framing=line", "", "soap", "rest").Replace(text)
	if err := os.WriteFile(bad, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _, status := command(t, "", "flow", "check", bad, "--json")
	var got struct{ Errors flow.Errors }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != exitFailure || len(got.Errors) != 1 || got.Errors[0].Line != 2 || got.Errors[0].Column != 26 || !strings.Contains(got.Errors[0].Text, "there is no field nope") {
		t.Errorf("status %d: %s", status, stdout)
	}
	stdout, _, status = command(t, "", "flow", "check", "../../examples/flow/hello-client.yaml", "--json")
	if strings.Join(strings.Fields(stdout), "") != `{"errors":[]}` || status != exitOK {
		t.Errorf("status %d: %s", status, stdout)
	}
}

// Mistakes in the command's words.
func TestFlowUsage(t *testing.T) {
	const client = "../../examples/flow/hello-client.yaml"
	for _, c := range []struct{ args, want string }{
		{"flow run", "<file>"},
		{"flow check nope.yaml", "the flow file nope.yaml cannot be read: no such file or directory"},
		{"flow check " + client + " --set name", `--set "name" is not NAME=VALUE`},
		{"flow check " + client + " --set nam=x", "--set nam: no file has that setting: they have name"},
		{"flow run " + client + " --for=-1s", "--for -1s is no time to run"},
		{"flow run " + client + " --count=-1", "--count -1 is no number of runs"},
	} {
		_, stderr, status := command(t, "", strings.Fields(c.args)...)
		if status != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("everywire %s: status %d: %s", c.args, status, stderr)
		}
	}
	_, stderr, status := command(t, "", "flow", "run", client, "--count", "1", "--metrics", "nowhere:x")
	if status != exitFailure || !strings.Contains(stderr, "--metrics nowhere:x: cannot listen") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
