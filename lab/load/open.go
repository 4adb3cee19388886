package load

import (
	"context"
	"sync"
	"time"

	"github.com/everywire/everywire/internal/sleeper"
)

// A pacer releases the calls of an open loop when their time has come. Callers
// take released calls in their order; a call that finds no caller free waits, and
// its waiting is in its intended time, for a user would have waited as well.
//
// One goroutine paces, so that there is one place whose lateness is known: how
// late it released a call although a caller was free says how good the load was.
// It sleeps on a timer of the system that is exact to some microseconds, which
// costs no processor while it sleeps; calls that are due at the same moment, or
// while it was late, are released together.
type pacer struct {
	schedule *schedule
	gate     *gate
	patience time.Duration
	sample   func(Sample)
	sleeper  func(now func() int64) pacerSleeper

	mu       sync.Mutex
	released []time.Duration // due and not begun yet, in order
	free     int             // callers that wait for one
	wake     *sync.Cond
	over     bool // no more calls begin

	scheduled, late, pacerLate, dropped, unsent int64
}

// pacerSleeper is what a pacer sleeps with.
type pacerSleeper interface {
	Until(t int64)
	Stop()
}

func newPacer(c *Config, g *gate) *pacer {
	p := &pacer{schedule: newSchedule(c.Shape, c.Seed), gate: g, patience: c.Shape.Patience, sample: c.Sample, sleeper: c.sleeper}
	p.wake = sync.NewCond(&p.mu)
	if p.sleeper == nil {
		p.sleeper = func(now func() int64) pacerSleeper { return sleeper.New(now) }
	}
	return p
}

// run releases calls until the measured time or ctx ends.
func (p *pacer) run(ctx context.Context) {
	<-p.gate.opened
	s := p.sleeper(func() int64 { return int64(p.gate.now()) })
	stop := sync.OnceFunc(s.Stop)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	due, ok := p.schedule.due()
	for ok && due < p.gate.window && ctx.Err() == nil {
		s.Until(int64(due))
		now := p.gate.now()
		p.mu.Lock()
		for ok && due <= now && due < p.gate.window {
			p.release(due, now)
			due, ok = p.schedule.due()
		}
		p.mu.Unlock()
	}
	s.Until(int64(p.gate.window))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.unsent += int64(len(p.released))
	p.released = nil
	p.wake.Broadcast()
}

// release makes a call ready to be taken. The lock is held.
func (p *pacer) release(due, now time.Duration) {
	p.scheduled++
	if now-due > LateAfter && p.free > len(p.released) {
		p.pacerLate++
	}
	p.released = append(p.released, due)
	p.wake.Signal()
}

// loop is what each caller does in an open loop.
func (p *pacer) loop(ctx context.Context, one *caller, g *gate) {
	for {
		due, ok := p.take(one.index)
		if !ok || !one.call(ctx, g, due) {
			return
		}
	}
}

// take waits for a released call. It reports false when there are no more.
func (p *pacer) take(caller int) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		p.free++
		for len(p.released) == 0 && !p.over {
			p.wake.Wait()
		}
		p.free--
		if len(p.released) == 0 {
			return 0, false
		}
		due := p.released[0]
		p.released = p.released[1:]
		now := p.gate.now()
		switch waited := now - due; {
		case now >= p.gate.window: // its time came, and the run ended first
			p.unsent++
			continue
		case p.patience > 0 && waited > p.patience:
			p.dropped++
			if p.sample != nil {
				p.sample(Sample{Caller: caller, Scheduled: due, Begin: now, End: now, Out: -1, In: -1, Dropped: true})
			}
			continue
		case waited > LateAfter:
			p.late++
		}
		return due, true
	}
}

// count adds what the pacer knows to the result.
func (p *pacer) count(r *Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Scheduled, r.Late, r.PacerLate, r.Dropped, r.Unsent = p.scheduled, p.late, p.pacerLate, p.dropped, p.unsent
}
