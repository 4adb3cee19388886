// Command conformance runs connectrpc's conformance suite on the wire connect
// (server and client) and on the wire grpc (likewise):
//
//	go -C bench/conformance run .            # all
//	go -C bench/conformance run . server     # one of server, client, grpc, grpc-client
//
// It exits with 1 if a case fails that the list of known failures does not
// have, or one of the list passes. docs/spec/connect.md says how many there are.
// Being a module of its own, it costs users of everywire nothing.
//
// The runner starts this program again as the server or the client under test.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// A run is one start of the runner.
type run struct {
	name, mode string
	// under is the hidden argument by which this program is what is tested.
	under string
}

var runs = []run{
	{"server", "server", "under-test-server"},
	{"client", "client", "under-test-client"},
	{"grpc", "server", "under-test-server"},
	{"grpc-client", "client", "under-test-client"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mainErr(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1)
	}
}

func mainErr(ctx context.Context, args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case "under-test-server":
			return serve(ctx, os.Stdin, os.Stdout)
		case "under-test-client":
			return call(ctx, os.Stdin, os.Stdout)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ran := false
	for _, r := range runs {
		if len(args) > 0 && args[0] != r.name {
			continue
		}
		ran = true
		fmt.Printf("--- %s\n", r.name)
		more := args[min(1, len(args)):] // for the runner, such as --run and --trace
		err = errors.Join(err, r.start(ctx, self, more))
	}
	if !ran {
		return fmt.Errorf("there is no run %q: they are server, client, grpc, grpc-client", args[0])
	}
	return err
}

func (r *run) start(ctx context.Context, self string, more []string) error {
	args := append([]string{"tool", "connectconformance", "--mode", r.mode, "--conf", r.name + ".yaml"}, more...)
	if known := r.name + "-known-failing.txt"; exists(known) {
		args = append(args, "--known-failing", "@"+known)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "--", self, r.under)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = errors.Join(withoutKnown(os.Stdout, out), cmd.Wait())
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return nil
}

// withoutKnown copies the runner's lines, without those on cases that fail as
// they are known to: these begin with INFO, and what is indented behind belongs
// to them.
func withoutKnown(dst io.Writer, src io.Reader) error {
	known := false
	lines := bufio.NewScanner(src)
	lines.Buffer(nil, maxFrame)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "\t") {
			known = strings.HasPrefix(lines.Text(), "INFO: ")
		}
		if !known {
			if _, err := fmt.Fprintln(dst, lines.Text()); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
