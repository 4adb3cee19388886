package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/wire"
)

// What describe writes, to standard output or to a folder, it reads again.
func TestDescribeProto(t *testing.T) {
	dir := t.TempDir()
	status, one, stderr := runDescribe(t, "kv", "--as", "proto")
	if status != exitOK || !strings.Contains(one, "rpc Retrieve(RetrieveRequest) returns (RetrieveResponse) {") || strings.Contains(one, bundleMark) {
		t.Errorf("status %d, %s\n%s", status, stderr, one)
	}
	status, bundle, stderr := runDescribe(t, "kv", "arith", "--as", "proto", "--routes")
	if status != exitOK || strings.Count(bundle, bundleMark) != 2 || !strings.Contains(bundle, `get: "/kv/{key}"`) {
		t.Errorf("status %d, %s\n%s", status, stderr, bundle)
	}
	folder := filepath.Join(dir, "out")
	status, stdout, stderr := runDescribe(t, "kv", "arith", "--as", "proto", "--routes", "--out", folder)
	if status != exitOK || stdout != "" || !strings.Contains(stderr, filepath.Join(folder, "google", "api", "http.proto")) {
		t.Errorf("status %d, %s\n%s", status, stderr, stdout)
	}
	files := map[string]string{"one.proto": one, "bundle.txt": bundle}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []string{filepath.Join(dir, "bundle.txt"), folder} {
		status, again, stderr := runDescribe(t, source, "--as", "proto")
		if status != exitOK || again != bundle {
			t.Errorf("%s: status %d, %s\n%s", source, status, stderr, again)
		}
	}
	for _, args := range [][]string{
		{"kv", "--against", filepath.Join(dir, "one.proto")},
		{"kv", "arith", "--against", filepath.Join(dir, "bundle.txt")},
		{folder, "--against", filepath.Join(dir, "bundle.txt")},
		{"kv", "arith", "employees", "--against", "kv"},
	} {
		status, stdout, stderr := runDescribe(t, args...)
		if status != exitOK || stdout != "Nothing has changed that breaks old clients.\n" {
			t.Errorf("%q: status %d, %s\n%s", args, status, stderr, stdout)
		}
	}
}

func TestDescribeAgainst(t *testing.T) {
	_, text, _ := runDescribe(t, "kv", "--as", "proto", "--routes")
	old := filepath.Join(t.TempDir(), "old.proto")
	changed := strings.NewReplacer("message UpdateRequest {\n  bytes key = 1;", "message UpdateRequest {\n  bytes key_that_has_a_rather_long_name_which_is_wide = 1;",
		"bytes value = 1", "string value = 1", "rpc Delete(", "rpc DeleteAll(DeleteRequest) returns (DeleteResponse);\n  rpc Delete(").Replace(text)
	if err := os.WriteFile(old, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := runDescribe(t, "kv", "--against", old)
	if status != exitFailure || !strings.HasSuffix(stderr, "changes break old clients\n") {
		t.Errorf("status %d, %s", status, stderr)
	}
	for line := range strings.Lines(stdout) {
		if utf8.RuneCountInString(strings.TrimSpace(line)) > 100 {
			t.Errorf("wider than 100 columns: %s", line)
		}
	}
	for _, want := range []string{"WHERE", "io.grpc.KeyValueService/DeleteAll", "removed", "string → bytes"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%s is missing in\n%s", want, stdout)
		}
	}
	status, stdout, _ = runDescribe(t, "kv", "--against", old, "--json")
	var doc struct {
		Changes []struct {
			Place, Change, In string
			Breaks            []string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || status != exitFailure || len(doc.Changes) < 3 || doc.Changes[0].Place == "" || len(doc.Changes[0].Breaks) == 0 {
		t.Errorf("status %d, %v\n%s", status, err, stdout)
	}
	status, stdout, _ = runDescribe(t, "arith", "--against", "arith", "--json")
	if status != exitOK || stdout != "{\n  \"changes\": []\n}\n" {
		t.Errorf("status %d\n%s", status, stdout)
	}
}

// A server is asked in the way of its wire.
func TestDescribeServer(t *testing.T) {
	reg := everywire.NewRegistry()
	arith.Register(reg)
	kv.New(kv.Options{}).Register(reg)
	server, err := wire.Serve(t.Context(), reg, []string{"any://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	addr := server.Targets()[0].Addrs[0]
	_, bundle, _ := runDescribe(t, "kv", "arith", "--as", "proto", "--routes")
	status, stdout, stderr := runDescribe(t, "grpc://"+addr, "--as", "proto")
	if status != exitOK || stdout != bundle {
		t.Errorf("grpc: status %d, %s\n%s", status, stderr, stdout)
	}
	for target, want := range map[string]string{
		"rest://" + addr: `"openapi": "3.1.1"`, "jsonrpc+tcp://" + addr: `"openrpc": "1.3.2"`, "jsonrpc+http://" + addr + "/rpc": `"openrpc": "1.3.2"`,
	} {
		status, stdout, stderr := runDescribe(t, target)
		if status != exitOK || !strings.Contains(stdout, want) {
			t.Errorf("%s: status %d, %s\n%s", target, status, stderr, stdout)
		}
	}
	status, stdout, stderr = runDescribe(t, "grpc://"+addr, "--against", "arith")
	if status != exitOK {
		t.Errorf("against: status %d, %s\n%s", status, stderr, stdout)
	}
	status, stdout, stderr = runDescribe(t, "arith", "--against", "grpc://"+addr)
	if status != exitFailure || !strings.Contains(stdout, "io.grpc.KeyValueService/Create") {
		t.Errorf("against a server: status %d, %s\n%s", status, stderr, stdout)
	}
	for want, args := range map[string][]string{
		"has no field numbers":                       {"kv", "--against", "rest://" + addr},
		"servers of the wire rest have --as":         {"rest://" + addr, "--as", "proto"},
		"is printed as it is, and alone":             {"kv", "rest://" + addr},
		"cannot be asked what they have":             {"connect://" + addr},
		"--against prints changes, and no":           {"kv", "--against", "kv", "--as", "proto"},
		"--json is for --against":                    {"kv", "--json"},
		"--routes is for --as proto":                 {"kv", "--routes"},
		"is in grpc://" + addr + ", and is built in": {"kv", "grpc://" + addr},
	} {
		if status, stdout, stderr := runDescribe(t, args...); status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, %s\n%s", args, status, stderr, stdout)
		}
	}
}
