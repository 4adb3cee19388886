package load

import (
	"context"
	"math/rand/v2"
	"time"
)

// closedLoop is what each caller does in a closed loop: it begins when its turn
// in the ramp has come, calls until the time is over or it has made its calls,
// and pauses between them.
func closedLoop(c *Config) func(context.Context, *caller, *gate) {
	shape, callers, seed := c.Shape, c.Callers, c.Seed
	return func(ctx context.Context, one *caller, g *gate) {
		<-g.opened
		if shape.Ramp > 0 && !g.wait(ctx, turn(shape.Ramp, one.index, callers)) {
			return
		}
		pause := func() time.Duration { return shape.Think }
		if shape.ThinkExp {
			// The requests have a source of their own, so that a pause more or less
			// does not change them.
			random := rand.New(rand.NewPCG(^seed, uint64(one.index)))
			pause = func() time.Duration { return time.Duration(random.ExpFloat64() * float64(shape.Think)) }
		}
		for made := 1; ; made++ {
			path, in, out := one.work.Next()
			begin := g.now()
			if begin >= g.window() || !one.call(ctx, g, path, in, out, begin, begin) {
				return
			}
			if made == shape.Calls {
				one.done = true
				return
			}
			if shape.Think > 0 && !g.wait(ctx, one.free+pause()) {
				return
			}
		}
	}
}

// turn is when caller i of some begins in a ramp.
func turn(ramp time.Duration, i, callers int) time.Duration {
	return time.Duration(float64(ramp) * float64(i) / float64(callers))
}

// wait waits until some time since the start. It reports false if the measured
// time or ctx ends first.
func (g *gate) wait(ctx context.Context, until time.Duration) bool {
	timer := time.NewTimer(min(until, g.window()) - g.now())
	defer timer.Stop()
	select {
	case <-timer.C:
		return until < g.window()
	case <-g.stopped:
		return false
	case <-ctx.Done():
		return false
	}
}
