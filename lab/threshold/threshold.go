// Package threshold reads what must not happen in a run, such as "p99>20ms" or
// "errors(verify)>1%", and says whether it did. The grammar and what each name is
// measured by are in docs/spec/load.md; the package obeys all of it.
//
// A threshold that cannot be checked has failed: a run without enough calls for
// its 99th percentile has not shown that it keeps to it.
package threshold

import (
	"fmt"
	"slices"
	"strings"
)

// A Threshold is a condition on a trial that makes it a failure.
type Threshold struct {
	text     string
	figure   figure
	percent  float64 // of figure percentile
	intended bool    // from the intended start
	op       string  // "" for all operations
	compare  string
	limit    float64 // in ns, calls a second, calls, or a share of 1
	share    bool    // of calls, not their number
}

// figure is what is compared.
type figure string

const (
	percentile figure = "p"
	average    figure = "avg"
	smallest   figure = "min"
	largest    figure = "max"
	deviation  figure = "stddev"
	rate       figure = "rate"
	calls      figure = "calls"
	errs       figure = "errors"
	censored   figure = "censored"
	late       figure = "late"
	dropped    figure = "dropped"
	unsent     figure = "unsent"
)

// figures are all names but those of percentiles, in the order in which an error
// lists them.
var figures = []figure{average, smallest, largest, deviation, rate, calls, errs, censored, late, dropped, unsent}

// time reports whether the figure is a time.
func (f figure) time() bool {
	return slices.Contains([]figure{percentile, average, smallest, largest, deviation}, f)
}

// openLoop reports whether the figure is of open loops only.
func (f figure) openLoop() bool { return slices.Contains([]figure{late, dropped, unsent}, f) }

// whole reports whether the figure is of all operations together only.
func (f figure) whole() bool { return f == censored || f.openLoop() }

// countable reports whether the figure is a number of calls, of which there may be
// a share.
func (f figure) countable() bool { return f == errs || f.whole() }

// String is the threshold as it was written.
func (t Threshold) String() string { return t.text }

// Check reports what of the threshold no run of such a load can tell, before it
// is run: open says whether it is an open loop, ops are the names of the
// workload's operations, none if it has but one.
func (t Threshold) Check(open bool, ops []string) error {
	switch {
	case !open && (t.intended || t.figure.openLoop()):
		return fmt.Errorf("threshold %q: %s is of open loops, in which calls begin at a rate; this is a closed loop", t.text, t.name())
	case t.op != "" && len(ops) == 0:
		return fmt.Errorf("threshold %q: this load has one operation only: leave out (%s)", t.text, t.op)
	case t.op != "" && !slices.Contains(ops, t.op):
		return fmt.Errorf("threshold %q: there is no operation %q; there are %s", t.text, t.op, quoted(ops))
	}
	return nil
}

// name is the figure as it was written, without its operation.
func (t Threshold) name() string {
	name := string(t.figure)
	if t.figure == percentile {
		name += number(t.percent)
	}
	if t.intended {
		name = intendedPrefix + name
	}
	return name
}

func quoted(words []string) string {
	q := make([]string, 0, len(words))
	for _, w := range words {
		q = append(q, fmt.Sprintf("%q", w))
	}
	return strings.Join(q, ", ")
}
