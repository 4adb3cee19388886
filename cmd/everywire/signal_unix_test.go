//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

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
