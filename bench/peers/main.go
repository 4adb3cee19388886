// Peers measures everywire beside the RPC frameworks and HTTP libraries that
// Go has, and beside a bare socket, all on this machine in one run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/everywire/everywire/bench/peers/peer"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == childFlag {
		if err := runChild(); err != nil {
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

const usage = `peers measures an echo on everywire, on Go's RPC frameworks and HTTP libraries, and on a bare
socket, each server and each client a process of its own, on one core where the system allows it.

  go run .                                           everything: about 12 minutes
  go run . -quick                                    64 bytes only, a minute: figures, and no claim
  go run . -peers raw,jsonrpc+tcp,arpc -sizes 64     some peers at one size
  go run . -callers 1,64x64 -rounds 21               1 caller, and 64 callers on 64 connections
  go run . -peers rest,rest-handler,connect-json,grpc-gateway,huma,fasthttp,net/http \
    -sizes 64,document -callers 1,64x64              rest beside other HTTP
  go run . -json > run.json                          every window, to be read by a program
  go run . -experiment idle                          one of the experiments below, or all short ones
  go run . -experiment grpc-ratio -rounds 30         grpc over bare grpc-go: about 3 minutes
  go run . -experiment grpc-options -rounds 30       options of grpc-go: about 5 minutes
  go run . -list                                     the peers, what they send, and their versions

Flags
`

// everyone stands for all peers.
const everyone = "all"

// settings are the flags.
type settings struct {
	plan       plan
	list, json bool
	experiment string
	idleConns  int
}

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := new(settings)
	var peers, sizes, callers string
	var quick bool
	fs := flag.NewFlagSet("peers", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&peers, "peers", everyone, "the `names` of the peers to measure, of those that -list lists")
	fs.StringVar(&sizes, "sizes", "64,64K,document", "the lengths of the text in `bytes`, or document: JSON of 8 KB")
	fs.StringVar(&callers, "callers", "1,8,64,64x64", "the `numbers` of callers, on one connection or x so many")
	fs.IntVar(&s.plan.Rounds, "rounds", 9, "the `number` of rounds; at least 8 for claims")
	fs.DurationVar(&s.plan.Window, "window", 300*time.Millisecond, "the `length` of one window of one peer")
	fs.BoolVar(&s.plan.Pin, "pin", true, "keep servers and clients on one core each")
	fs.BoolVar(&quick, "quick", false, "64 bytes, 3 rounds of 200ms")
	fs.BoolVar(&s.json, "json", false, "print JSON in place of the table")
	fs.BoolVar(&s.list, "list", false, "list the peers and end")
	fs.StringVar(&s.experiment, "experiment", "", "run the experiment with that `name`, or all, on our wires among -peers")
	fs.IntVar(&s.idleConns, "idle-connections", 10000, "the `number` of connections of the experiment idle")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
		fmt.Fprint(fs.Output(), "\nExperiments\n")
		for _, e := range experiments {
			fmt.Fprintf(fs.Output(), "  %-12s %s\n", e.name, e.about)
		}
		fmt.Fprint(fs.Output(), "\nThe status is 0 when everything was measured, whether goals were reached or not; 1 when something\n"+
			"failed; 2 when the flags are wrong.\n")
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
		set := map[string]bool{}
		fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
		if !set["sizes"] {
			sizes = "64"
		}
		if !set["rounds"] {
			s.plan.Rounds = 3
		}
		if !set["window"] {
			s.plan.Window = 200 * time.Millisecond
		}
	}
	return s, s.check(peers, sizes, callers)
}

func (s *settings) check(peers, sizes, callers string) error {
	if peers == everyone {
		peers = strings.Join(defaultPeers(), ",")
	}
	for name := range strings.SplitSeq(peers, ",") {
		if _, ok := peer.Find(name); !ok {
			return fmt.Errorf("there is no peer %q: there are %s", name, strings.Join(defaultPeers(), ", "))
		}
		if !slices.Contains(s.plan.Peers, name) {
			s.plan.Peers = append(s.plan.Peers, name)
		}
	}
	lengths, err := parseSizes(sizes)
	if err != nil {
		return err
	}
	shapes, err := parseCallers(callers)
	if err != nil {
		return err
	}
	for _, size := range lengths {
		for _, l := range shapes {
			l.Size = size
			if !slices.Contains(s.plan.Loads, l) {
				s.plan.Loads = append(s.plan.Loads, l)
			}
		}
	}
	switch {
	case s.plan.Rounds < 1:
		return fmt.Errorf("%d rounds measure nothing", s.plan.Rounds)
	case s.plan.Window < 10*time.Millisecond || s.plan.Window > time.Minute:
		return fmt.Errorf("a window of %v: it must be between 10ms and 1m", s.plan.Window)
	case s.idleConns < 1:
		return fmt.Errorf("%d idle connections weigh nothing", s.idleConns)
	}
	return nil
}

// command does what the arguments say and returns the exit status.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "peers:", err)
		return exitUsage
	case s.list:
		list(stdout)
		return 0
	case s.experiment != "":
		return experimentCommand(ctx, s, stdout, stderr)
	}
	res, err := run(ctx, s.plan, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "peers:", err)
		return exitFailed
	}
	if s.json {
		err = writeJSON(stdout, struct {
			*result
			Goals []finding `json:"goals"`
		}{res, finite(judge(res.tables()))})
	} else {
		writeText(stdout, res)
	}
	if err != nil {
		fmt.Fprintln(stderr, "peers:", err)
		return exitFailed
	}
	if slices.ContainsFunc(res.Cells, func(c *cell) bool { return c.Error != "" }) {
		return exitFailed
	}
	return 0
}

// finite leaves out what JSON has no number for.
func finite(found []finding) []finding {
	return slices.DeleteFunc(found, func(f finding) bool { return math.IsNaN(f.Figure) || math.IsInf(f.Figure, 0) })
}

func list(w io.Writer) {
	for _, p := range peer.All() {
		shares := ""
		if !p.Shared {
			shares = "a connection for each caller"
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-16s%-11s%-29s%-10s%s", p.Name, p.Kind, p.Form, p.Version(), shares), " "))
	}
}
