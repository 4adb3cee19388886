package load

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// caller is one caller.
type caller struct {
	index  int
	conn   grpc.ClientConnInterface
	work   Caller
	op     func() string // nil if the workload has one operation
	sample func(Sample)  // nil if nobody asks
	counts *counts

	meter   Meter // nil if nobody counts its bytes
	out, in int64 // what the meter said after the last call

	free time.Duration // when its last call ended
	done bool          // it has made all the calls that it was to make
}

func newCaller(c *Config, i int, all []*counts) (*caller, error) {
	one := &caller{index: i, conn: c.Conn, work: c.Workload.Caller(c.Seed, i), sample: c.Sample, counts: all[i%len(all)]}
	if c.Each != nil {
		var err error
		if one.conn, one.meter, err = c.Each(i); err != nil {
			return nil, err
		}
	}
	if one.meter != nil {
		one.out, one.in = one.meter.Bytes()
	}
	if w, ok := one.work.(interface{ Op() string }); ok {
		one.op = w.Op
		one.counts.ops = map[string]*tally{}
	}
	return one, nil
}

// call makes the call of the last Next. scheduled is when it was to begin; begin is
// now. It reports whether another may be begun.
func (c *caller) call(ctx context.Context, g *gate, path string, in, out any, scheduled, begin time.Duration) bool {
	err := c.conn.Invoke(ctx, path, in, out)
	s := Sample{Caller: c.index, Scheduled: scheduled, Begin: begin, End: g.now(), Out: -1, In: -1}
	c.free = s.End
	if c.meter != nil {
		out, in := c.meter.Bytes()
		s.Out, s.In = out-c.out, in-c.in
		c.out, c.in = out, in
	}
	if c.op != nil {
		s.Op = c.op()
	}
	window := g.window()
	s.Censored = s.End > window
	switch {
	case err != nil && ctx.Err() != nil && !s.Censored:
		return false // the run was given up
	case err != nil:
		s.Err, s.Text = kindOf(err), err.Error()
	default:
		if wrong := c.work.Check(); wrong != "" {
			s.Err, s.Text = WrongReply, WrongReply+": "+wrong
		}
	}
	c.counts.add(&s, window)
	if c.sample != nil {
		c.sample(s)
	}
	return !s.Censored
}
