package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A picture goes to standard output or into a file; a file with errors is not drawn.
func TestFlowDraw(t *testing.T) {
	const server = "../../examples/flow/hello-server.yaml"
	stdout, stderr, status := command(t, "", "flow", "draw", server)
	if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "<svg ") || !strings.Contains(stdout, "GET /hello/{name}") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "a.svg")
	stdout, stderr, status = command(t, "", "flow", "draw", server, "--flow", "greet", "-o", out)
	text, err := os.ReadFile(out)
	if status != exitOK || stdout != "" || stderr != "drawn: "+out+"\n" || err != nil || !strings.HasPrefix(string(text), "<svg ") {
		t.Errorf("status %d: %s%s, %v", status, stdout, stderr, err)
	}
	app, _, status := command(t, "", "flow", "draw", "../../flow/flogo/testdata/hello-server-rest.json")
	if status != exitOK || !strings.Contains(app, "log_asked") {
		t.Errorf("an app of Flogo: status %d: %s", status, app)
	}
	_, stderr, status = command(t, "", "flow", "draw", server, "--flow", "nothing")
	if status != exitUsage || !strings.Contains(stderr, `has no flow "nothing": it has greet`) {
		t.Errorf("status %d: %s", status, stderr)
	}
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("name: x\nflows: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status = command(t, "", "flow", "draw", bad)
	if status != exitFailure || stdout != "" || !strings.Contains(stderr, bad+":1:1: a flow file needs \"triggers\"") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	if _, stderr, status = command(t, "", "flow", "draw", server, "-o", filepath.Join(dir, "no", "a.svg")); status != exitFailure || !strings.Contains(stderr, "no such file or directory") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
