package load

import (
	"context"
	"sync"
	"time"

	"github.com/everywire/everywire/internal/sleeper"
	"github.com/everywire/everywire/lab/record"
)

// A pacer releases the calls of an open loop when their time has come. Callers
// take released calls in their order; a call that finds no caller free waits, and
// its waiting is in its intended time, for a user would have waited as well.
//
// One goroutine paces. It sleeps on a timer of the system that is exact to some
// microseconds and costs no processor meanwhile; calls that are due at the same
// moment, or became due while it was late, are released together. What waits is
// not stored: it is what lies between two places in the same schedule, so that a
// server that hangs for an hour costs no memory.
//
// Why, and what was measured, is in docs/rfc/0022-open-loop.md.
type pacer struct {
	gate     *gate
	due      *schedule // its next call is the next to be released
	patience time.Duration
	sample   func(Sample)
	sleeper  func(now func() int64) pacerSleeper

	mu      sync.Mutex
	wake    *sync.Cond
	queue   *schedule // its next call is the next to be taken
	waiting int       // how many calls lie between the two
	free    int       // callers that wait for one
	// idle is since when there has been a free caller for whom no call waits; ready is
	// since when each of the first waiting calls could have begun, for there was one.
	idle  time.Duration
	ready ring
	over  bool // no more calls begin

	scheduled, late, pacerLate, dropped, unsent int64
	lag                                         record.Hist
}

// pacerSleeper is what a pacer sleeps with.
type pacerSleeper interface {
	Until(t int64)
	Stop()
}

func newPacer(c *Config, g *gate) *pacer {
	p := &pacer{
		gate: g, due: newSchedule(c.Shape, c.Seed), queue: newSchedule(c.Shape, c.Seed), patience: c.Shape.Patience,
		sample: c.Sample, sleeper: c.sleeper, ready: ring{times: make([]time.Duration, c.Callers)},
	}
	p.wake = sync.NewCond(&p.mu)
	p.lag.Prepare()
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
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-p.gate.stopped:
			stop()
		case <-over:
		}
	}()
	due, ok := p.due.next()
	for ok && due < p.gate.window() && ctx.Err() == nil {
		s.Until(int64(due))
		now := p.gate.now()
		p.mu.Lock()
		for ok && due <= now && due < p.gate.window() {
			p.release(due)
			due, ok = p.due.next()
		}
		p.mu.Unlock()
	}
	s.Until(int64(p.gate.window()))
	p.end()
}

// release makes a call ready to be taken. The lock is held.
func (p *pacer) release(due time.Duration) {
	p.scheduled++
	p.waiting++
	if p.free > p.ready.n {
		p.ready.push(max(due, p.idle))
		p.wake.Signal()
	}
}

// loop is what each caller does in an open loop. It makes its request before it
// waits for a call, so that making it delays none.
func (p *pacer) loop(ctx context.Context, one *caller, g *gate) {
	<-g.opened
	for {
		path, in, out := one.work.Next()
		due, begin, ok := p.take(one)
		if !ok || !one.call(ctx, g, path, in, out, due, begin) {
			return
		}
	}
}

// take waits for a call. It returns when that was due, and the time; it reports
// false when no more calls begin.
func (p *pacer) take(one *caller) (due, now time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.waiting == 0 && !p.over {
			if p.free == p.ready.n {
				p.idle = one.free
			}
			p.free++
			for p.waiting == 0 && !p.over {
				p.wake.Wait()
			}
			p.free--
		}
		if p.over {
			return 0, 0, false
		}
		now = p.gate.now()
		if now >= p.gate.window() {
			// The pacer is about to end the run. What waits is unsent.
			return 0, 0, false
		}
		due = p.took(one, now)
		switch late := now - due; {
		case p.patience > 0 && late > p.patience:
			p.drop(one.index, due)
			continue
		case late > LateAfter:
			p.late++
		}
		return due, now, true
	}
}

// took takes the first call that waits and returns when it was due. The lock is
// held.
func (p *pacer) took(one *caller, now time.Duration) time.Duration {
	due, _ := p.queue.next()
	p.waiting--
	could := max(due, one.free)
	if p.ready.n > 0 {
		could = p.ready.pop()
	}
	p.lags(now - could)
	return due
}

// lags counts for how long a call did not begin although it could have. The lock
// is held.
func (p *pacer) lags(d time.Duration) {
	p.lag.Record(int64(d))
	if d > LateAfter {
		p.pacerLate++
	}
}

// drop gives a call up. The lock is held, but not while others are told.
func (p *pacer) drop(caller int, due time.Duration) {
	p.dropped++
	if p.sample == nil {
		return
	}
	p.mu.Unlock()
	defer p.mu.Lock()
	given := due + p.patience
	p.sample(Sample{Caller: caller, Scheduled: due, Begin: given, End: given, Out: -1, In: -1, Dropped: true})
}

// end ends the run: what waits is dropped, if it has waited for long enough, or
// unsent.
func (p *pacer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.wake.Broadcast()
	for ; p.waiting > 0; p.waiting-- {
		due, _ := p.queue.next()
		if p.ready.n > 0 {
			p.lags(p.gate.window() - p.ready.pop())
		}
		if p.patience > 0 && p.gate.window()-due > p.patience {
			p.drop(-1, due)
		} else {
			p.unsent++
		}
	}
}

// count adds what the pacer knows to the result.
func (p *pacer) count(r *Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Scheduled, r.Late, r.Dropped, r.Unsent = p.scheduled, p.late, p.dropped, p.unsent
	r.Lag, r.PacerLate = p.lag, p.pacerLate
}

// A ring is a queue of as many times as there are callers, at most.
type ring struct {
	times   []time.Duration
	head, n int
}

func (r *ring) push(t time.Duration) {
	r.times[(r.head+r.n)%len(r.times)] = t
	r.n++
}

func (r *ring) pop() time.Duration {
	t := r.times[r.head]
	r.head = (r.head + 1) % len(r.times)
	r.n--
	return t
}
