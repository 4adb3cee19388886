package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everywire/everywire/lab/loadreport"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/run"
	"github.com/everywire/everywire/lab/target"
	"github.com/everywire/everywire/lab/threshold"
)

type loadCmd struct {
	Target string `arg:"" help:"What to load: a URL such as http://localhost:8080/path, or a target such as grpc://localhost:9090."`
	Method string `arg:"" optional:"" help:"The method's full name, such as arith.Arith/Sum; of a URL a method of HTTP (default GET, with a body POST)."`

	loadRequest `embed:"" group:"Requests"`
	loadShape   `embed:"" group:"When calls are made"`
	loadConns   `embed:"" group:"Connections"`
	loadOutput  `embed:"" group:"Results"`
	typeFlags   `embed:"" group:"Types of methods"`
}

// Help is the long help with examples.
func (*loadCmd) Help() string {
	return `Calls anything under a load, and reports what came of it: rates, times of service and from the intended
start, errors by kind. In a closed loop (--callers) each caller calls again when it was answered; in an open
loop (--rate) calls begin at a rate, whoever waits.

Examples:

  everywire load http://localhost:8080/                       GET, 10 callers, 10 s
  everywire load http://localhost:8080/users PUT --body @user.json -H 'X-Key: {{env "KEY"}}'
  everywire load 'http://localhost:8080/users/{{id}}' --data users.csv --expect 200,404
  everywire load grpc://localhost:50051 helloworld.Greeter/SayHello -b '{"name":"{{string 8}}"}'
  everywire load jsonrpc+http://localhost:3000/ sum -b '[{{int 1 99}},{{int 1 99}}]' -c 50
  everywire load rest://localhost:8080 arith.Arith/Sum -b '{"numbers":[2,3]}' --expect-json sum=5
  everywire load grpc://localhost:9090 --mix shop.yaml --callers 50 --calls 2000 --ramp 5s
  everywire load http://localhost:8080/ --rate 500 --duration 1m --poisson
  everywire load http://localhost:8080/ --rate 100..1000/30s,1000/1m --fail 'intended.p99>20ms'
  everywire load http://localhost:8080/ --out results/        results/run.jsonl and report.html
  everywire load http://localhost:8080/ --out run.jsonl --out calls.jtl --out load.prom
  everywire load http://localhost:8080/ --json | jq .total.right_per_second

Bodies, headers, paths and queries are templates: {{name}} is a column of --data or a variable of --mix,
{{int 1 99}}, {{uuid}}, {{seq}}, {{string 8}}, {{pick a b}}, {{now}}, {{env "NAME"}} and others are made for each call.
A reply is right if its status is expected (2xx, or OK) and it has the values of --expect-json.

--fail takes p50 to p99.999, avg, min, max, stddev, rate, calls, errors, censored, and of open loops late, dropped,
unsent and times with "intended." before them; of one operation of a mix with its name: 'p99(login)>50ms'.

Exit status: 0 when the load was made, 1 on failure, if no reply was right, or if the generator was too slow for
the rate, 2 for a mistake in the command, 99 if a threshold failed, 130 when interrupted (what was measured so far
is reported).`
}

// exitThreshold is for loads beyond a threshold, as k6 has it.
const exitThreshold = 99

// errThreshold ends a load beyond a threshold, after the report has said so.
var errThreshold = errors.New("a threshold failed")

// dialPatience is how long may pass until it is known that a target is there, and what
// its methods are.
const dialPatience = 10 * time.Second

// Run makes the load and reports.
func (c *loadCmd) Run(a *app) (err error) {
	p, err := c.plan()
	if err != nil {
		return err
	}
	limits, err := c.limits()
	if err != nil {
		return err
	}
	to, err := c.resolve()
	if err != nil {
		return err
	}
	work, err := c.work(a, to, p)
	if err != nil {
		return err
	}
	if err := checkLimits(limits, p, work); err != nil {
		return err
	}
	outs, err := c.outputs(a)
	if err != nil {
		return err
	}
	defer outs.discard()
	made, err := c.make(a, to, work, p, outs)
	switch {
	case err != nil && a.ctx.Err() != nil:
		fmt.Fprintln(a.stderr, "interrupted before anything was measured")
		return errInterrupted
	case err != nil:
		return err
	}
	if err := outs.report(a, made); err != nil {
		return err
	}
	return verdict(a, outs, made)
}

// limits are the thresholds.
func (c *loadCmd) limits() ([]threshold.Threshold, error) {
	var all []threshold.Threshold
	for _, text := range c.Fail {
		t, err := threshold.Parse(text)
		if err != nil {
			return nil, usagef("--fail: %w", err)
		}
		all = append(all, t)
	}
	return all, nil
}

func checkLimits(all []threshold.Threshold, p *plan.Plan, work *target.Work) error {
	names := work.Operations()
	if len(names) == 1 {
		names = nil
	}
	for _, t := range all {
		if err := t.Check(p.Shape.Open(), names); err != nil {
			return usagef("--fail: %w", err)
		}
	}
	return nil
}

// verdict is how the command ends after its report.
func verdict(a *app, outs *outputs, r *loadreport.Report) error {
	if !outs.printsText() {
		for _, o := range r.Thresholds {
			if o.Failed {
				fmt.Fprintln(a.stderr, "everywire: failed:", oneLine(errors.New(o.Text)))
			}
		}
	}
	switch {
	case a.ctx.Err() != nil:
		return errInterrupted
	case r.Failed():
		return errThreshold
	case r.Trial.Void != "":
		return fmt.Errorf("the result is void: %s", r.Trial.Void)
	case r.Trial.Calls == 0 && r.Trial.OpenShare == 0 && r.Trial.FirstError != "":
		return fmt.Errorf("no reply was right; the first error: %s", r.Trial.FirstError)
	case r.Trial.Calls == 0 && r.Trial.OpenShare == 0:
		return errors.New("no call was answered")
	}
	return nil
}

// header begins the record.
func (c *loadCmd) header(to *endpoint, p *plan.Plan, connections string) record.Header {
	h := record.Header{
		Started: time.Now(), Build: run.Build(), Machine: run.Machine(), Plan: *p,
		Load: &record.Load{Target: c.Target, Method: c.Method, Connections: connections, Thresholds: c.Fail},
	}
	if c.Mix != "" {
		h.Load.Mix = display(c.Mix)
	}
	h.Machine.ServerCores, h.Machine.ClientCores = "", "" // nothing is pinned
	if to.http != nil && c.Mix == "" {
		h.Load.Method = c.verb()
	}
	return h
}

// make makes the load, writes its record, and makes the report of that.
func (c *loadCmd) make(a *app, to *endpoint, work *target.Work, p *plan.Plan, outs *outputs) (*loadreport.Report, error) {
	if err := to.reach(a.ctx); err != nil {
		return nil, err
	}
	conns, err := c.connect(to, p)
	if err != nil {
		return nil, err
	}
	defer conns.close()
	if err := outs.begin(c.header(to, p, conns.words)); err != nil {
		return nil, err
	}
	l := &loading{plan: p, work: work, conns: conns, drain: c.drain(), outs: outs, url: c.Target}
	if c.Quiet {
		l.progress = progressNone
	} else {
		l.progress = loadProgressMode(c.Progress)
	}
	t, err := l.run(a)
	if err != nil {
		return nil, err
	}
	end := record.End{Ended: time.Now()}
	if a.ctx.Err() != nil {
		end.Partial = "interrupted"
	}
	return outs.end(t, end)
}

// drain is how long calls that are open at the end are waited for.
func (c *loadCmd) drain() time.Duration {
	const usual, least, most = 5 * time.Second, time.Second, 30 * time.Second
	if c.Timeout == 0 {
		return usual
	}
	return min(max(c.Timeout, least), most)
}

// bounded is a context for what comes before the load.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, dialPatience, fmt.Errorf("there was no answer within %v", dialPatience))
}
