package threshold

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/stats"
)

// Failed reports whether the trial is beyond the limit, with a text that holds
// what was measured: "p99>20ms: p99 is 23.4ms". What cannot be checked has
// failed, and the text says why.
func (t Threshold) Failed(trial *record.Trial) (text string, failed bool) {
	if trial.Void != "" {
		return t.unchecked("the trial is void: " + trial.Void)
	}
	v, why := t.measure(trial)
	if why != "" {
		return t.unchecked(why)
	}
	name := t.name()
	if t.op != "" {
		name += " of " + t.op
	}
	return fmt.Sprintf("%s: %s is %s", t.text, name, t.show(v)), t.beyond(v)
}

func (t Threshold) unchecked(why string) (text string, failed bool) {
	return fmt.Sprintf("%s: cannot be checked, so it has failed: %s", t.text, why), true
}

func (t Threshold) beyond(v float64) bool {
	switch t.compare {
	case ">":
		return v > t.limit
	case ">=":
		return v >= t.limit
	case "<":
		return v < t.limit
	}
	return v <= t.limit
}

// of is what a threshold looks at: a trial, or one operation of it.
type of struct {
	calls, failures   int64
	open              float64 // of calls that the end cut off
	latency, intended *record.Hist
	times             record.Times
}

// measure is the figure's value, or why there is none.
func (t Threshold) measure(trial *record.Trial) (v float64, why string) {
	o := of{trial.Calls, sum(trial.Errors), trial.OpenShare, &trial.Latency, &trial.Intended, trial.Times}
	if t.op != "" {
		i := slices.IndexFunc(trial.Ops, func(op record.Op) bool { return op.Name == t.op })
		if i < 0 {
			return 0, fmt.Sprintf("no call of an operation %q ended", t.op)
		}
		op := &trial.Ops[i]
		o = of{op.Calls, sum(op.Errors), 0, &op.Latency, &op.Intended, op.Times}
	}
	switch t.figure {
	case rate:
		if trial.Seconds <= 0 {
			return 0, "no time was measured"
		}
		return (float64(o.calls) + o.open) / trial.Seconds, ""
	case calls:
		return float64(o.calls), ""
	case errs:
		return t.part(o.failures, o.calls+o.failures, "no call ended")
	case censored:
		return t.part(trial.Censored, trial.Ended(), "no call began")
	case late:
		return t.part(trial.Late, trial.Scheduled, noSchedule)
	case dropped:
		return t.part(trial.Dropped, trial.Scheduled, noSchedule)
	case unsent:
		return t.part(trial.Unsent, trial.Scheduled, noSchedule)
	}
	if t.intended {
		// Calls that never began have waited the longest of all.
		return t.time(&o, trial.Censored+trial.Dropped+trial.Unsent, "open at the end, dropped or unsent")
	}
	return t.time(&o, trial.Censored, "open at the end")
}

const noSchedule = "no call was scheduled: it is not of an open loop"

// part is a number of calls, or their share of all.
func (t Threshold) part(n, all int64, none string) (v float64, why string) {
	switch {
	case all == 0:
		return 0, none
	case t.share:
		return float64(n) / float64(all), ""
	}
	return float64(n), ""
}

// time is a figure that is a time. Those of service are exact where the trial has
// exact sums; percentiles and what counts from the intended start are the
// histograms'. untimed calls would be in the histogram had they ended; they were so.
func (t Threshold) time(o *of, untimed int64, so string) (v float64, why string) {
	h := o.latency
	if t.intended {
		h = o.intended
	}
	if h.Count() == 0 {
		if t.intended && o.latency.Count() > 0 {
			return 0, noSchedule
		}
		return 0, "there was no right reply"
	}
	exact := !t.intended && o.times.Count > 0
	switch t.figure {
	case percentile:
		ns, ok := stats.Percentile(h, untimed, t.percent)
		switch need := stats.MinSamples(t.percent); {
		case ok:
			return float64(ns), ""
		case h.Count() < need:
			return 0, fmt.Sprintf("%d right replies, and %s needs %d", h.Count(), t.name(), need)
		}
		return 0, fmt.Sprintf("%d calls were %s, more than lie beyond %s of %d right replies", untimed, so, t.name(), h.Count())
	case deviation:
		if !exact {
			return 0, "the record has no exact sums"
		}
		return o.times.StdDev(), ""
	case average:
		if exact {
			return o.times.Mean, ""
		}
		return h.Mean(), ""
	case smallest:
		if exact {
			return float64(o.times.Min), ""
		}
		return float64(h.Percentile(0)), ""
	}
	if exact {
		return float64(o.times.Max), ""
	}
	return float64(h.Percentile(100)), ""
}

func sum(errors map[string]int64) (n int64) {
	for _, v := range errors {
		n += v
	}
	return n
}

// show writes a value in the figure's unit.
func (t Threshold) show(v float64) string {
	switch {
	case t.figure.time():
		return duration(v)
	case t.share:
		return number(digits(v*100)) + "%"
	case t.figure == rate:
		return number(digits(v)) + "/s"
	}
	return number(v)
}

// duration keeps four digits, but for whole nanoseconds.
func duration(ns float64) string { return time.Duration(math.Round(digits(ns))).String() }

// digits rounds to four significant digits.
func digits(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
