package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/wire"
)

// serve starts the command in this process and returns what it is served on.
// It ends with the test.
func serve(t *testing.T, args ...string) []wire.Target {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	pr, pw := io.Pipe()
	var stderr lockedBuffer
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, append([]string{"serve"}, args...), strings.NewReader(""), pw, &stderr)
		pw.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if status := <-done; status != exitOK {
			t.Errorf("serve ended with status %d: %s", status, stderr.String())
		}
	})
	var targets []wire.Target
	lines := bufio.NewScanner(pr)
	want := strings.Count(strings.Join(args, " "), "--on")
	for len(targets) < want && lines.Scan() {
		_, text, ok := strings.Cut(lines.Text(), " on ")
		target, err := wire.ParseTarget(text)
		if !ok || err != nil {
			t.Fatalf("serve printed %q", lines.Text())
		}
		targets = append(targets, target)
	}
	if len(targets) < want {
		cancel()
		t.Fatalf("serve printed %d targets", len(targets))
	}
	go io.Copy(io.Discard, pr)
	return targets
}

// A lockedBuffer takes what several goroutines write, as a process's standard
// error does.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func serveKV(t *testing.T) (byShape map[string]wire.Target) {
	targets := serve(t, "kv", "--on", "rest://127.0.0.1:0", "--on", "jsonrpc+http://127.0.0.1:0", "--on", "jsonrpc+tcp://127.0.0.1:0",
		"--on", "msgpackrpc+tcp://127.0.0.1:0", "--on", "grpc://127.0.0.1:0")
	byShape = map[string]wire.Target{}
	for _, target := range targets {
		byShape[target.Wire+"+"+target.Transport] = target
	}
	return byShape
}

// A key written by the command over one wire is read over every other one.
func TestServeAndCall(t *testing.T) {
	targets := serveKV(t)
	for shape, from := range targets {
		key := `"` + strings.Repeat("QUJD", len(shape)) + `"`
		if out, errs, status := command(t, "", "call", from.String(), "io.grpc.KeyValueService/Create", `{"key":`+key+`,"value":"dg=="}`); status != exitOK || !strings.Contains(out, `"version":`) {
			t.Fatalf("create over %v: status %d, %q, %q", from, status, out, errs)
		}
		for _, to := range targets {
			out, errs, status := command(t, `{"key":`+key+`}`, "call", to.String(), "/io.grpc.KeyValueService/Retrieve", "-")
			if status != exitOK || !strings.HasPrefix(out, `{"value":"dg==","version":`) {
				t.Errorf("created over %v, retrieved over %v: status %d, %q, %q", from, to, status, out, errs)
			}
		}
		if _, _, status := command(t, "", "call", from.String(), "io.grpc.KeyValueService/Delete", `{"key":`+key+`}`); status != exitOK {
			t.Errorf("delete over %v: status %d", from, status)
		}
		_, errs, status := command(t, "", "call", from.String(), "io.grpc.KeyValueService/Retrieve", `{"key":`+key+`}`)
		if status != exitFailure || !strings.HasPrefix(errs, "everywire: NOT_FOUND: key ") {
			t.Errorf("retrieve of a deleted key over %v: status %d, %q", from, status, errs)
		}
	}
}

func TestCallUnknownMethodsAndDocuments(t *testing.T) {
	targets := serve(t, "echo", "--on", "rest://127.0.0.1:0", "--on", "jsonrpc+http://127.0.0.1:0", "--on", "jsonrpc+tcp://127.0.0.1:0",
		"--on", "msgpackrpc+tcp://127.0.0.1:0", "--on", "grpc://127.0.0.1:0")
	for _, target := range targets {
		for _, doc := range []string{`{"a":[1,2.5,null,true,"é"]}`, `[1,[2]]`, `"text"`, `7`, `null`, `{}`, `[]`} {
			out, errs, status := command(t, "", "call", target.String(), "echo.Echo/Echo", doc)
			if status != exitOK || out != doc+"\n" {
				t.Errorf("echo of %s over %v: status %d, %q, %q", doc, target, status, out, errs)
			}
		}
		if target.Wire == "grpc" {
			target.Options = map[string]string{"codec": "json"}
		}
		_, errs, status := command(t, "", "call", target.String(), "no.Such/Method", `{"a":1}`)
		if status != exitFailure || !strings.HasPrefix(errs, "everywire: UNIMPLEMENTED: ") {
			t.Errorf("an unknown method over %v: status %d, %q", target, status, errs)
		}
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, needs.Program(t, name, "see CONTRIBUTING.md"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestCurl(t *testing.T) {
	targets := serveKV(t)
	rest := "http://" + targets["rest+http"].Addrs[0]
	rpc := "http://" + targets["jsonrpc+http"].Addrs[0] + "/rpc"
	jsonType := "Content-Type: application/json"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-d", `{"key":"a2V5","value":"aGk="}`, rest + "/kv"}, `{"version":1}200`},
		{[]string{rest + "/kv/a2V5"}, `{"value":"aGk=","version":1}200`},
		{[]string{"-i", rest + "/kv/a2V5", "-H", `If-None-Match: "1"`}, "304"},
		{[]string{"-X", "PUT", "-H", `If-Match: "1"`, "-d", `{"value":"aG8="}`, rest + "/kv/a2V5"}, `{"version":2}200`},
		{[]string{"-X", "PUT", "-H", `If-Match: "1"`, "-d", `{"value":"aG8="}`, rest + "/kv/a2V5"}, `"status":412,"detail":"the value of key \"key\" has changed: its version is 2","code":"ABORTED"`},
		{[]string{"-X", "DELETE", "-H", `If-Match: "1"`, rest + "/kv/a2V5"}, `"status":412,"detail":"the value of key \"key\" has changed: its version is 2","code":"ABORTED"`},
		{[]string{"-d", `{"jsonrpc":"2.0","method":"io.grpc.KeyValueService/Retrieve","params":{"key":"a2V5"},"id":"x"}`, rpc}, `{"jsonrpc":"2.0","result":{"value":"aG8=","version":2},"id":"x"}200`},
		{[]string{"-X", "DELETE", rest + "/kv/a2V5"}, "204"},
		{[]string{rest + "/kv/a2V5"}, `"status":404,"detail":"key \"key\" does not exist","code":"NOT_FOUND"`},
		{[]string{"-d", `{"jsonrpc":"2.0","method":"io.grpc.KeyValueService/Retrieve","params":{"key":"a2V5"},"id":1}`, rpc}, `"error":{"code":-32005,"message":"key \"key\" does not exist","data":{"details":[{"type":"google.rpc.ErrorInfo",`},
	} {
		out := output(t, "curl", append([]string{"-sS", "-w", "%{http_code}", "-H", jsonType}, c.args...)...)
		if !strings.Contains(out, c.want) {
			t.Errorf("curl %s: %s, want %s", strings.Join(c.args, " "), out, c.want)
		}
	}
}

func TestGrpcurl(t *testing.T) {
	addr := serveKV(t)["grpc+tcp"].Addrs[0]
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{addr, "list"}, "io.grpc.KeyValueService\n"},
		{[]string{addr, "describe", "io.grpc.KeyValueService"}, "rpc Retrieve ( .io.grpc.RetrieveRequest ) returns ( .io.grpc.RetrieveResponse )"},
		{[]string{addr, "describe", "io.grpc.CreateRequest"}, "bytes value = 2;"},
		{[]string{"-d", `{"key":"a2V5","value":"aGk="}`, addr, "io.grpc.KeyValueService/Create"}, "{\n  \"version\": \"1\"\n}\n"},
		{[]string{"-d", `{"key":"a2V5"}`, addr, "io.grpc.KeyValueService/Retrieve"}, `"value": "aGk="`},
		{[]string{addr, "grpc.health.v1.Health/Check"}, `"status": "SERVING"`},
	} {
		out := output(t, "grpcurl", append([]string{"-plaintext"}, c.args...)...)
		if !strings.Contains(out, c.want) {
			t.Errorf("grpcurl %s: %s, want %s", strings.Join(c.args, " "), out, c.want)
		}
	}
}
