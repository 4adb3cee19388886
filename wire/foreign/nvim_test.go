package foreign

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/service/arith"
)

// nvimCommand makes a command of a Neovim that reads no configuration and
// leaves no files.
func nvimCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	nvim := needs.Program(t, "nvim", "on Debian, apt-get install neovim")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, nvim, append([]string{"--headless", "--clean", "-n", "-i", "NONE"}, args...)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_RUNTIME_DIR="+home)
	cmd.WaitDelay = time.Second
	return cmd
}

// runNvim runs a script that connects to addr by sockconnect's mode, and returns
// its results.
func runNvim(t *testing.T, script, mode, addr string) map[string]json.RawMessage {
	t.Helper()
	file := filepath.Join(t.TempDir(), "results.json")
	cmd := nvimCommand(t, "-S", filepath.Join("testdata", "nvim", script))
	cmd.Env = append(cmd.Env, "EVERYWIRE_MODE="+mode, "EVERYWIRE_ADDR="+addr, "EVERYWIRE_RESULTS="+file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		text, _ := os.ReadFile(file) // says more, if it is there
		t.Fatalf("nvim: %v\n%s%s", err, out, text)
	}
	var results map[string]json.RawMessage
	readJSON(t, file, &results)
	return results
}

func TestNeovimClient(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	for _, test := range []struct {
		name, mode, target string
		via                func(t *testing.T, addr string) string
	}{
		{"tcp", "tcp", "msgpackrpc+tcp://127.0.0.1:0", whole},
		{"tcp, cut", "tcp", "msgpackrpc+tcp://127.0.0.1:0", cutter},
		{"unix", "pipe", "msgpackrpc+unix://" + socket, whole},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newService()
			addr := test.via(t, s.serve(t, test.target))
			results := runNvim(t, "client.vim", test.mode, addr)
			// Vim's comparisons give 1. It shows only the errors of servers that
			// send a text, or an array as its own; ours are maps.
			unknown := func(method string) string {
				return `"Vim(call):Error invoking '` + method + `' on channel 3:\nunknown error"`
			}
			check(t, results, map[string]string{
				"sum": `{"sum": 41}`, "noNumbers": `{"sum": 0}`, "last": `{"sum": 1}`,
				"widths": `[` + strings.Repeat("1, ", 19) + `1]`, "text": `1`, "large": `1`, "document": `1`,
				"failed": unknown("peer.Peer/Fail"), "unknown": unknown("nope"), "wrongParams": unknown(arith.Sum),
			})
			s.wantNotes(t, `Grüße, 世界 🚀 "\/`)
		})
	}
}
