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
	r.Latency, r.Intended, r.Times, r.Errors = all.latency, all.intended, all.times.record(), all.errors
	if !all.unmetered {
		r.Bytes = &record.Bytes{Out: all.out, In: all.in}
	}
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		r.Ops = append(r.Ops, ops[name].op(name))
	}
	return r
}

// op is the tally as it stands in a record.
func (t *tally) op(name string) record.Op {
	o := record.Op{
		Name: name, Calls: t.times.count, Latency: t.latency, Intended: t.intended, Times: t.times.record(), Errors: t.errors, Out: t.out, In: t.in,
	}
	if t.unmetered {
		o.Out, o.In = -1, -1
	}
	return o
}
