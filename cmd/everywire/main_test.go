package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire/wire"
)

// TestMain lets the test's own program be the child processes of compare.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "lab-") {
		os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// asCommand is the variable that makes the test's program everywire itself,
// signals included.
const asCommand = "EVERYWIRE_TEST_COMMAND"

// command runs everywire in this process.
func command(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = execute(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), status
}

// A mistake in the command's words is one line on standard error, says what to
// do, and ends with status 2.
func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := dir + "/" + name
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	bad := write("bad.json", "{\n \"a\": [1, 2,\n  x]\n}")
	latin := write("latin.json", "\"\xe9\"")
	large := write("large.json", "\""+strings.Repeat("x", 5<<20)+"\"")
	little := write("little.json", "\""+strings.Repeat("x", 4<<20-1)+"\"")
	huge := write("huge.json", `{"id": 9007199254740993}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nothing"}, "unexpected argument nothing"},
		{[]string{"serve"}, "which services? They are arith, echo, kv, "},
		{[]string{"serve", "kv"}, "serve kv where? Name a target, such as --on rest://:8080 (everywire serve --help tells more)"},
		{[]string{"serve", "kv", "--lab", "127.0.0.1:0"}, "--lab serves trials and nothing else"},
		{[]string{"serve", "kv", "--nope"}, "unknown flag --nope (everywire serve --help tells more)"},
		{[]string{"nope"}, "(everywire --help tells more)"},
		{[]string{"serve", "nope", "--on", "rest://:0"}, `no service "nope": the services are arith, echo, kv, employees`},
		{[]string{"serve", "kv", "kv", "--on", "rest://:0"}, `the service "kv" is given twice`},
		{[]string{"serve", "kv", "--on", "soap://:80"}, "the wires are rest, jsonrpc, msgpackrpc, grpc"},
		{[]string{"serve", "kv", "--on", "rest://:80?framing=line"}, `no option "framing": it has `},
		{[]string{"serve", "kv", "--on", "rest+tls://127.0.0.1:0"}, "give the options cert and key"},
		{[]string{"serve", "kv", "--on", "rest:8080"}, "has no scheme"},
		{[]string{"serve", "kv", "--on", "grpc://:0?codec=json"}, "is for the client, not the server"},
		{[]string{"serve", "kv", "--on", "rest://:0", "--max-message", "lots"}, "is not a size: write it as 8MiB"},
		{[]string{"call", "grpc://localhost", "a.B/C"}, "has no port"},
		{[]string{"call", "grpc://localhost:1?codec=xml", "arith.Arith/Sum"}, "it is one of "},
		{[]string{"call", "grpc://localhost:1", "Sum"}, "not of the form package.Service/Method"},
		{[]string{"call", "grpc://localhost:1", "arith.Arith/Sum", `{"numbers":["x"]}`}, "numbers[0]"},
		{[]string{"call", "grpc://localhost:1", "arith.Arith/Sum", `{"numbers":`}, "line 1"},
		{[]string{"call", "grpc://localhost:1", "arith.Arith/Sum", `{"numberz":[1]}`}, `has no field "numberz": it has numbers`},
		{[]string{"call", "grpc://localhost:1", "arith.Arith/Sum", "{}", "-H", "novalue"}, "is not KEY:VALUE"},
		{[]string{"call", "grpc://localhost:1", "arith.Arith/Sum", "{}", "-H", " :v"}, "is not KEY:VALUE"},
		{[]string{"call", "grpc://localhost:1", "arith.Arith/Sum", "{}", "-H", "a b:v"}, "a key consists of letters"},
		{[]string{"compare", "--wires", "rest,soap"}, `no wire "soap"`},
		{[]string{"compare", "--wires", "grpc?codec=xml"}, `there is no codec "xml": it is one of json, `},
		{[]string{"compare", "--wires", "rest+h3"}, "HTTP/3 is over UDP"},
		{[]string{"compare", "--wires", "any"}, "any is every wire: name those to measure"},
		{[]string{"call", "any://h:1", "arith.Arith/Sum", "{}"}, "names one wire, such as rest://h:1, grpc://h:1"},
		{[]string{"compare", "--wires", "rest+unix"}, "rest+unix: compare measures TCP; a unix socket crosses no network"},
		{[]string{"compare", "--link", "rtt=4"}, "rtt=4 is no duration such as 4.364ms; or loopback"},
		{[]string{"compare", "--link", "paris"}, `"paris" is no named link; there are fremont (rtt=4.364ms), london`},
		{[]string{"compare", "--link", "london", "--link", "rtt=142.5ms"}, "--link rtt=142.5ms is given twice"},
		{[]string{"compare", "--wires", "ping"}, "nothing to compare"},
		{[]string{"compare", "--baseline", "nope"}, `the baseline "nope" is not among the arms`},
		{[]string{"compare", "--blocks", "0"}, "at least 1 is needed"},
		{[]string{"compare", "--callers", "0"}, "must be at least 1"},
		{[]string{"compare", "--callers", "99999999"}, "too many: up to 65536 callers and 10000 blocks"},
		{[]string{"compare", "--blocks", "9223372036854775807"}, "too many: up to 65536 callers"},
		{[]string{"compare", "--callers", "many"}, "--callers"},
		{[]string{"compare", "--blocks=-1"}, "at least 1 is needed"},
		{[]string{"compare", "--measure=-1s"}, "the measured time is -1s"},
		{[]string{"compare", "--payload", bad}, "line 3 column 3"},
		{[]string{"compare", "--payload", latin}, "UTF-8"},
		{[]string{"compare", "--payload", dir + "/none.json"}, "no such file"},
		{[]string{"compare", "--payload", large}, "5 MiB, over the limit of 4 MiB for one message: raise it by --max-message 6MiB"},
		{[]string{"compare", "--payload", little}, "4194305 B, over the limit of 4194304 B for one message: raise it by --max-message 5MiB"},
		{[]string{"compare", "--payload", huge, "--documents", "--wires", "grpc"}, "the baseline grpc cannot carry the payload"},
		{[]string{"compare", "kv", "--wires", "grpc?codec=raw"}, "the baseline grpc?codec=raw cannot carry the messages of kv: raw: "},
		{[]string{"compare", "--wires", "grpc?codec=kv-raw"}, "the baseline grpc?codec=kv-raw cannot carry the messages of arith: kv-raw: "},
		{[]string{"compare", "--documents"}, "give one by --payload"},
		{[]string{"compare", "--read-delay", "10ms"}, "everywire compare kv"},
		{[]string{"report"}, "<file>"},
		{[]string{"report", bad, "--as", "pdf"}, "--as"},
	} {
		stdout, stderr, status := command(t, "", c.args...)
		name := strings.Join(c.args, " ")
		if status != exitUsage {
			t.Errorf("everywire %s: exit status %d, want %d", name, status, exitUsage)
		}
		if stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("everywire %s: printed %q and %q, want one line on standard error with %q", name, stdout, stderr, c.want)
		}
	}
}

// A port in use is told as such, with status 1.
func TestPortInUse(t *testing.T) {
	taken := serve(t, "arith", "--on", "grpc://127.0.0.1:0")[0]
	stdout, stderr, status := command(t, "", "serve", "kv", "--on", "rest://"+taken.Addrs[0])
	if status != exitFailure || stdout != "" || !strings.Contains(stderr, "the address is in use: choose another port") {
		t.Errorf("status %d, printed %q and %q", status, stdout, stderr)
	}
}

// What fails for another reason is one line too, with status 1.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	garbage := dir + "/garbage.jsonl"
	if err := os.WriteFile(garbage, []byte("{\"type\":\"header\",\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"report", dir + "/none.jsonl"}, "no such file"},
		{[]string{"report", garbage}, "line 1"},
		{[]string{"serve", "kv", "--on", "jsonrpc+unix://" + dir + "/no/such/folder/s"}, "cannot listen"},
		{[]string{"call", "jsonrpc+unix://" + dir + "/nobody", "arith.Arith/Sum"}, "UNAVAILABLE"},
		{[]string{"call", "grpc://localhost:1", "no.Such/Method", "{}"}, "?codec=json needs none"},
		{[]string{"compare", "--wires", "rest", "--out", garbage + "/x"}, "cannot write the report"},
	} {
		stdout, stderr, status := command(t, "", c.args...)
		name := strings.Join(c.args, " ")
		if status != exitFailure || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("everywire %s: status %d, printed %q and %q, want status 1 and one line with %q", name, status, stdout, stderr, c.want)
		}
	}
}

// Every command has help with examples that fits a terminal.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"compare", "--help"}, {"serve", "--help"}, {"call", "--help"}, {"load", "--help"}, {"report", "--help"}, {"targets", "--help"}} {
		stdout, stderr, status := command(t, "", args...)
		if status != exitOK || stderr != "" {
			t.Errorf("%q: status %d, %q on standard error", args, status, stderr)
		}
		if len(args) == 2 && args[0] != "targets" && !strings.Contains(stdout, "Examples:") {
			t.Errorf("%q: no examples", args)
		}
		if strings.Contains(stdout, "lab-server") {
			t.Errorf("%q: shows what users do not need", args)
		}
		checkWidth(t, strings.Join(args, " "), stdout)
	}
	stdout, _, status := command(t, "", "targets")
	if status != exitOK || !strings.Contains(stdout, "reconnect") {
		t.Errorf("targets: status %d, %s", status, stdout)
	}
	checkWidth(t, "targets", stdout)
	var tables struct {
		Wires []struct {
			Wire       string
			Transports []string
		}
		Options []struct {
			Option, End, Meaning string
			Targets, Values      []string
		}
	}
	stdout, _, status = command(t, "", "targets", "--json")
	if err := json.Unmarshal([]byte(stdout), &tables); err != nil || status != exitOK {
		t.Fatalf("targets --json: status %d, %v", status, err)
	}
	if len(tables.Wires) != len(wire.Wires()) || len(tables.Options) != len(wire.TargetOptions()) {
		t.Errorf("targets --json has %d wires and %d options", len(tables.Wires), len(tables.Options))
	}
	for _, o := range tables.Options {
		if o.Option == "" || o.Meaning == "" || len(o.Targets) == 0 || !slices.Contains([]string{"client", "server", "both"}, o.End) {
			t.Errorf("targets --json has the option %+v", o)
		}
	}
	long, _, _ := command(t, "", "compare", "--help")
	if stdout, _, status = command(t, "", "help", "compare"); status != exitOK || stdout != long {
		t.Errorf("help compare: status %d, %s", status, stdout)
	}
	if stdout, _, status = command(t, "", "--version"); status != exitOK || !strings.HasPrefix(stdout, "everywire ") {
		t.Errorf("--version: status %d, %s", status, stdout)
	}
	stdout, _, status = command(t, "", "version")
	if status != exitOK || !strings.HasPrefix(stdout, "everywire ") {
		t.Errorf("version: status %d, %s", status, stdout)
	}
}

// A server's message cannot move the cursor or paint the terminal, and makes
// one line.
func TestErrorsAreHarmless(t *testing.T) {
	got := oneLine(errors.New("a\x1b[2Jb\r\n\tc\u009bd é"))
	if want := "a\uFFFD[2Jb ; c\uFFFDd é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = oneLine(errors.New("line 1: " + strings.Repeat("[0]", 10000) + ": too deep"))
	if len(got) > 1000 || !strings.HasPrefix(got, "line 1: [0]") || !strings.HasSuffix(got, "[0]: too deep") {
		t.Errorf("got %q", got)
	}
}

// Metadata is printed in the same order each time.
func TestMetadataInOrder(t *testing.T) {
	md := metadata.MD{}
	var want, b bytes.Buffer
	for c := 'a'; c <= 'z'; c++ {
		md.Append(string(c), "1", "2")
		fmt.Fprintf(&want, "header %c: 1\nheader %c: 2\n", c, c)
	}
	if printMetadata(&b, "header", md); b.String() != want.String() {
		t.Errorf("got\n%s", b.String())
	}
}

func checkWidth(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
			t.Errorf("%s: a line of %d columns: %s", what, n, line)
		}
	}
}
