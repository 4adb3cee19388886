package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/report"
	"github.com/everywire/everywire/lab/run"
	"github.com/everywire/everywire/lab/work"
)

type compareCmd struct {
	Service    string        `arg:"" optional:"" enum:"arith,kv" default:"arith" help:"What is called: arith (small sums) or kv (a key-value store under the load of a published comparison of encoders)."`
	Wires      []string      `placeholder:"LIST" help:"What to measure: targets without an address, and references (default ${classic})."`
	Baseline   string        `placeholder:"ARM" help:"The arm that ratios are against (default rest, with kv grpc, else the first)."`
	Link       []string      `sep:"none" placeholder:"SPEC" help:"The network between the two ends: loopback (the default), an emulated one such as rtt=4.364ms,rate=1gbit,loss=0.1%,jitter=0.2ms, or a named one: ${links}. Give it again for several."`
	Callers    []int         `placeholder:"LIST" help:"How many callers call at once, one load each (default 1,32; 1,4 for a payload over 128 KiB)."`
	Blocks     *int          `placeholder:"N" help:"How often everything is measured (default 10; 3 with --quick). Below 9 nothing is called different with the default arms."`
	Payload    []string      `type:"existingfile" sep:"none" placeholder:"FILE" help:"Send this JSON document there and back instead of small sums, as values of a type inferred from it. Give it again for several documents of one type."`
	Documents  bool          `help:"Send the payload as a document of any shape, not as typed values."`
	ReadDelay  time.Duration `placeholder:"10ms" help:"kv: how long a read takes (default none; the published comparison had 10ms)."`
	WriteDelay time.Duration `placeholder:"50ms" help:"kv: how long a write takes (default none; the published comparison had 50ms)."`
	Server     string        `placeholder:"HOST:PORT" help:"Another machine that runs everywire serve --lab: the servers are there, the callers here."`
	Token      string        `env:"EVERYWIRE_LAB_TOKEN" placeholder:"TOKEN" help:"What serve --lab printed there (or in $$EVERYWIRE_LAB_TOKEN)."`
	MaxMessage byteSize      `default:"4MiB" help:"The largest message (default ${default})."`
	Quick      bool          `help:"About 20 seconds: figures, and no claim."`
	Out        string        `default:"everywire-report" type:"path" placeholder:"DIR" help:"Where the record and the report go (default ${default})."`
	JSON       bool          `help:"Print the summary as JSON instead of the table."`
	Measure    time.Duration `placeholder:"370ms" help:"How long each load of a trial is measured."`
	Seed       uint64        `placeholder:"N" help:"Makes the order of arms and the numbers that are summed (default: from the clock)."`
}

// Help is the long help with examples.
func (*compareCmd) Help() string {
	return `Measures one service on several wires on this machine: a fresh server and generator process for every
trial, in random order, block by block; every reply is checked. It takes about two minutes, prints a
table and a verdict, and writes an HTML report and the raw record.

Examples:

  everywire compare
  everywire compare --quick
  everywire compare --payload order.json
  everywire compare kv --callers 100 --read-delay 10ms --write-delay 50ms
  everywire compare --wires rest,grpc,jsonrpc+tcp --callers 1,8,64 --blocks 20
  everywire compare --wires rest,rest                 an arm against itself
  everywire compare --link loopback --link rtt=4.364ms,rate=1gbit,loss=0.1%
  everywire compare --link london --wires rest,rest?reconnect,jsonrpc+tcp,msgpackrpc+tcp
  everywire compare --server 192.0.2.7:7700 --token …   the servers elsewhere: serve --lab
  everywire compare --json | jq '.loads[].arms[] | [.name, .calls_per_second]'

An emulated link is a network in user space with a TCP of its own: no privilege is needed, and the round
trips, the handshake and the recovery from loss are real. The table shows the median call in round trips, and
what the link achieved. CPU figures come from loopback only.

References are implementations that are not ours, beside the wire they speak: net/http, net/http+json
(the same with our JSON codec), grpc-go, grpc-go+protobuf (with our protobuf codec and plain structs), jrpc2,
and ping, a bare socket. "everywire targets" lists the wires.

Exit status: 0 when the run is whole, 1 on failure or if no call got a correct reply, 2 for a mistake in the command, 130 when interrupted
(what was measured so far is reported).`
}

// How long each load of a trial is measured, so that the whole takes about two
// minutes, or 20 s.
const (
	warmup       = 50 * time.Millisecond
	measure      = 370 * time.Millisecond
	quickWarmup  = 30 * time.Millisecond
	quickMeasure = 170 * time.Millisecond
	// A call with a large document may take a tenth of a second and more; the
	// lab makes the time longer where even this is too short.
	largePayload        = 128 << 10
	largePayloadMeasure = 800 * time.Millisecond

	// Far more than a machine can do or a report can show: what is above is a
	// slip of the finger that would take all memory, or for ever.
	maxCallers = 65536
	maxBlocks  = 10000

	fullBlocks  = 10
	quickBlocks = 3
)

// Run measures and reports.
func (c *compareCmd) Run(a *app) error {
	p, payload, err := c.plan()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	recordFile := filepath.Join(c.Out, "run.jsonl")
	// A run that is killed must not leave the last one's page beside its record.
	if err := os.Remove(filepath.Join(c.Out, "report.html")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	interrupted, err := c.measure(a, p, payload, recordFile)
	if err != nil {
		return err
	}
	recorded, err := c.report(a, recordFile)
	switch {
	case err != nil:
		return err
	case interrupted:
		return errInterrupted
	case !slices.ContainsFunc(recorded.Trials, func(t record.Trial) bool { return t.Calls > 0 || t.OpenShare > 0 }):
		return errors.New("no call of any arm got a correct reply; the verdict says why")
	}
	return nil
}

// plan makes the plan of the flags, and the payload's JSON text.
func (c *compareCmd) plan() (*plan.Plan, []byte, error) {
	var sent *payloads
	if len(c.Payload) > 0 {
		var err error
		if sent, err = readPayloads(c.Payload, int(c.MaxMessage)); err != nil {
			return nil, nil, err
		}
		if c.Service != "arith" {
			return nil, nil, usagef("--payload is what is sent in place of sums: %s has requests of its own", c.Service)
		}
		if !c.Documents {
			if err := sent.inferType(); err != nil {
				return nil, nil, err
			}
		}
	}
	switch {
	case c.Documents && sent == nil:
		return nil, nil, usagef("--documents says how a payload travels: give one by --payload")
	case c.Service != "kv" && (c.ReadDelay != 0 || c.WriteDelay != 0):
		return nil, nil, usagef("--read-delay and --write-delay are kv's: everywire compare kv")
	}
	if len(c.Wires) == 0 {
		c.Wires = defaultArms(c.Service, sent != nil && sent.plan.Typed)
	}
	usual := "rest"
	if c.Service == "kv" {
		usual = "grpc"
	}
	arms, baseline, err := armsOf(c.Wires, c.Baseline, usual)
	if err != nil {
		return nil, nil, err
	}
	links, err := linksOf(c.Link)
	if err != nil {
		return nil, nil, err
	}
	p := &plan.Plan{
		Service: c.Service, ReadDelay: c.ReadDelay, WriteDelay: c.WriteDelay, Arms: arms, Baseline: baseline, Callers: c.Callers, Links: links, Blocks: fullBlocks,
		Warmup: warmup, Measure: measure, Seed: c.Seed, MaxMessage: int(c.MaxMessage),
	}
	if c.Quick {
		p.Warmup, p.Measure, p.Blocks = quickWarmup, quickMeasure, quickBlocks
	}
	if c.Blocks != nil {
		p.Blocks = *c.Blocks
	}
	if c.Measure != 0 {
		p.Measure = c.Measure
	}
	if p.Seed == 0 {
		p.Seed = uint64(time.Now().UnixNano())
	}
	var payload []byte
	defaultCallers := []int{1, 32}
	if sent != nil {
		p.Service, p.Payload = "echo", sent.plan
		if payload, err = work.Payload(sent.texts); err != nil {
			return nil, nil, err
		}
		if len(payload) > largePayload {
			defaultCallers = []int{1, 4}
			if !c.Quick && c.Measure == 0 {
				p.Measure = largePayloadMeasure
			}
		}
	}
	w, err := work.Of(p, payload)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if err := exclude(w); err != nil {
		return nil, nil, err
	}
	if c.Service == "kv" {
		defaultCallers = []int{100}
	}
	if len(p.Callers) == 0 {
		p.Callers = defaultCallers
	}
	slices.Sort(p.Callers)
	p.Callers = slices.Compact(p.Callers)
	if err := p.Check(); err != nil {
		return nil, nil, usageError{err}
	}
	if most := slices.Max(p.Callers); most > maxCallers || p.Blocks > maxBlocks {
		return nil, nil, usagef("%d callers and %d blocks are too many: up to %d callers and %d blocks", most, p.Blocks, maxCallers, maxBlocks)
	}
	return p, payload, nil
}

// measure runs the plan and writes its record.
func (c *compareCmd) measure(a *app, p *plan.Plan, payload []byte, file string) (interrupted bool, err error) {
	far, err := c.far(a.ctx)
	if err != nil {
		return false, err
	}
	for _, x := range p.Excluded {
		fmt.Fprintf(a.stderr, "%s cannot carry %s and is left out: %s\n", x.Arm, carried(p), x.Reason)
	}
	if p.Payload != nil {
		for _, u := range p.Payload.Untyped {
			fmt.Fprintf(a.stderr, "no type was found for %s, which travels as a document: %s\n", u.Path, u.Reason)
		}
	}
	progress := newProgress(a.stderr)
	partial, err := measurePlan(a, p, payload, file, far, progress.show)
	progress.done()
	return partial != "", err
}

// report makes everything from the record, as "everywire report" would.
func (c *compareCmd) report(a *app, recordFile string) (*record.Run, error) {
	recorded, err := (&reportCmd{File: recordFile}).read(nil)
	if err != nil {
		return nil, err
	}
	htmlFile := filepath.Join(c.Out, "report.html")
	html, err := os.Create(htmlFile)
	if err != nil {
		return nil, fmt.Errorf("cannot write the report: %w", err)
	}
	if err := errors.Join(report.HTML(html, recorded), html.Close()); err != nil {
		return nil, err
	}
	if c.JSON {
		return recorded, report.JSON(a.stdout, recorded)
	}
	if err := report.Text(a.stdout, recorded, textOptions(a.stdout)); err != nil {
		return nil, err
	}
	fmt.Fprintf(a.stdout, "\nReport: %s\nRecord: %s\n", display(htmlFile), display(recordFile))
	return recorded, nil
}

// display shortens a path below the current folder.
func display(file string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return file
}

type versionCmd struct {
	JSON bool `help:"Print it as JSON."`
}

// Run prints what this program was built from.
func (c *versionCmd) Run(a *app) error {
	b := run.Build()
	if c.JSON {
		return writeJSON(a.stdout, b)
	}
	fmt.Fprintf(a.stdout, "everywire %s", b.Version)
	if b.Commit != "" {
		fmt.Fprintf(a.stdout, " (%.12s)", b.Commit)
	}
	fmt.Fprintf(a.stdout, ", %s\n", b.Go)
	return nil
}
