package main

import (
	"encoding/csv"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everywire/everywire/lab/loadreport"
	"github.com/everywire/everywire/lab/record"
)

// loaded runs a load and returns its document.
func loaded(t *testing.T, wantStatus int, args ...string) *loadreport.Document {
	t.Helper()
	stdout, stderr, status := command(t, "", append(append([]string{"load"}, args...), "--json")...)
	if status != wantStatus {
		t.Fatalf("load %q: status %d, want %d: %s%s", args, status, wantStatus, stdout, stderr)
	}
	d := new(loadreport.Document)
	if err := json.Unmarshal([]byte(stdout), d); err != nil {
		t.Fatalf("load %q: %v", args, err)
	}
	return d
}

const sumOf = `{"numbers":[{{int 1 9}},{{call}}]}`

// Every wire of ours is loaded: all calls are right, whether connections are shared,
// each caller's own, or each call's own.
func TestLoadOurWires(t *testing.T) {
	targets := serve(t, "arith", "--on", "rest://127.0.0.1:0", "--on", "jsonrpc+tcp://127.0.0.1:0", "--on", "jsonrpc+http://127.0.0.1:0/rpc",
		"--on", "jsonrpc+ws://127.0.0.1:0/rpc", "--on", "msgpackrpc+tcp://127.0.0.1:0", "--on", "grpc://127.0.0.1:0", "--on", "connect://127.0.0.1:0")
	for _, to := range targets {
		for _, how := range []struct {
			flags, connections string
			conns              int64 // 0 if it is not counted, or not known beforehand
		}{
			{"-c 4", "", 0},
			{"-c 4 --conn-per-call", "one for each call", 80},
			{"-c 1 --header x-a:{{call}}", "", 1},
		} {
			if to.Wire == "msgpackrpc" && strings.Contains(how.flags, "header") {
				continue // it has no metadata without an option
			}
			out := filepath.Join(t.TempDir(), "r.jsonl")
			args := append([]string{to.String(), "arith.Arith/Sum", "-b", sumOf, "--calls", "20", "-o", out}, strings.Fields(how.flags)...)
			d := loaded(t, exitOK, args...)
			callers := int64(d.Callers)
			if d.Total.Right != 20*callers || d.Total.Failed != 0 || d.Calls.Censored != 0 {
				t.Errorf("%s %s: %d right, %d failed: %s", to, how.flags, d.Total.Right, d.Total.Failed, d.FirstError)
			}
			if how.connections != "" && d.Load.Connections != how.connections {
				t.Errorf("%s %s: connections are %q", to, how.flags, d.Load.Connections)
			}
			trial := readLoad(t, out).Trials[0]
			if trial.Net == nil || how.conns != 0 && trial.Net.Conns != how.conns {
				t.Errorf("%s %s: %+v, want %d connections", to, how.flags, trial.Net, how.conns)
			}
			if d.Total.In == nil || *d.Total.In < 20*callers {
				t.Errorf("%s %s: bytes are not counted", to, how.flags)
			}
		}
	}
}

func readLoad(t *testing.T, file string) *record.Run {
	t.Helper()
	f, err := os.Open(file)
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

// An open loop accounts for every call that was due, with and without a connection for
// each, and its connections are as many as were needed.
func TestLoadAtARate(t *testing.T) {
	targets := serve(t, "arith", "--on", "rest://127.0.0.1:0", "--on", "grpc://127.0.0.1:0")
	for _, to := range targets {
		for _, flags := range []string{"--rate 400", "--rate 100..700 --poisson", "--rate 200/100ms,600 --max-in-flight 2 --patience 1ms"} {
			// The machine may be busy, so the generator may be late: that voids the result, and
			// changes no sum.
			args := append([]string{"load", to.String(), "arith.Arith/Sum", "-b", sumOf, "--duration", "300ms", "--seed", "1", "--json"}, strings.Fields(flags)...)
			stdout, stderr, status := command(t, "", args...)
			if status != exitOK && !strings.Contains(stderr, "the result is void") {
				t.Fatalf("%s: %s", flags, stderr)
			}
			var d loadreport.Document
			if err := json.Unmarshal([]byte(stdout), &d); err != nil {
				t.Fatal(err)
			}
			c := d.Calls
			if sum := c.Right + c.Failed + c.Censored + c.Dropped + c.Unsent; sum != c.Scheduled || c.Failed != 0 || c.Right == 0 {
				t.Errorf("%s %s: of %d scheduled calls the fate of %d is known: %+v", to, flags, c.Scheduled, sum, c)
			}
			if !strings.Contains(flags, "poisson") && c.Scheduled != map[bool]int64{true: 120, false: 140}[flags == "--rate 400"] {
				t.Errorf("%s %s: %d scheduled calls", to, flags, c.Scheduled)
			}
			if !d.Open {
				t.Errorf("%s: no open loop", flags)
			}
		}
	}
}

const mixed = `
data: users.csv
set: {key: "{{uuid}}"}
operations:
  - name: create
    method: io.grpc.KeyValueService/Create
    body: '{"key":"{{bytes 12}}","value":"eA=="}'
  - name: echo
    method: echo.Echo/Echo
    count: 3
    body: '{"name":"{{name}}","age":{{age}},"key":"{{key}}"}'
    expect: {json: {name: "{{name}}", age: "{{age}}", key: "{{key}}"}}
`

// A mix is made with rows of a table; its operations are told apart, in the report, in
// thresholds and in JTL.
func TestLoadMix(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("users.csv", "name,age\n\"Ada \"\"L\"\"\",36\n\"Bö\nb\",null\n")
	mix, other := write("mix.yaml", mixed), write("other.jsonl", `{"name":"x","age":[1,{"y":2}]}`+"\n")
	calls := filepath.Join(dir, "calls.jtl")
	to := serve(t, "kv", "echo", "--on", "jsonrpc+tcp://127.0.0.1:0")[0].String()
	d := loaded(t, exitThreshold, to, "--mix", mix, "-c", "3", "--calls", "40", "--connections", "3", "--ramp", "10ms", "--think", "exp:1us", "-o", calls,
		"--fail", "calls(echo)<90", "--fail", "p50(create)>1h", "--fail", "errors>0", "--fail", "calls(create)<=30")
	if d.Total.Right != 120 || len(d.Operations) != 2 || d.Operations[0].Right != 30 || d.Operations[1].Right != 90 {
		t.Errorf("%s: %+v", d.FirstError, d.Operations)
	}
	var failed []string
	for _, o := range d.Thresholds {
		if o.Failed {
			failed = append(failed, o.Threshold)
		}
	}
	// 30 replies are too few for a p50, which has failed, then.
	if !slices.Equal(failed, []string{"p50(create)>1h", "calls(create)<=30"}) {
		t.Errorf("failed are %q", failed)
	}
	f, err := os.Open(calls)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 121 {
		t.Fatalf("%d lines, %v", len(rows), err)
	}
	labels := map[string]int{}
	for _, row := range rows[1:] {
		labels[row[2]+" "+row[7]]++
		if row[9] == "0" || row[10] == "0" {
			t.Errorf("no bytes in %q", row)
		}
	}
	if labels["create true"] != 30 || labels["echo true"] != 90 {
		t.Error(labels)
	}
	// Other data, and a header for all.
	if d = loaded(t, exitOK, to, "--mix", mix, "--data", other, "--order", "random", "-c", "2", "--calls", "8", "-H", "x-k: {{name}}"); d.Total.Right != 16 {
		t.Errorf("%+v %s", d.Total, d.FirstError)
	}
}

// Wrong replies are failures: status, values, and what cannot be made a request.
func TestLoadExpectations(t *testing.T) {
	targets := serve(t, "arith", "kv", "--on", "rest://127.0.0.1:0", "--on", "grpc://127.0.0.1:0")
	rest, grpc := targets[0], targets[1].String()
	url := "http://" + rest.Addrs[0]
	for _, tc := range []struct {
		args   []string
		status int
		errors string // by kind
	}{
		{[]string{grpc, "arith.Arith/Sum", "-b", `{"numbers":[20,21]}`, "--expect-json", "sum=41"}, exitOK, "{}"},
		{[]string{grpc, "arith.Arith/Sum", "-b", `{"numbers":[20,21]}`, "--expect-json", "sum=42"}, exitFailure, `{"wrong reply":3}`},
		{[]string{grpc, "arith.Arith/Sum", "-b", `{"numbers":[20,21]}`, "--expect", "NOT_FOUND"}, exitFailure, `{"wrong reply":3}`},
		{[]string{grpc, "io.grpc.KeyValueService/Retrieve", "-b", `{"key":"eA=="}`, "--expect", "OK,NOT_FOUND"}, exitOK, "{}"},
		{[]string{grpc, "io.grpc.KeyValueService/Retrieve", "-b", `{"key":"eA=="}`}, exitFailure, `{"NOT_FOUND":3}`},
		{[]string{url + "/none"}, exitFailure, `{"HTTP 404":3}`},
		{[]string{url + "/none", "--expect", "2xx, 404"}, exitOK, "{}"},
		{[]string{url + "/arith/sum", "delete", "--set", "k={{uuid}}", "-H", "X-K: {{k}}"}, exitFailure, `{"HTTP 404":3}`},
		{[]string{url + "/arith.Arith/Sum", "-b", `{"numbers":[1,2]}`, "--expect-json", "sum=3", "-H", "X-Y: {{uuid}}"}, exitOK, "{}"},
		{[]string{url + "/arith.Arith/Sum", "PUT", "-b", `{"numbers":[1,2]}`}, exitFailure, `{"HTTP 405":3}`},
		{[]string{url + "/openapi.json", "--max-message", "100"}, exitFailure, `{"RESOURCE_EXHAUSTED":3}`},
	} {
		d := loaded(t, tc.status, append(tc.args, "-c", "1", "--calls", "3")...)
		got, _ := json.Marshal(d.Total.Errors)
		if string(got) == "null" {
			got = []byte("{}")
		}
		if string(got) != tc.errors {
			t.Errorf("%q: %s, want %s (%s)", tc.args, got, tc.errors, d.FirstError)
		}
	}
}

// Results go where they were asked for, and reports of the record are the same.
func TestLoadOutputs(t *testing.T) {
	dir := t.TempDir()
	url := "http://" + serve(t, "arith", "--on", "rest://127.0.0.1:0")[0].Addrs[0] + "/openapi.json"
	at := func(name string) string { return filepath.Join(dir, name) }
	args := []string{"load", url, "-c", "2", "--calls", "60", "--fail", "errors>0"}
	for _, name := range []string{"folder", "a.jsonl", "a.html", "a.json", "a.csv", "a.jtl", "a.prom", "a.txt"} {
		args = append(args, "--out", at(name))
	}
	stdout, stderr, status := command(t, "", args...)
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	checkWidth(t, "load", strings.Split(stdout, "\n\nRecord: ")[0])
	for _, want := range []string{"right replies a second", "held: errors>0", "Record: " + display(at("folder/run.jsonl")), "Calls: " + display(at("a.jtl"))} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	for form, file := range map[string]string{"html": "a.html", "json": "a.json", "csv": "a.csv", "prometheus": "a.prom", "text": "a.txt"} {
		written, err := os.ReadFile(at(file))
		if err != nil {
			t.Error(err)
		}
		again, _, status := command(t, "", "report", at("a.jsonl"), "--as", form)
		if status != exitOK || again != string(written) {
			t.Errorf("%s: the report of the record differs from what load wrote", form)
		}
	}
	for _, pair := range [][2]string{{"folder/report.html", "a.html"}, {"folder/run.jsonl", "a.jsonl"}} {
		one, err1 := os.ReadFile(at(pair[0]))
		two, err2 := os.ReadFile(at(pair[1]))
		if err1 != nil || err2 != nil || string(one) != string(two) {
			t.Errorf("%s and %s differ: %v %v", pair[0], pair[1], err1, err2)
		}
	}
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasPrefix(filepath.Base(path), ".") {
			t.Errorf("%s is left over", path)
		}
		return nil
	})
	for form, begin := range map[string]string{"html": "<!", "json": "{", "csv": "scope,", "jtl": "timeStamp,", "prometheus": "# HELP", "table": "everywire load: ", "text": "everywire load: "} {
		stdout, stderr, status := command(t, "", "load", url, "-c", "1", "--calls", "2", "--as", form)
		if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, begin) {
			t.Errorf("%s: status %d, %q, %.80q", form, status, stderr, stdout)
		}
		if lines := strings.Count(stdout, "\n"); form == "jtl" && lines != 3 {
			t.Errorf("%d lines of JTL", lines)
		}
	}
	// What a file gets is not printed, too; and a failed threshold is told where no table is.
	if stdout, _, _ := command(t, "", "load", url, "--calls", "2", "--as", "csv", "-o", at("b.csv")); !strings.HasPrefix(stdout, "everywire load: ") {
		t.Errorf("%.80q", stdout)
	}
	stdout, stderr, status = command(t, "", "load", url, "-c", "1", "--calls", "2", "--as", "csv", "--fail", "calls<3")
	if status != exitThreshold || stderr != "everywire: failed: calls<3: calls is 2\n" || !strings.HasPrefix(stdout, "scope,") {
		t.Errorf("status %d, %q", status, stderr)
	}
}

// A load that cannot be made leaves the results of the one before it.
func TestLoadFailures(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.html")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := lis.Addr().String()
	_ = lis.Close()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"http://" + nobody, "-o", old}, "nobody is there to be loaded: dial tcp " + nobody},
		{[]string{"jsonrpc+tcp://" + nobody, "x"}, "nobody is there to be loaded"},
		{[]string{"jsonrpc+unix://" + dir + "/none", "x"}, "nobody is there to be loaded"},
		{[]string{"grpc://" + nobody, "a.B/C"}, "of the server's reflection"},
		{[]string{"http://" + nobody, "-o", old + "/x.html"}, "cannot write the result"},
		{[]string{"http://" + nobody, "-o", filepath.Join(dir, "none", "x.csv")}, "cannot write the result"},
	} {
		stdout, stderr, status := command(t, "", append([]string{"load"}, tc.args...)...)
		if status != exitFailure || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tc.want) {
			t.Errorf("%q: status %d, %q and %q, want %q", tc.args, status, stdout, stderr, tc.want)
		}
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "old" {
		t.Errorf("the old report is %q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// Mistakes in flags are told in one line that says what is allowed, before anything is
// called.
func TestLoadUsage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	rows, pem := write("rows.csv", "a,b\n1,2\n"), write("x.pem", "nothing")
	bad := write("bad.csv", "a,b\n1\n")
	mix := write("mix.yaml", "operations:\n  - {name: one, path: /a}\n  - {name: two, path: /b}\n")
	wrong := write("wrong.yaml", "operations:\n  - {pth: /a}\n")
	proto := write("s.proto", `syntax = "proto3"; package p; service S { rpc Watch(E) returns (stream E); rpc Get(E) returns (E); } message E { int32 n = 1; }`)
	const web, rpc = "http://localhost:1/x", "grpc://localhost:1"
	for _, tc := range []struct{ args, want string }{
		{"", `expected "<target>`},
		{"ftp://h/", "the wires are"},
		{"localhost:80", "has no scheme"},
		{"http://", "it has no host"},
		{"http://u:p@h/", "must not hold a password"},
		{"any://localhost:1 a.B/C", "any is for servers: name the wire to call by, such as rest://localhost:1"},
		{rpc, "which method? Name it behind the target"},
		{rpc + " Sum", "not of the form package.Service/Method"},
		{rpc + " arith.Arith/Sum -b {\"nmbers\":[]}", `has no field "nmbers": it has numbers`},
		{rpc + " arith.Arith/Sum -b {", "the body of arith.Arith/Sum"},
		{rpc + " p.S/Watch --proto " + proto, "p.S/Watch is server streaming: a load makes calls with one request"},
		{rpc + " p.S/Nope --proto " + proto, "there is no method p.S/Nope: there are p.S/Get, p.S/Watch"},
		{rpc + " p.S/Get -I " + dir, "--import-path is where --proto FILE finds"},
		{web + " --proto " + proto, "a URL has none"},
		{rpc + " arith.Arith/Sum --http2", "are of URLs: a target has options for these"},
		{web + " --insecure", "are of https: http://localhost:1/x has no TLS"},
		{"https://localhost:1 --cert " + pem, "--cert and --key go together"},
		{"https://localhost:1 --cacert " + pem, "holds no certificate in PEM"},
		{"https://localhost:1 --cert " + pem + " --key " + pem, "--cert and --key: "},
		{web + " GE(T", `is no method of HTTP`},
		{"http://localhost:1/{{nope}}", `the URL: line 1 column 22: nothing is named "nope"`},
		{web + " -b {{int}}", "--body: line 1 column 3: int has two arguments"},
		{web + " -b @" + dir + "/none", "--body: open"},
		{web + " -H nothing", `the header "nothing" is not KEY:VALUE`},
		{web + " -H Host:x", "the header Host is the connection's own"},
		{web + " -H A:{{b}}", `the header A: line 1 column 3: nothing is named "b"`},
		{web + " --set x", `--set "x" is not NAME=VALUE`},
		{web + " --expect 20", `--expect: line 1 column 1: the status "20" is none of HTTP`},
		{rpc + " arith.Arith/Sum --expect 200", `the status "200" is none: they are OK, NOT_FOUND`},
		{web + " --expect-json x", "is not PATH=VALUE"},
		{web + " --expect-json a[x]=1", "neither an index nor a name in quotes"},
		{web + " --expect-json a={{b}}", `nothing is named "b"`},
		{web + " --data " + dir + "/none.csv", "none.csv"},
		{web + " --data " + bad, "bad.csv: line 2"},
		{web + " --data " + pem, "the suffix \".pem\" says no form of data"},
		{web + " --data " + rows + " --order unique", "1 rows, too few for 10 callers"},
		{web + " --data " + rows + " --order best", "--order must be one of"},
		{web + " --order random", "give the rows by --data"},
		{web + " --mix " + wrong, `wrong.yaml: line 2 column 6: an operation has no "pth"`},
		{web + " GET --mix " + mix, "leave out METHOD, --body, --expect and --expect-json"},
		{web + " --mix " + mix + " -b x", "leave out METHOD"},
		{rpc + " --mix " + mix, "the operation one has no method"},
		{web + " -c 0", "--callers 0: it is from 1 to 65536"},
		{web + " -c 70000", "--callers 70000: it is from 1 to 65536"},
		{web + " -c x", "--callers: expected a valid"},
		{web + " --duration 0s", "--duration 0s is no time to measure"},
		{web + " --duration 1", "--duration: "},
		{web + " --calls=-1", "--calls -1 is no number of calls"},
		{web + " --warmup=-1s", "--warmup -1s is no time"},
		{web + " --ramp 11s", "--ramp 11s is negative, or not shorter than the load's 10s"},
		{web + " --ramp=-1s", "--ramp -1s is negative"},
		{web + " --think x", `--think "x" is no pause`},
		{web + " --think exp:0s", `--think "exp:0s" is no pause`},
		{web + " --timeout=-1s", "--timeout -1s is negative"},
		{web + " --poisson", "are of open loops: give a --rate"},
		{web + " --max-in-flight 5", "are of open loops: give a --rate"},
		{web + " --patience 5s", "are of open loops: give a --rate"},
		{web + " --rate x", `"x" is no rate: a rate is in calls a second`},
		{web + " --rate 0", "--rate 0 makes no call"},
		{web + " --rate 5/1s,6", "the last stage has no time: add /30s, or --duration"},
		{web + " --rate 5/1s --duration 2s", "the stages take 1s, but --duration says 2s"},
		{web + " --rate 5 -c 3", "--callers is of closed loops"},
		{web + " --rate 5 --calls 3", "--calls, --ramp and --think are of closed loops"},
		{web + " --rate 5 --ramp 3s", "--calls, --ramp and --think are of closed loops"},
		{web + " --rate 5 --think 3s", "--calls, --ramp and --think are of closed loops"},
		{web + " --rate 5 --patience=-3s", "--patience -3s is negative"},
		{web + " --rate 5 --max-in-flight 0", "--max-in-flight 0: it is from 1 to 65536"},
		{web + " --rate 0..5 --warmup 1s", "a ramp from 0 needs none"},
		{web + " --fail p99", `threshold "p99", column 4: a comparison is missing`},
		{web + " --fail late>1", "is of open loops"},
		{web + " --fail p99(x)>1s", "one operation only"},
		{web + " --mix " + mix + " --fail p99(x)>1s", `there is no operation "x"; there are "one", "two"`},
		{web + " --as pdf", "--as must be one of"},
		{web + " --json --as html", "--json and --as html: give one of them"},
		{web + " -o x.pdf", "the suffix .pdf says no form of results"},
		{web + " -o x.csv -o x.csv", "x.csv is given twice"},
		{web + " --max-message 0", "is not a size"},
		{web + " --progress loud", "--progress must be one of"},
		{web + " --nope", "unknown flag --nope (everywire load --help tells more)"},
	} {
		args := []string{"load"}
		if tc.args != "" {
			args = append(args, strings.Split(tc.args, " ")...)
		}
		stdout, stderr, status := command(t, "", args...)
		if status != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tc.want) {
			t.Errorf("load %s: status %d, %q and %q, want %q", tc.args, status, stdout, stderr, tc.want)
		}
	}
	if left, _ := os.ReadDir("."); slices.ContainsFunc(left, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "x.") }) {
		t.Error("a mistake left a file")
	}
}

// --connections is checked when it is known what connections are.
func TestLoadConnections(t *testing.T) {
	targets := serve(t, "arith", "--on", "rest://127.0.0.1:0", "--on", "grpc://127.0.0.1:0")
	rest, grpc := targets[0], targets[1].String()
	for _, tc := range []struct{ args, want string }{
		{grpc + " --connections 11", "--connections 11: it is from 1 to the number of callers, 10"},
		{grpc + " --connections 0", "--connections 0: it is from 1"},
		{grpc + " --connections 2 --conn-per-call", "leave out --connections"},
		{rest.String() + " --connections 2", "is on HTTP/1.1"},
		{"http://" + rest.Addrs[0] + " --connections 2", "each caller has its own"},
	} {
		args := append([]string{"load"}, strings.Fields(tc.args)...)
		if !strings.HasPrefix(tc.args, "http") {
			args = append(args, "arith.Arith/Sum")
		}
		if _, stderr, status := command(t, "", args...); status != exitUsage || !strings.Contains(stderr, tc.want) {
			t.Errorf("load %s: status %d, %q, want %q", tc.args, status, stderr, tc.want)
		}
	}
	for connections, want := range map[int]string{1: "one for all callers", 3: "3, shared by all callers", 6: "one for each caller"} {
		d := loaded(t, exitOK, grpc, "arith.Arith/Sum", "-c", "6", "--calls", "2", "--connections", strconv.Itoa(connections))
		if d.Load.Connections != want || d.SocketBytes != (connections != 6) {
			t.Errorf("%d connections: %q, socket bytes %v", connections, d.Load.Connections, d.SocketBytes)
		}
	}
}
