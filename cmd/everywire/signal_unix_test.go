//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everywire/everywire/lab/loadreport"
	"github.com/everywire/everywire/wire"
)

// A first signal lets the calls in flight finish; a second one does not wait
// for them.
func TestServeSecondSignal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	server := exec.CommandContext(ctx, os.Args[0], "serve", "kv", "--on", "rest://127.0.0.1:0", "--read-delay", "1h", "--drain", "1h")
	server.Env = append(os.Environ(), asCommand+"=1")
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	out, errs := bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	out.Scan()
	_, served, _ := strings.Cut(out.Text(), " on ")
	target, err := wire.ParseTarget(served)
	if err != nil {
		t.Fatalf("serve printed %q", out.Text())
	}
	slow, err := net.Dial("tcp", target.Addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprintf(slow, "GET /kv/eA== HTTP/1.1\r\nHost: localhost\r\n\r\n")
	// A call that came later has been answered, so this one is in flight.
	if _, text, status := command(t, "", "call", served, "io.grpc.KeyValueService/Create", `{"key":"eQ==","value":"eA=="}`); status != exitOK {
		t.Fatal(text)
	}
	time.Sleep(100 * time.Millisecond)

	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if errs.Scan(); !strings.Contains(errs.Text(), "a second signal stops at once") {
		t.Errorf("after one signal serve says %q", errs.Text())
	}
	time.Sleep(100 * time.Millisecond)
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("serve did not wait for the call in flight: %v", err)
	}
	_ = server.Wait()
	if s, ok := server.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGTERM {
		t.Errorf("after two signals serve ended so: %v", server.ProcessState)
	}
}

// An interrupted load reports what it measured until then, with status 130; within the
// warm-up it has measured nothing.
func TestLoadInterrupted(t *testing.T) {
	to := serve(t, "arith", "--on", "grpc://127.0.0.1:0")[0].String()
	for name, flags := range map[string][]string{
		"closed": {"--duration", "1h"}, "counted": {"--calls", "1000000000"}, "open": {"--rate", "200/1h"}, "warm-up": {"--warmup", "1h"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		file := filepath.Join(t.TempDir(), "calls.jtl")
		args := append([]string{"load", to, "arith.Arith/Sum", "-b", `{"numbers":[1]}`, "-o", file, "--json", "--fail", "calls<1"}, flags...)
		load := exec.CommandContext(ctx, os.Args[0], args...)
		load.Env = append(os.Environ(), asCommand+"=1")
		var stdout, stderr lockedBuffer
		load.Stdout, load.Stderr = &stdout, &stderr
		if err := load.Start(); err != nil {
			t.Fatal(err)
		}
		// Once a call was written down, or in the warm-up the file is there, the load runs.
		for least := int64(300); ; time.Sleep(5 * time.Millisecond) {
			if name == "warm-up" {
				least = 0
			}
			if info, err := os.Stat(file); err == nil && info.Size() >= least {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("%s: no call: %s", name, stderr.String())
			}
		}
		if err := load.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = load.Wait() // its status is looked at
		if status := load.ProcessState.ExitCode(); status != exitInterrupted {
			t.Errorf("%s: status %d, %s", name, status, stderr.String())
		}
		if name == "warm-up" {
			if stdout.String() != "" || !strings.Contains(stderr.String(), "interrupted before anything was measured") {
				t.Errorf("%s: %q, %q", name, stdout.String(), stderr.String())
			}
			continue
		}
		var d loadreport.Document
		if err := json.Unmarshal([]byte(stdout.String()), &d); err != nil || d.Partial != "interrupted" || d.Calls.Right == 0 || d.Calls.Failed != 0 {
			t.Errorf("%s: %v, %q, %+v %s", name, err, d.Partial, d.Calls, stderr.String())
		}
		if c := d.Calls; d.Open && c.Right+c.Censored+c.Dropped+c.Unsent != c.Scheduled {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
