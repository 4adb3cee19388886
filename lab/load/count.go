package load

import (
	"runtime"
	"sync"
	"time"

	"github.com/everywire/everywire/lab/record"
)

// counts are what some callers have counted. A histogram takes a quarter of a
// megabyte, and ten thousand callers with one each would take gigabytes; so there
// are some for each processor, more than can be used at the same time.
type counts struct {
	mu         sync.Mutex
	open       bool // an open loop's
	all        tally
	ops        map[string]*tally // nil if the workload has one operation
	firstError string
	firstAt    time.Duration
	censored   int64
	openShare  float64
	lastEnd    time.Duration
}

// perProcessor is how many counts there are for each processor.
const perProcessor = 8

// newCounts makes those of a load.
func newCounts(c *Config) []*counts {
	all := make([]*counts, min(c.Callers, perProcessor*runtime.GOMAXPROCS(0)))
	for i := range all {
		all[i] = &counts{open: c.Shape.Open()}
		all[i].all.latency.Prepare()
		if all[i].open {
			all[i].all.intended.Prepare()
		}
	}
	return all
}

// add adds a call to what it is.
func (c *counts) add(s *Sample, window time.Duration) {
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
	c.all.add(s, c.open)
	if c.ops != nil {
		t := c.ops[s.Op]
		if t == nil {
			t = new(tally)
			c.ops[s.Op] = t
		}
		t.add(s, c.open)
	}
	if s.Err != "" && (c.firstError == "" || s.End < c.firstAt) {
		c.firstError, c.firstAt = s.Text, s.End
	}
}

// tally is what is counted of calls that ended in time.
type tally struct {
	latency, intended record.Hist
	times             times
	errors            map[string]int64
	out, in           int64 // bytes of all of them
	unmetered         bool  // somebody's are not known
}

func (t *tally) add(s *Sample, open bool) {
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
	t.times.add(took)
	if open {
		t.intended.Record(int64(s.End - s.Scheduled))
	}
}

func (t *tally) merge(other *tally) {
	t.latency.Merge(&other.latency)
	t.intended.Merge(&other.intended)
	t.times.merge(&other.times)
	for kind, n := range other.errors {
		if t.errors == nil {
			t.errors = map[string]int64{}
		}
		t.errors[kind] += n
	}
	t.out, t.in = t.out+other.out, t.in+other.in
	t.unmetered = t.unmetered || other.unmetered
}
