// Load runs everywire load beside wrk, h2load and ghz on the same servers, in pairs,
// and prints the ratios of their figures with intervals. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == grpcServerFlag {
		if err := serveGRPC(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFailed)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

const usage = `load runs everywire load beside other load generators on the same servers, which nobody here wrote:

  wrk      HTTP/1.1   a file of 1 KiB of NGINX
  h2load   HTTP/2     the same
  ghz      gRPC       UnaryCall of grpc-go's interop server

  go run .                       everything, 10 pairs of 3 s: about 6 minutes
  go run . -quick                3 pairs of 1 s: shows that it works, and claims nothing
  go run . -only wrk,h2load      some
  go run . -callers 50 -pairs 20

Flags
`

// settings are the flags.
type settings struct {
	only    []string
	callers int
	pairs   int
	window  time.Duration
	pin     bool
}

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := new(settings)
	var only string
	var quick bool
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&only, "only", strings.Join(toolNames(), ","), "the `names` of the tools to run beside")
	fs.IntVar(&s.callers, "callers", 10, "the `number` of callers: of connections with HTTP/1.1, else all on one connection")
	fs.IntVar(&s.pairs, "pairs", 10, "the `number` of pairs; at least 8 for claims")
	fs.DurationVar(&s.window, "window", 3*time.Second, "the `length` of one load, in whole seconds")
	fs.BoolVar(&s.pin, "pin", true, "keep servers on the first half of the cores and generators on the other, if taskset is there")
	fs.BoolVar(&quick, "quick", false, "3 pairs of 1s")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
		fmt.Fprint(fs.Output(), "\nThe status is 0 when everything was measured, 1 when something was missing or failed, 2 when the flags are wrong.\n")
	}
	if slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" }) {
		fs.SetOutput(stdout)
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag; see -h", fs.Arg(0))
	}
	if quick {
		s.pairs, s.window = 3, time.Second
	}
	for name := range strings.SplitSeq(only, ",") {
		if !slices.Contains(toolNames(), name) {
			return nil, fmt.Errorf("there is no tool %q: there are %s", name, strings.Join(toolNames(), ", "))
		}
		s.only = append(s.only, name)
	}
	if s.callers < 1 || s.callers > 1000 || s.pairs < 1 || s.pairs > 1000 || s.window < time.Second || s.window%time.Second != 0 {
		return nil, errors.New("want 1 to 1000 callers and pairs, and a window of whole seconds, which is all that wrk and h2load know")
	}
	return s, nil
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "load:", err)
		return exitUsage
	}
	failed, err := run(ctx, s, stdout, stderr)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "load:", err)
		return exitFailed
	case failed:
		return exitFailed
	}
	return 0
}

// run measures everything. failed says that something was left out.
func run(ctx context.Context, s *settings, stdout, stderr io.Writer) (failed bool, err error) {
	dir, err := os.MkdirTemp("", "everywire-bench-load-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is for temporary files
	m := &machine{dir: dir, pin: s.pin}
	m.split()
	ours, err := buildEverywire(ctx, dir)
	if err != nil {
		return false, err
	}
	var all []*comparison
	for _, t := range tools {
		if !slices.Contains(s.only, t.name) {
			continue
		}
		c, err := t.compare(ctx, m, ours, s, stderr)
		if ctx.Err() != nil {
			fmt.Fprintln(stderr, "interrupted")
			failed = true
			break
		}
		if err != nil {
			fmt.Fprintf(stderr, "LEFT OUT: %s: %v\n", t.name, err)
			failed = true
			continue
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return true, errors.New("nothing was measured")
	}
	report(stdout, m, s, all)
	return failed, nil
}
