package load

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/everywire/everywire/lab/record"
)

// caller is one caller.
type caller struct {
	index  int
	conn   grpc.ClientConnInterface
	meter  Meter // nil if nobody counts its bytes
	work   Caller
	op     func() string // nil if the workload has one operation
	sample func(Sample)  // nil if nobody asks
	open   bool          // in an open loop
	counts *counts
}

// counts are what some callers have counted: each has its own, up to a number, or
// ten thousand callers would have gigabytes of histograms.
type counts struct {
	mu         sync.Mutex
	all        tally
	ops        map[string]*tally // nil if the workload has one operation
	firstError string
	firstAt    time.Duration
	censored   int64
	openShare  float64
	lastEnd    time.Duration
}

// maxCounts is how many counts there are at most.
const maxCounts = 64

// newCounts makes those of a load.
func newCounts(c *Config) []*counts {
	all := make([]*counts, min(c.Callers, maxCounts))
	for i := range all {
		all[i] = new(counts)
		all[i].all.latency.Prepare()
		if c.Shape.Open() {
			all[i].all.intended.Prepare()
		}
	}
	return all
}

func newCaller(c *Config, i int, all []*counts) (*caller, error) {
	one := &caller{
		index: i, conn: c.Conn, work: c.Workload.Caller(c.Seed, i), sample: c.Sample, open: c.Shape.Open(), counts: all[i%len(all)],
	}
	if c.Each != nil {
		var err error
		if one.conn, one.meter, err = c.Each(i); err != nil {
			return nil, err
		}
	}
	if w, ok := one.work.(interface{ Op() string }); ok {
		one.op = w.Op
		one.counts.ops = map[string]*tally{}
	}
	return one, nil
}

// call makes one call. scheduled is when it was to begin; in a closed loop that is
// now. It reports whether another may be begun.
func (c *caller) call(ctx context.Context, g *gate, scheduled time.Duration) bool {
	path, in, out := c.work.Next()
	var outBefore, inBefore int64
	if c.meter != nil {
		outBefore, inBefore = c.meter.Bytes()
	}
	begin := g.now()
	if !c.open {
		if begin >= g.window {
			return false
		}
		scheduled = begin
	}
	err := c.conn.Invoke(ctx, path, in, out)
	s := Sample{Caller: c.index, Scheduled: scheduled, Begin: begin, End: g.now(), Out: -1, In: -1}
	if c.meter != nil {
		outAfter, inAfter := c.meter.Bytes()
		s.Out, s.In = outAfter-outBefore, inAfter-inBefore
	}
	if c.op != nil {
		s.Op = c.op()
	}
	s.Censored = s.End > g.window
	switch {
	case err != nil && ctx.Err() != nil && !s.Censored:
		return false // the run was given up
	case err != nil:
		s.Err, s.Text = codeName(err), err.Error()
	default:
		if wrong := c.work.Check(); wrong != "" {
			s.Err, s.Text = WrongReply, WrongReply+": "+wrong
		}
	}
	c.counts.add(&s, g.window, c.open)
	if c.sample != nil {
		c.sample(s)
	}
	return !s.Censored
}

// add adds a call to what it is.
func (c *counts) add(s *Sample, window time.Duration, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastEnd = max(c.lastEnd, min(s.End, window))
	if s.Censored {
		c.censored++
		if s.Err == "" {
			c.openShare += float64(window-s.Begin) / float64(s.End-s.Begin)
		}
		return
	}
	c.all.add(s, open)
	if c.ops != nil {
		t := c.ops[s.Op]
		if t == nil {
			t = new(tally)
			c.ops[s.Op] = t
		}
		t.add(s, open)
	}
	if s.Err != "" && (c.firstError == "" || s.End < c.firstAt) {
		c.firstError, c.firstAt = s.Text, s.End
	}
}

// tally is what is counted of calls that ended in time.
type tally struct {
	latency, intended record.Hist
	times             record.Times
	errors            map[string]int64
	ended, out, in    int64 // calls, and their bytes
	unmetered         bool
}

func (t *tally) add(s *Sample, open bool) {
	t.ended++
	if s.Out < 0 {
		t.unmetered = true
	}
	t.out, t.in = t.out+s.Out, t.in+s.In
	if s.Err != "" {
		if t.errors == nil {
			t.errors = map[string]int64{}
		}
		t.errors[s.Err]++
		return
	}
	took := int64(s.End - s.Begin)
	t.latency.Record(took)
	t.times.Add(took)
	if open {
		t.intended.Record(int64(s.End - s.Scheduled))
	}
}

func (t *tally) merge(other *tally) {
	t.latency.Merge(&other.latency)
	t.intended.Merge(&other.intended)
	t.times.Merge(other.times)
	for kind, n := range other.errors {
		if t.errors == nil {
			t.errors = map[string]int64{}
		}
		t.errors[kind] += n
	}
	t.ended, t.out, t.in = t.ended+other.ended, t.out+other.out, t.in+other.in
	t.unmetered = t.unmetered || other.unmetered
}
