// Command everywire serves services on every wire, calls them, and measures
// what each wire costs. Run "everywire --help".
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/everywire/everywire/lab/reproduce"
	"github.com/everywire/everywire/link"
	"github.com/everywire/everywire/wire"
)

// The exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	// exitInterrupted is what shells give a command that SIGINT ended.
	exitInterrupted = 130
)

// cli is the whole command line.
type cli struct {
	Compare   compareCmd   `cmd:"" help:"Measure what each wire costs on this machine: the main job."`
	Reproduce reproduceCmd `cmd:"" help:"Measure published comparisons of REST with RPC again, beside their tables."`
	Serve     serveCmd     `cmd:"" help:"Serve built-in services on any number of targets."`
	Call      callCmd      `cmd:"" help:"Call a method on any target, JSON in and out."`
	Load      loadCmd      `cmd:"" help:"Load any endpoint, ours or not, in a closed or open loop."`
	Describe  describeCmd  `cmd:"" help:"Write what describes services, or what has changed of them: OpenAPI, OpenRPC, .proto files."`
	Failover  failoverCmd  `cmd:"" help:"Kill a replica under load, and tell what became of the calls."`
	Report    reportCmd    `cmd:"" help:"Make the report of a recorded run again."`
	Auth      authCmd      `cmd:"" help:"Accounts, keys and tokens of the authentication service."`
	Flow      flowCmd      `cmd:"" help:"Run flows that a file declares, or say what is wrong with the file."`
	Targets   targetsCmd   `cmd:"" help:"List wires, transports and the options of targets."`
	Version   versionCmd   `cmd:"" help:"Print the version and what it was built from."`

	LabReplica   labReplicaCmd   `cmd:"" hidden:"" help:"One of failover's replicas; it starts them."`
	LabServer    labServerCmd    `cmd:"" hidden:"" help:"The server of a trial; compare starts it."`
	LabGenerator labGeneratorCmd `cmd:"" hidden:"" help:"The load generator of a trial; compare starts it."`
}

// app is what commands get beside their flags.
type app struct {
	ctx            context.Context //nolint:containedctx // the command's own context: it lives as long as the process
	stdin          io.Reader
	stdout, stderr io.Writer
}

// A usageError is a mistake in the command's words: exit status 2.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errInterrupted ends a command that SIGINT stopped after it had said so.
var errInterrupted = errors.New("interrupted")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks the command to end in good order. From then on
	// signals do what they do by default, so that a second one ends a command
	// that takes too long; children of compare end with their input.
	context.AfterFunc(ctx, stop)
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute is the command without its process. It returns the exit status.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c cli
	a := &app{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr}
	exited := false
	parser, err := kong.New(&c,
		kong.Name("everywire"),
		kong.Description("One Go service on every wire, and a lab that measures which wire to use."),
		kong.UsageOnError(),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { exited = true }), // --help
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Bind(a),
		kong.Vars{"forms": formNames(), "classic": strings.Join(classicArms, ", "), "links": strings.Join(link.Presets(), ", "), "articles": strings.Join(reproduce.Names(), ", ")},
	)
	if err != nil {
		fmt.Fprintln(stderr, "everywire:", err)
		return exitFailure
	}
	switch { // what people try first
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		args = []string{"version"}
	}
	parsed, err := parser.Parse(args)
	if exited {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "everywire: %s (%s tells more)\n", oneLine(err), helpFor(err))
		return exitUsage
	}
	err = parsed.Run(a)
	var usage usageError
	var target *wire.TargetError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errThreshold):
		return exitThreshold
	case errors.As(err, &usage), errors.As(err, &target):
		fmt.Fprintln(stderr, "everywire:", oneLine(err))
		return exitUsage
	default:
		fmt.Fprintln(stderr, "everywire:", oneLine(err))
		return exitFailure
	}
}

// helpFor is the command line whose help tells more about a mistake.
func helpFor(err error) string {
	name := "everywire"
	var mistake *kong.ParseError
	if errors.As(err, &mistake) && mistake.Context != nil {
		if command := mistake.Context.Selected(); command != nil {
			name += " " + command.Name
		}
	}
	return name + " --help"
}

// oneLine keeps errors to one line each, and the terminal as it is: a message
// may be a server's.
func oneLine(err error) string {
	line := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line)
	// Where a text goes on for ever, such as the path to a value a thousand
	// levels down, what counts is the beginning and the end.
	const head, tail = 600, 200
	if r := []rune(line); len(r) > head+tail {
		line = string(r[:head]) + " … " + string(r[len(r)-tail:])
	}
	return line
}
