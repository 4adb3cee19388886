package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"google.golang.org/grpc"

	"github.com/everywire/everywire/lab/jtl"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/netcount"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/proc"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/run"
	"github.com/everywire/everywire/lab/target"
	"github.com/everywire/everywire/lab/timeline"
)

// loading is a load that is about to be made.
type loading struct {
	plan     *plan.Plan
	work     *target.Work
	conns    *connections
	drain    time.Duration
	outs     *outputs
	url      string
	progress loadProgressMode
}

// single is a workload of one operation, which need not be told from others.
type single struct{ *target.Work }

func (w single) Caller(seed uint64, i int) load.Caller {
	return struct{ load.Caller }{w.Work.Caller(seed, i)}
}

// run warms up and measures.
func (l *loading) run(a *app) (*record.Trial, error) {
	p := l.plan
	config := load.Config{
		Each: l.conns.each, Workload: l.work, Shape: p.Shape, Callers: p.Callers[0], For: p.Measure,
		// An interrupted load has a result, so calls are not cancelled with the command.
		Drain: l.drain, Seed: p.Seed, Stop: a.ctx.Done(),
	}
	if len(l.work.Operations()) == 1 {
		config.Workload = single{l.work}
	}
	ctx := context.WithoutCancel(a.ctx)
	if p.Warmup > 0 {
		warm := config
		warm.Shape, warm.For, warm.Seed = warmupShape(p), p.Warmup, p.Seed+1
		if _, err := load.Run(ctx, warm); err != nil {
			return nil, err
		}
	}
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	return l.measure(ctx, a, config)
}

// slowedBy is from when on a load was slowed by writing its calls down.
const slowedBy = 10 * time.Millisecond

func (l *loading) measure(ctx context.Context, a *app, config load.Config) (*record.Trial, error) {
	show := showsLoadProgress(a.stderr, l.progress)
	points := timeline.New(timeline.Config{Callers: config.Callers, Open: config.Shape.Open(), Live: show})
	config.Sample = points.Sample
	t := &record.Trial{Arm: l.plan.Arms[0].Name, Callers: config.Callers, Started: time.Now()}
	var lines *jtl.Writer
	if w := l.outs.calls; w != nil {
		lines = jtl.New(w, jtl.Config{Start: t.Started, Label: l.work.Operations()[0], URL: l.url, Callers: config.Callers})
		config.Sample = func(s load.Sample) {
			points.Sample(s)
			lines.Sample(s)
		}
	}
	if show {
		each := config.Each
		config.Each = func(caller int) (conn grpc.ClientConnInterface, meter load.Meter, err error) {
			if conn, meter, err = each(caller); err == nil {
				conn = points.Conn(caller, conn)
			}
			return conn, meter, err
		}
		total := config.For
		if config.Shape.Calls > 0 && total == maxLoadTime {
			total = 0
		}
		defer startLoadProgress(a.stderr, l.progress, total, points.Live).stop()
	}
	crossed := l.conns.sockets()
	stolen := run.Stolen()
	cpuBefore, err := proc.CPUTime()
	if err != nil {
		return nil, err
	}
	result, err := load.Run(ctx, config)
	took := time.Since(t.Started)
	if lines != nil {
		if err := errors.Join(err, lines.Close()); err != nil {
			return nil, err
		}
		if waited := lines.Waited(); waited > slowedBy {
			t.Warnings = append(t.Warnings, fmt.Sprintf("Callers waited %v together for the JTL file to be written: the load was slower for that.", waited.Round(time.Millisecond)))
		}
	}
	if err != nil {
		return nil, err
	}
	cpu, err := proc.CPUTime()
	if err != nil {
		return nil, err
	}
	t.ClientCPU, t.Stolen = (cpu - cpuBefore).Seconds(), (run.Stolen() - stolen).Seconds()
	result.Into(t)
	t.Timeline = points.Timeline(t.Seconds)
	if crossed != nil {
		net := netcount.Between(*crossed, *l.conns.sockets())
		t.Net = &net
	}
	t.Void = result.Void(cpu-cpuBefore, took, runtime.NumCPU())
	return t, nil
}
