package load

import (
	"maps"
	"slices"
	"time"

	"github.com/everywire/everywire/lab/record"
)

// merge adds up what was counted.
func merge(counted []*counts, window time.Duration) *Result {
	r := &Result{Seconds: window.Seconds()}
	var all tally
	ops := map[string]*tally{}
	first := window + 1
	for _, c := range counted {
		all.merge(&c.all)
		for name, t := range c.ops {
			if ops[name] == nil {
				ops[name] = new(tally)
			}
			ops[name].merge(t)
		}
		r.Censored += c.censored
		r.OpenShare += c.openShare
		if c.firstError != "" && c.firstAt < first {
			first, r.FirstError = c.firstAt, c.firstError
		}
	}
	r.Latency, r.Intended, r.Times, r.Errors = all.latency, all.intended, all.times, all.errors
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		r.Ops = append(r.Ops, ops[name].op(name))
	}
	return r
}

// Into fills what was counted into a trial.
func (r *Result) Into(t *record.Trial) {
	t.Seconds, t.Calls, t.Latency, t.Intended = r.Seconds, r.Latency.Count(), r.Latency, r.Intended
	t.Errors, t.FirstError = r.Errors, r.FirstError
	t.Censored, t.OpenShare = r.Censored, r.OpenShare
	t.Scheduled, t.Late, t.PacerLate, t.Dropped, t.Unsent = r.Scheduled, r.Late, r.PacerLate, r.Dropped, r.Unsent
	t.Times, t.Ops = r.Times, r.Ops
}

// op is the tally as it stands in a record.
func (t *tally) op(name string) record.Op {
	o := record.Op{Name: name, Calls: t.times.Count, Latency: t.latency, Intended: t.intended, Times: t.times, Errors: t.errors, Out: t.out, In: t.in}
	if t.unmetered {
		o.Out, o.In = -1, -1
	}
	return o
}
