package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The two ends on two machines, of which both are this one: the servers are started
// by an agent, whatever their place.
func TestServersOnAnotherMachine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		defer pw.Close()
		ended <- execute(ctx, []string{"serve", "--lab", "127.0.0.1:0"}, strings.NewReader(""), pw, io.Discard)
	}()
	said := bufio.NewReader(pr)
	if _, err := said.ReadString('\n'); err != nil { // where it listens
		t.Fatal(err)
	}
	line, err := said.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	words := regexp.MustCompile(`--server (\S+) --token (\S+)`).FindStringSubmatch(line)
	if words == nil {
		t.Fatalf("the agent said %q", line)
	}
	var out, errs bytes.Buffer
	dir := filepath.Join(t.TempDir(), "report")
	status := execute(t.Context(), []string{
		"compare", "--wires", "rest,net/http", "--callers", "2", "--blocks", "1", "--measure", "50ms", "--json", "--out", dir,
		"--server", words[1], "--token", words[2],
	}, strings.NewReader(""), &out, &errs)
	var summary struct {
		Loads []struct {
			Arms []struct {
				Name  string
				Calls int64
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &summary); status != exitOK || err != nil {
		t.Fatalf("exit status %d, %v: %s", status, err, &errs)
	}
	for _, a := range summary.Loads[0].Arms {
		if a.Calls == 0 {
			t.Errorf("%s made no calls", a.Name)
		}
	}
	text, _, status := command(t, "", "report", filepath.Join(dir, "run.jsonl"))
	if status != exitOK || !strings.Contains(text, "the servers on ") {
		t.Errorf("the report does not tell of two machines: %s", text)
	}

	for want, args := range map[string][]string{
		"the token is not that of this agent": {"--server", words[1], "--token", "guess"},
		"needs --token":                       {"--server", words[1]},
		"is not HOST:PORT":                    {"--server", "example", "--token", "x"},
		"name it by --server":                 {"--token", "x"},
		"leave out emulated links":            {"--server", words[1], "--token", words[2], "--link", "rtt=1ms"},
	} {
		errs.Reset()
		status := execute(t.Context(), append([]string{"compare", "--wires", "rest", "--out", dir}, args...), strings.NewReader(""), &out, &errs)
		if status == exitOK || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: exit status %d, %s", args, status, &errs)
		}
	}
	cancel()
	select {
	case status := <-ended:
		if status != exitOK {
			t.Errorf("the agent's exit status is %d", status)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the agent does not end")
	}
}
