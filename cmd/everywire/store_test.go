package main

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What one server was told is there in the next, on every wire, and one server
// at a time has the folder.
func TestServeData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	shapes := []string{"--on", "rest://127.0.0.1:0", "--on", "jsonrpc+tcp://127.0.0.1:0", "--on", "msgpackrpc+tcp://127.0.0.1:0", "--on", "grpc://127.0.0.1:0"}
	args := append([]string{"kv", "--data", dir, "--max-bytes", "1KiB"}, shapes...)
	call := func(t *testing.T, target, method, in, want string) {
		t.Helper()
		out, errs, status := command(t, "", "call", target, "io.grpc.KeyValueService/"+method, in)
		if status != exitOK && want[0] != '!' || !strings.Contains(out+errs, strings.TrimPrefix(want, "!")) {
			t.Errorf("%s %s on %s: status %d, %s%s, want %s", method, in, target, status, out, errs, want)
		}
	}
	t.Run("first", func(t *testing.T) {
		for i, on := range serve(t, args...) {
			key := string("QRSTUV"[i]) + "Q=="
			call(t, on.String(), "Create", `{"key":"`+key+`","value":"aGk="}`, `"version":`)
			call(t, on.String(), "Create", `{"key":"`+key+`","value":"aGk="}`, "!exists")
		}
		_, errs, status := command(t, "", append([]string{"serve"}, args...)...)
		if status != exitFailure || !strings.Contains(errs, "is in use by another process") {
			t.Errorf("a second server: status %d, %s", status, errs)
		}
	})
	t.Run("second", func(t *testing.T) {
		for _, on := range serve(t, args...) {
			call(t, on.String(), "Retrieve", `{"key":"QQ=="}`, `{"value":"aGk=","version":1}`)
			call(t, on.String(), "Update", `{"key":"QQ==","value":"aG8=","ifVersion":3}`, "!has changed: its version is 1")
			call(t, on.String(), "Create", `{"key":"ZZZZ","value":"`+strings.Repeat("AAAA", 300)+`"}`, "!of at most 1024")
			if on.Wire == "msgpackrpc" { // which has no streams
				continue
			}
			call(t, on.String(), "Scan", `{"limit":2}`, `{"key":"QQ==","value":"aGk=","version":1}`+"\n"+`{"key":"RQ==","value":"aGk=","version":2}`)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(dir, "kv.db"), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, status := command(t, "", append([]string{"serve"}, args...)...)
		if status != exitFailure || !strings.Contains(errs, "kv.db is damaged") {
			t.Errorf("a damaged file: status %d, %s", status, errs)
		}
	})
}

// Scan and Watch by curl: pages, lines of JSON, and what conditions do.
func TestServeKVStreams(t *testing.T) {
	rest := "http://" + serve(t, "kv", "--on", "rest://127.0.0.1:0")[0].Addrs[0]
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{rest + "/kv", "-d", `{"key":"YTE=","value":"aGk="}`}, `{"version":1}200`},
		{[]string{rest + "/kv", "-d", `{"key":"YTI=","value":"aGk=","ttl":"3600s"}`}, `{"version":2}200`},
		{[]string{rest + "/kv", "-d", `{"key":"YjE=","value":"aGk="}`}, `{"version":3}200`},
		{[]string{rest + "/kv", "-d", `{"key":"YjE=","value":"aGk=","ttl":"-1s"}`}, `"code":"INVALID_ARGUMENT"`},
		{[]string{rest + "/kv?prefix=YQ==&limit=1"}, `{"key":"YTE=","value":"aGk=","version":1}` + "\n200"},
		{[]string{rest + "/kv?prefix=YQ==&after=YTE=&keysOnly=true", "-H", "Accept: application/x-ndjson"}, `{"key":"YTI=","value":"","version":2,"expires":"`},
		{[]string{rest + "/kv?after=YTE=", "-H", "Accept: text/event-stream"}, `data: {"key":"YTI=","value":"aGk=","version":2,`},
		{[]string{rest + "/kv?limit=-1"}, `"code":"INVALID_ARGUMENT"`},
		{[]string{rest + "/kv/YTE=", "-X", "PUT", "-d", `{"value":"aG8=","ifVersion":7}`}, `"code":"ABORTED"`},
		{[]string{rest + "/kv/YTE=?ifVersion=7", "-X", "DELETE"}, `"code":"ABORTED"`},
		{[]string{rest + "/kv/YTE=?ifVersion=1", "-X", "DELETE", "-i"}, "204"},
		{[]string{rest + "/kv/YTI=", "-i"}, `Etag: "2"`},
		{[]string{rest + "/kv:watch?after=9"}, `"code":"OUT_OF_RANGE"`},
	} {
		args := append([]string{"-sS", "-w", "%{http_code}", "-H", "Content-Type: application/json"}, c.args...)
		if out := output(t, "curl", args...); !strings.Contains(out, c.want) {
			t.Errorf("curl %s: %s, want %s", strings.Join(c.args, " "), out, c.want)
		}
	}
	resp, err := http.Get(rest + "/kv:watch?after=0&prefix=YQ==") // it ends when the body is closed
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{
		`{"kind":"create","key":"YTE=","value":"aGk=","version":1}`,
		`{"kind":"create","key":"YTI=","value":"aGk=","version":2,"expires":"`,
		`{"kind":"delete","key":"YTE=","value":"","version":4}`,
	} {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Fatalf("watch gave %s, want %s", lines.Text(), want)
		}
	}
	if v := resp.Header.Get("Kv-Version"); v != "0" {
		t.Errorf("the watch says that it is after version %q", v)
	}
}

func TestStoreFlags(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"arith --data there", "--data and --max-bytes are for the service kv"},
		{"echo --max-bytes 1MiB", "--data and --max-bytes are for the service kv"},
		{"kv --max-bytes 2000GiB", "up to 1024GiB"},
		{"kv --max-bytes 0", "is not a size"},
	} {
		_, errs, status := command(t, "", append([]string{"serve", "--on", "rest://127.0.0.1:0"}, strings.Fields(tt.args)...)...)
		if status != exitUsage || !strings.Contains(errs, tt.want) {
			t.Errorf("serve %s: status %d, %q, want %q", tt.args, status, errs, tt.want)
		}
	}
}
