package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/everywire/everywire/lab/stats"
)

// An experiment answers one question about a wire of ours, with goals.
type experiment struct {
	name, about string
	run         func(ctx context.Context, b *bench) ([]finding, error)
	// grpc says that the question is about gRPC, and not about the stream wires.
	// It is asked by name only, for it takes minutes.
	grpc bool
}

var experiments = []experiment{
	{name: "sleepy", about: "one request in ten sleeps 10 ms on the same connection: what the others feel", run: sleepy},
	{name: "compute", about: "handlers that compute for 200 µs: whether one connection uses all cores", run: compute},
	{name: "trickle", about: "1 MB arrives byte by byte on another connection: what others feel, what it costs", run: trickle},
	{name: "allocs", about: "allocations a call, client and server together", run: allocs},
	{name: "idle", about: "resident memory of a server for each of 10,000 idle connections", run: idle},
	{name: "grpc-ratio", about: "plain structs on grpc over bare grpc-go with the same options; in 30 rounds", run: grpcRatio, grpc: true},
	{name: "grpc-options", about: "options of grpc-go beside those that the wire sets; in 30 rounds", run: grpcSettings, grpc: true},
}

func experimentNames() []string {
	var names []string
	for _, e := range experiments {
		names = append(names, e.name)
	}
	return names
}

// A bench is what an experiment works with.
type bench struct {
	wire      string // the peer's name
	rounds    int
	window    time.Duration
	cores     cores
	pin       bool
	idleConns int
	slowSize  int // of the request that trickles in
	progress  io.Writer
	table     io.Writer // of experiments that have one to show
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, b.wire+": "+format+"\n", args...)
}

// experimentReport is what is printed as JSON.
type experimentReport struct {
	Environment environment `json:"environment"`
	Findings    []finding   `json:"findings"`
}

func experimentCommand(ctx context.Context, s *settings, stdout, stderr io.Writer) int {
	var chosen []experiment
	for _, e := range experiments {
		if s.experiment == e.name || s.experiment == "all" && !e.grpc {
			chosen = append(chosen, e)
		}
	}
	var wires []string
	for _, name := range s.plan.Peers {
		// Goals are about the stream wires.
		if name == jsonrpcName || name == msgpackrpcName {
			wires = append(wires, name)
		}
	}
	if len(chosen) == 1 && chosen[0].grpc {
		wires = []string{grpcName}
	}
	if len(chosen) == 0 || len(wires) == 0 {
		if len(chosen) == 0 {
			fmt.Fprintf(stderr, "peers: there is no experiment %q: there are %q, and all\n", s.experiment, experimentNames())
		} else {
			fmt.Fprintf(stderr, "peers: experiments are for %s and %s: name one of them with -peers\n", jsonrpcName, msgpackrpcName)
		}
		return exitUsage
	}
	rep := experimentReport{describe(pick(s.plan.Pin), nil), []finding{}}
	failed := false
	table := stdout
	if s.json {
		table = io.Discard
	}
	for _, e := range chosen {
		for _, name := range wires {
			b := &bench{name, s.plan.Rounds, s.plan.Window, pick(s.plan.Pin), s.plan.Pin, s.idleConns, 1 << 20, stderr, table}
			b.say("%s", e.name)
			found, err := e.run(ctx, b)
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			for i := range found {
				found[i].What = fmt.Sprintf("%s, %s: %s", e.name, name, found[i].What)
			}
			rep.Findings = append(rep.Findings, found...)
			if err != nil {
				fmt.Fprintf(stderr, "peers: %s on %s: %v\n", e.name, name, err)
				failed = true
			}
			if ctx.Err() != nil {
				return exitFailed
			}
		}
	}
	if s.json {
		if err := writeJSON(stdout, rep); err != nil {
			fmt.Fprintln(stderr, "peers:", err)
			return exitFailed
		}
	} else {
		writeEnvironment(stdout, &rep.Environment)
		writeFindings(stdout, rep.Findings)
	}
	if failed {
		return exitFailed
	}
	return 0
}

// start starts a server of the experiments' method, with the given operation,
// and a client of it.
func (b *bench) start(ctx context.Context, serveOp string, on cores) (*pair, error) {
	p, err := startPair(ctx, on, serveOp, b.wire)
	if err != nil {
		return nil, err
	}
	var none struct{}
	if err := ask(ctx, p.client, 0, "dial-trial", dialArg{b.wire, p.addr}, &none); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// fast asks for the p50 of short calls.
func (b *bench) fast(ctx context.Context, p *pair, callers int, sleepers bool) (float64, error) {
	var l latencies
	err := ask(ctx, p.client, b.window, "fast", fastArg{callers, b.window, sleepers}, &l)
	return float64(l.P50), err
}

// allocs counts in the ordinary echo.
func allocs(ctx context.Context, b *bench) ([]finding, error) {
	res, err := run(ctx, plan{
		Peers: []string{b.wire}, Loads: []load{{1, 1, 64}, {64, 1, 64}},
		Rounds: b.rounds, Window: b.window, Pin: b.pin,
	}, b.progress)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, t := range res.tables() {
		for _, c := range t.cells {
			if c.Error != "" {
				return nil, fmt.Errorf("%v: %s", t.Load, c.Error)
			}
		}
		found = append(found, atMost("a call of "+t.Load.String(), t.Rows[0].Mallocs, 12, " allocations"))
	}
	return found, nil
}

// idle weighs connections that nobody uses. The figure is what the server's
// process holds as it stands; what is left after a collection is told beside
// it.
func idle(ctx context.Context, b *bench) ([]finding, error) {
	p, err := b.start(ctx, "serve-trial", b.cores)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	// Warm, so that what the process needs anyhow is there before.
	if _, err := b.fast(ctx, p, 8, false); err != nil {
		return nil, err
	}
	var before, after, collected int64
	if err := ask(ctx, p.server, 0, "collect", true, &before); err != nil {
		return nil, err
	}
	var none struct{}
	b.say("opening %d connections", b.idleConns)
	if err := ask(ctx, p.client, 2*time.Minute, "idle", idleArg{dialArg{b.wire, p.addr}, b.idleConns}, &none); err != nil {
		return nil, err
	}
	if err := ask(ctx, p.server, 0, "collect", false, &after); err != nil {
		return nil, err
	}
	if err := ask(ctx, p.server, 0, "collect", true, &collected); err != nil {
		return nil, err
	}
	each := func(bytes int64) float64 { return float64(bytes-before) / float64(b.idleConns) / (1 << 10) }
	f := atMost(fmt.Sprintf("resident for each of %s connections", thousands(float64(b.idleConns))), each(after), 12, " KiB")
	f.Note = fmt.Sprintf("%s KiB after a collection", short3(each(collected)))
	return []finding{f}, nil
}

// medianRatio is the median of a[i]/b[i].
func medianRatio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return stats.Median(ratios)
}
