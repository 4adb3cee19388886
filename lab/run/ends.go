package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/proc"
	"github.com/everywire/everywire/lab/record"
)

// ends are the processes of an arm in a block.
type ends struct {
	tiers     tiers
	generator *proc.Child
	plan      *plan.Plan
	// clientCores are those of the generator; none if it is not pinned.
	clientCores []int
	// others is the share of the machine's CPU time that other processes had during
	// the last trial.
	others float64
}

// start starts both ends. An error says why the arm's trials are void.
func (r *runner) start(ctx context.Context, block int, arm plan.Arm, network string) (_ *ends, err error) {
	e := &ends{plan: r.plan, clientCores: r.clientCores}
	defer func() {
		if err != nil {
			e.stop()
		}
	}()
	// The generator gets ready on its own core while the servers do.
	if e.generator, err = proc.Start(ctx, r.config.Exe, r.config.GeneratorArgs, r.clientCores); err != nil {
		return nil, fmt.Errorf("the generator did not start: %w", err)
	}
	starting, cancel := bounded(ctx, startTimeout)
	defer cancel()
	// In a block all arms meet the same fate on a link.
	l := linkArg{Link: network, Seed: r.seed(block, 0)}
	s, err := e.tiers.serve(ctx, starting, r, arm, l)
	if err != nil {
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	l.Join = s.Join
	err = e.generate(starting, opSetup, setupArg{Arm: arm, Plan: *r.plan, Link: l, To: s.To, Payload: r.config.Payload}, &none{})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// trial measures one load and fills t in. An error says why the trial is void
// and that the ends cannot be used again.
func (e *ends) trial(ctx context.Context, t *record.Trial, seed uint64) error {
	// Every call returns within twice the drain after its load has ended.
	limit := max(e.plan.Warmup, e.plan.Measure, maxStretchedOnLink) + 2*drain + startTimeout
	openCtx, cancel := bounded(ctx, limit)
	defer cancel()
	if err := e.generate(openCtx, opOpen, openArg{Callers: t.Callers, Seed: seed}, &none{}); err != nil {
		return err
	}
	measureCtx, cancel := bounded(ctx, limit)
	defer cancel()
	if _, _, err := e.tiers.seen(measureCtx); err != nil { // the warm-up's
		return fmt.Errorf("the server %w", err)
	}
	cpuBefore, err := e.tiers.usage(measureCtx)
	if err != nil {
		return fmt.Errorf("the server %w", err)
	}
	before, own := machineTime(), ownTime()
	t.Started = time.Now()
	var m measured
	if err := e.generate(measureCtx, opMeasure, openArg{Callers: t.Callers, Seed: seed + 1}, &m); err != nil {
		return err
	}
	cpu, err := e.tiers.usage(measureCtx)
	if err != nil {
		return fmt.Errorf("the server %w", err)
	}
	seen, calls, err := e.tiers.seen(measureCtx)
	if err != nil {
		return fmt.Errorf("the server %w", err)
	}
	t.Served, t.Backends = seen.Served, calls
	if m.Result == nil {
		return errors.New("the generator reported no result")
	}
	after := machineTime()
	t.Stolen = (after.stolen - before.stolen).Seconds()
	window := time.Since(t.Started)
	t.ServerCPU, t.ClientCPU = (cpu - cpuBefore).Seconds(), m.CPU.Seconds()
	ours := m.CPU + ownTime() - own
	if !e.tiers.far {
		ours += cpu - cpuBefore
	}
	t.Others = max(0, after.busy-before.busy-ours).Seconds()
	e.others = t.Others / (window.Seconds() * float64(runtime.NumCPU()))
	m.Result.Into(t)
	t.Net, t.Emulated = &m.Net, m.Emulated
	t.Void = voidBy(t, window)
	if t.Void == "" {
		t.Void = m.Result.Void(m.CPU, window, max(1, len(e.clientCores)))
	}
	return nil
}

func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("gave no answer within %v", limit))
}

// stolenReason voids a trial that a hypervisor disturbed; Trial.Stolen says how
// much. The text is one for all, so that reports can count it.
var stolenReason = fmt.Sprintf("more than %g %% of the machine's CPU time was stolen", 100*MaxStolen)

// othersReason is why a trial is made again beside which something else was done on
// the machine; Trial.Others says how much.
var othersReason = fmt.Sprintf("more than %g %% of the machine's CPU time went to other processes", 100*record.MaxOthers)

// ownTime is the CPU time of this process, which is neither end; 0 if it cannot tell.
func ownTime() time.Duration {
	spent, _ := proc.CPUTime() // as if it had none
	return spent
}

// voidBy applies the rules that void a trial that was made. window is the time
// that t.Stolen is of.
func voidBy(t *record.Trial, window time.Duration) string {
	share := t.Stolen / (window.Seconds() * float64(runtime.NumCPU()))
	switch {
	case share > MaxStolen:
		return stolenReason
	case t.Calls == 0 && len(t.Errors) == 0:
		return fmt.Sprintf("no call ended within the measured %g s", t.Seconds)
	}
	return ""
}

// generate calls the generator while it watches the server: if that ends, the
// generator is not waited for.
func (e *ends) generate(ctx context.Context, op string, arg, result any) error {
	ctx, cancel := context.WithCancelCause(ctx)
	returned := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-e.tiers.servers[0].Done():
			cancel(errServerEnded)
		case <-returned:
		}
	})
	err := e.generator.Call(ctx, op, arg, result)
	close(returned)
	watch.Wait()
	cancel(nil)
	if err == nil {
		return nil
	}
	if errors.Is(err, errServerEnded) {
		_, err = e.tiers.servers[0].Usage(context.WithoutCancel(ctx)) // tells how it ended; it has
		return fmt.Errorf("the server %w", err)
	}
	return fmt.Errorf("the generator: %s: %w", op, err)
}

var errServerEnded = errors.New("the server ended")

// stop ends both processes and reaps them. It may be called on nil.
func (e *ends) stop() {
	if e == nil {
		return
	}
	// The clients go first, so that the server has nothing to drain.
	if e.generator != nil {
		e.generator.Stop()
	}
	e.tiers.stop()
}
