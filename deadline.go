package everywire

import (
	"context"
	"sync"
	"time"
)

// A clamped context ends at its deadline at the latest, like one made by
// context.WithDeadline, but makes its timer only when somebody asks for Done.
// Most handlers never do, and a timer for each call costs more than many of
// them run.
type clamped struct {
	context.Context //nolint:containedctx // it is a context itself
	deadline        time.Time

	mu     sync.Mutex
	timed  context.Context //nolint:containedctx // what this one becomes
	cancel context.CancelFunc
}

// A clampable context can be given an earlier deadline itself. Those of the
// stream wires can.
type clampable interface{ ClampDeadline(d time.Time) }

// clamp returns ctx with a deadline of at most d from now. The stop function
// must be called when the call is over; the context has then ended.
func clamp(ctx context.Context, d time.Duration) (context.Context, func()) {
	deadline := time.Now().Add(d)
	if c, ok := ctx.(clampable); ok {
		c.ClampDeadline(deadline)
		return ctx, func() {}
	}
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		return ctx, func() {}
	}
	c := &clamped{Context: ctx, deadline: deadline}
	return c, c.stop
}

func (c *clamped) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *clamped) Done() <-chan struct{} { return c.become().Done() }

func (c *clamped) Err() error {
	c.mu.Lock()
	timed := c.timed
	c.mu.Unlock()
	switch {
	case timed != nil:
		return timed.Err()
	case c.Context.Err() != nil:
		return c.Context.Err()
	case !time.Now().Before(c.deadline):
		return c.become().Err()
	}
	return nil
}

// become makes the context with a timer, once.
func (c *clamped) become() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		c.timed, c.cancel = context.WithDeadline(c.Context, c.deadline)
	}
	return c.timed
}

// stop ends the context, so that what a handler left behind ends too.
func (c *clamped) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		c.timed, c.cancel = canceled, func() {}
	}
	c.cancel()
}

// canceled has ended; it stands in for contexts that nobody waited for.
var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
