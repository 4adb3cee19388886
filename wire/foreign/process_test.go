package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// patience bounds everything that a foreign process does.
const patience = 90 * time.Second

// runNode runs a script with args to its end and returns what it reports.
func runNode(t *testing.T, script string, args map[string]any) map[string]json.RawMessage {
	t.Helper()
	cmd := nodeCommand(t, script, args)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", script, args, err, &stderr)
	}
	var results map[string]json.RawMessage
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%s %v printed %q: %v", script, args, out, err)
	}
	return results
}

func nodeCommand(t *testing.T, script string, args map[string]any) *exec.Cmd {
	t.Helper()
	node := needNode(t)
	argument, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, node, filepath.Join("testdata", "node", script), string(argument))
	cmd.WaitDelay = time.Second
	return cmd
}

// startNode starts a server's script and returns its address.
// The script ends when its stdin does, which it also does if this process dies.
func startNode(t *testing.T, script string, args map[string]any) (addr string) {
	t.Helper()
	var info struct {
		Addr string `json:"addr"`
	}
	line := startProcess(t, nodeCommand(t, script, args))
	if err := json.Unmarshal(line, &info); err != nil {
		t.Fatalf("%s printed %q: %v", script, line, err)
	}
	return info.Addr
}

// startProcess starts a process, returns the first line that it prints, and
// ends it, by closing its stdin, when the test ends.
func startProcess(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // the process may have ended itself
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("%v: %v\n%s", cmd.Args, err, &stderr)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v printed %q: %v\n%s", cmd.Args, line, err, &stderr)
	}
	return line
}

// check compares results with what is wanted, both JSON.
func check(t *testing.T, results map[string]json.RawMessage, wants ...map[string]string) {
	t.Helper()
	want := map[string]string{}
	for _, w := range wants {
		maps.Copy(want, w)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		got, ok := results[name]
		switch {
		case !ok:
			t.Errorf("%s: no result", name)
		case string(got) != want[name]:
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(results)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: nothing is wanted, got %s", name, results[name])
		}
	}
}
