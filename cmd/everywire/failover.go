package main

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"text/tabwriter"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/cluster"
	"github.com/everywire/everywire/lab/failover"
	"github.com/everywire/everywire/wire"
)

type failoverCmd struct {
	Wire     string        `arg:"" optional:"" default:"grpc" placeholder:"SHAPE" help:"The wire, as a target without its address: grpc, rest, jsonrpc+tcp (default grpc)."`
	Behind   string        `default:"nginx" enum:"nginx,round_robin" help:"What spreads calls over the replicas: nginx, or round_robin, the client's own (default nginx)."`
	Replicas int           `default:"3" placeholder:"N" help:"How many replicas there are (default 3)."`
	Callers  int           `default:"50" placeholder:"N" help:"How many callers call at once (default 50)."`
	For      time.Duration `default:"4s" placeholder:"4s" help:"How long they call; a replica is killed after half of it (default 4s)."`
	JSON     bool          `name:"json" help:"Print the report as JSON."`
}

// Help is the long help with examples.
func (*failoverCmd) Help() string {
	return `Starts replicas, calls them, kills one, and compares what callers were told with what the replicas had
written down. Half of the calls may run twice and are made again when they fail; the others may not,
and are reported.

Examples:

  everywire failover                                     gRPC behind NGINX
  everywire failover --behind round_robin                gRPC, the client spreads its calls
  everywire failover rest
  everywire failover jsonrpc+tcp                         pinned to one replica at a time
  everywire failover grpc --callers 200 --for 20s --json

Exit status: 0 if no call was lost, ran twice that must not, or was told of wrongly; else 1.`
}

// Run kills a replica under load.
func (c *failoverCmd) Run(a *app) error {
	shape, protocol, err := c.target()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if isTerminal(a.stderr) {
		fmt.Fprintf(a.stderr, "%d callers call for %v …\n", c.Callers, c.For)
	}
	report, err := failover.Run(a.ctx, failover.Config{
		Exe: exe, ReplicaArgs: []string{"lab-replica"}, Wires: failoverWires, Shape: shape.String(), Nginx: protocol,
		Replicas: c.Replicas, Callers: c.Callers, For: c.For, KillAfter: c.For / 2,
	})
	switch {
	case a.ctx.Err() != nil:
		fmt.Fprintln(a.stderr, "interrupted: there is no report of a part")
		return errInterrupted
	case errors.Is(err, cluster.ErrNoNginx), errors.Is(err, cluster.ErrNoStream):
		return fmt.Errorf("%w: install it (Debian: apt-get install nginx libnginx-mod-stream), or do without by --behind round_robin", err)
	case err != nil:
		return err
	}
	if err := c.print(a.stdout, report); err != nil {
		return err
	}
	return report.Err()
}

// target is the shape of the client's target, and what NGINX is to understand of
// it.
func (c *failoverCmd) target() (wire.Target, cluster.Protocol, error) {
	shape, err := wire.ParseShape(c.Wire)
	if err != nil {
		return shape, "", err
	}
	if shape.TLS || shape.Transport == "unix" || shape.Transport == "h3" || shape.Wire == "any" {
		return shape, "", usagef("failover is for one wire over TCP, without TLS: not for %s", c.Wire)
	}
	if c.Replicas < 2 || c.Replicas > 100 || c.Callers < 1 || c.Callers > 10_000 || c.For < 100*time.Millisecond {
		return shape, "", usagef("want --replicas 2 to 100, --callers 1 to 10000, and --for 100ms or more")
	}
	options := optionsOf(shape)
	shape.Options = options
	if shape.Wire == "msgpackrpc" && options["meta"] == "" {
		options["meta"] = "on" // calls are told apart by it
	}
	if c.Behind != "nginx" {
		return shape, "", nil
	}
	switch {
	case shape.Wire == "grpc":
		return shape, cluster.GRPC, nil
	case shape.Wire == "connect":
		if options["http"] == "" {
			options["http"] = "1.1" // what NGINX speaks to upstreams but those of gRPC
		}
		return shape, cluster.HTTP, nil
	case shape.Wire == "rest", shape.Transport == "http":
		return shape, cluster.HTTP, nil
	}
	return shape, cluster.Stream, nil
}

// optionsOf is a copy that can be added to.
func optionsOf(t wire.Target) map[string]string {
	options := map[string]string{}
	maps.Copy(options, t.Options)
	return options
}

func (c *failoverCmd) print(w io.Writer, r *failover.Report) error {
	if c.JSON {
		e := stdjson.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	fmt.Fprintf(w, "%d replicas of %s behind %s, %d callers for %v; the first replica was killed after %v\n\n",
		c.Replicas, c.Wire, c.Behind, c.Callers, c.For, c.For/2)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		value   any
		meaning string
	}{
		{r.Calls, "calls"},
		{r.Answered, "were answered"},
		{r.Retries, "attempts were made after one that failed"},
		{r.Again, "calls that may run twice did"},
		{r.Reported, "calls that must not run twice failed, and were reported"},
		{r.RanOnce, "of those had run, once"},
		{r.Lost, "calls were lost: they may run twice, and failed"},
		{r.Twice, "calls ran twice that must not"},
		{r.Untrue, "callers were told what is not so"},
	} {
		fmt.Fprintf(t, "%v\t%s\n", row.value, row.meaning)
	}
	for i, n := range r.Replicas {
		killed := ""
		if i == 0 {
			killed = ", which was killed"
		}
		fmt.Fprintf(t, "%d\tbegan at replica %d%s\n", n, i+1, killed)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.FirstError != "" {
		fmt.Fprintf(w, "\nThe first failure: %s\n", oneLine(errors.New(r.FirstError)))
	}
	return nil
}

// labReplicaCmd is one of failover's replicas.
type labReplicaCmd struct{}

// Run obeys the command until it closes standard input.
func (*labReplicaCmd) Run(a *app) error { return failover.Replica(a.stdin, a.stdout, failoverWires) }

// failoverWires makes the ends of a wire for failover.
var failoverWires = failover.Wires{
	Serve: func(ctx context.Context, reg *everywire.Registry, text string) (string, func(context.Context) error, error) {
		shape, err := wire.ParseShape(text)
		if err != nil {
			return "", nil, err
		}
		shape.Options = nil // they are the client's
		server, err := wire.Serve(ctx, reg, []string{shape.At("127.0.0.1:0").String()})
		if err != nil {
			return "", nil, err
		}
		return server.Targets()[0].Addrs[0], server.Shutdown, nil
	},
	Dial: func(text string, addrs []string, methods *everywire.Registry) (failover.Conn, error) {
		shape, err := wire.ParseShape(text)
		if err != nil {
			return nil, err
		}
		if len(addrs) > 1 {
			shape.Options = optionsOf(shape)
			shape.Options["lb"] = "round_robin"
		}
		return wire.Dial(shape.At(addrs...).String(), wire.WithMethods(methods), wire.WithCodecs(codecs()...))
	},
}
