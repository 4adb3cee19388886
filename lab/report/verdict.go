package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/stats"
)

// Verdict says in plain words what the run supports, one statement an element.
// An arm is said to be faster or slower only where [stats.Test] calls it
// different.
func Verdict(run *record.Run) []string { return newView(run).verdict() }

func (v *view) verdict() []string {
	out := []string{}
	if v.partial != "" {
		out = append(out, v.partial)
	}
	if s := v.excluded(); s != "" {
		out = append(out, s)
	}
	for i := range v.sum.Loads {
		l := &v.sum.Loads[i]
		for _, s := range v.statements(l) {
			out = append(out, "At "+v.loadName(l)+": "+s)
		}
	}
	return out
}

// sentences are the statements about one load as they stand under its heading.
func (v *view) sentences(l *stats.Load) []string {
	out := v.statements(l)
	for i, s := range out {
		named := slices.ContainsFunc(v.plan.Arms, func(a plan.Arm) bool { return strings.HasPrefix(s, a.Name+" ") })
		if !named {
			out[i] = strings.ToUpper(s[:1]) + s[1:]
		}
	}
	return out
}

// statements are what can be said about one load, each as it stands after a
// colon.
func (v *view) statements(l *stats.Load) []string {
	var out []string
	if l.Floor != nil && l.Floor.Moved {
		out = append(out, v.moved(l))
	}
	out = append(out, failed(l)...)
	switch {
	case l.MaxBlocks == 0:
		return append(out, "no arm ran beside "+v.base+"; nothing is compared.")
	case l.MaxBlocks < l.Needed:
		return append(out, tooFew(l))
	}
	wires := different(l, plan.Wire)
	var alone []string
	for _, a := range wires {
		claim, apart := v.claim(l, a)
		out = append(out, claim)
		if !apart {
			alone = append(alone, a.Name)
		}
	}
	if len(alone) > 0 {
		out = append(out, "no reference was measured beside "+list(alone)+", so how much is the wire's is not known there.")
	}
	for _, s := range []string{v.times(l, wires), implementations(l), v.same(l), besideHandler(l), notMeasured(l)} {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// besideHandler says how much the choice of a wire weighs beside the work of a
// handler: with one caller on loopback, from the medians of our wires.
func besideHandler(l *stats.Load) string {
	if l.Callers != 1 || l.Emulated != nil {
		return ""
	}
	type timed struct {
		name string
		p50  time.Duration
	}
	var all []timed
	for i := range l.Arms {
		a := &l.Arms[i]
		p50, ok := stats.Percentile(&a.Latency, a.Censored, 50)
		if ok && a.Kind == plan.Wire && !a.Again {
			all = append(all, timed{a.Name, time.Duration(p50)})
		}
	}
	if len(all) < 2 {
		return ""
	}
	fast := slices.MinFunc(all, func(a, b timed) int { return cmp.Compare(a.p50, b.p50) })
	slow := slices.MaxFunc(all, func(a, b timed) int { return cmp.Compare(a.p50, b.p50) })
	const handler = 10 * time.Millisecond
	share := 100 * float64(slow.p50-fast.p50) / float64(handler+fast.p50)
	return fmt.Sprintf("how much it would matter: between the fastest median call (%s) and the slowest (%s) lie %s. A handler that works for 10ms would see that as %.2g %% of its calls' time, on this machine without a network.",
		fast.name, slow.name, latency(int64(slow.p50-fast.p50)), share)
}

// different are the arms of a kind that may be called different, the largest
// ratio first.
func different(l *stats.Load, kind plan.Kind) []*stats.Arm {
	var out []*stats.Arm
	for i := range l.Arms {
		if a := &l.Arms[i]; a.Kind == kind && a.Test != nil && a.Test.Different {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b *stats.Arm) int { return cmp.Compare(b.Ratio.Median, a.Ratio.Median) })
	return out
}

// claim says how far a wire is from the baseline and, if references allow,
// which part of that is the wire's; apart says whether they do.
func (v *view) claim(l *stats.Load, a *stats.Arm) (s string, apart bool) {
	s = fmt.Sprintf("%s is %sx %s (%s).", a.Name, plain(a.Ratio.Median), v.base, plainInterval(a.Ratio))
	for _, p := range l.Parts {
		if p.Arm == a.Name && p.BaseReference != "" && len(p.Implementation.Blocks) > 0 {
			return s + fmt.Sprintf(" Of this, the wire: %s is %sx %s (%s). Our implementations account for the other %sx (%s).",
				p.Reference, plain(p.Wire.Median), p.BaseReference, plainInterval(p.Wire),
				plain(p.Implementation.Median), plainInterval(p.Implementation)), true
		}
	}
	return s, false
}

// times says what the difference is in time, which is what a caller waits.
func (v *view) times(l *stats.Load, wires []*stats.Arm) string {
	base := l.Arm(v.base)
	b, ok := stats.Percentile(&base.Latency, base.Censored, 50)
	if !ok {
		return ""
	}
	var words []string
	for _, a := range wires {
		if ns, ok := stats.Percentile(&a.Latency, a.Censored, 50); ok {
			words = append(words, latency(ns)+" over "+a.Name)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("the median call took %s over %s, %s.", latency(b), v.base, list(words))
}

// implementations compares our implementations with the references that speak
// the same wire.
func implementations(l *stats.Load) string {
	var words []string
	for _, p := range l.Parts {
		if len(p.Ours.Blocks) > 0 {
			words = append(words, fmt.Sprintf("%s is %sx %s (%s)", p.Arm, plain(p.Ours.Median), p.Reference, plainInterval(p.Ours)))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "on the same wire, " + list(words) + "."
}

// same lists the wires that were not told from the baseline.
func (v *view) same(l *stats.Load) string {
	var words []string
	for i := range l.Arms {
		a := &l.Arms[i]
		if a.Kind != plan.Wire || a.Test == nil || a.Test.Different || len(a.Ratio.Blocks) == 0 || a.Calls == 0 {
			continue
		}
		words = append(words, fmt.Sprintf("%s (%s, %s)", a.Name, ratioNumber(a.Ratio.Median), plainInterval(a.Ratio)))
	}
	if len(words) == 0 {
		return ""
	}
	return "not distinguished from " + v.base + ": " + list(words) + "."
}

// failed lists the arms that never gave a correct reply, or none in time, and
// those that failed so often that nothing is claimed of them.
func failed(l *stats.Load) []string {
	var out []string
	for i := range l.Arms {
		a := &l.Arms[i]
		if a.Calls > 0 && a.Unfit() {
			out = append(out, fmt.Sprintf("%s failed in %.2g %% of its calls, so nothing is claimed of its speed: %s.",
				a.Name, 100*float64(a.ErrorCount)/float64(a.Calls+a.ErrorCount), strings.TrimSuffix(errorWords(a), ".")))
		}
		if a.Calls > 0 || a.Trials == 0 {
			continue
		}
		s := a.Name + " gave no correct reply"
		if a.Rate > 0 {
			// Replies that came after the end count by their share in a.Rate.
			s += " within the measured time, only later; measure longer (--measure)"
		}
		switch {
		case a.ErrorCount > 0:
			s += ": " + errorWords(a)
		case a.Void == a.Trials:
			s += ": all its trials are void (" + voidWords(a) + ")"
		}
		out = append(out, strings.TrimSuffix(s, ".")+".")
	}
	return out
}

func notMeasured(l *stats.Load) string {
	if names := missing(l); names != "" {
		return "not measured: " + names + "."
	}
	return ""
}

func (v *view) moved(l *stats.Load) string {
	return fmt.Sprintf("the two runs of %s differ (%s, %s). Something other than the arms moved the numbers; differences of that size mean nothing here.",
		v.base, ratioNumber(l.Floor.Ratio.Median), plainInterval(l.Floor.Ratio))
}

func tooFew(l *stats.Load) string {
	return fmt.Sprintf("nothing is claimed. %s too few to call any of %s different; that takes %s.",
		be(l.MaxBlocks, "block"), count(l.Compared, "compared arm"), count(l.Needed, "block"))
}

func be(n int, one string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return count(n, one) + " are"
}

// Headline is the run's answer in one sentence.
func Headline(run *record.Run) string { return newView(run).headline() }

func (v *view) headline() string {
	var parts []string
	few := true
	for i := range v.sum.Loads {
		l := &v.sum.Loads[i]
		if l.MaxBlocks >= l.Needed && l.MaxBlocks > 0 {
			few = false
			parts = append(parts, v.loadHeadline(l))
		}
	}
	if few {
		return "Nothing is claimed: too few blocks ran to call any arm different from " + v.base + "."
	}
	s := strings.Join(parts, "; ")
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func (v *view) loadHeadline(l *stats.Load) string {
	at := "with " + v.loadName(l) + ", "
	wires := different(l, plan.Wire)
	switch {
	case len(wires) == 0:
		return at + "no wire could be told from " + v.base
	case wires[0].Ratio.Median <= 1:
		return at + "no wire was shown to be faster than " + v.base
	}
	a := wires[0]
	return fmt.Sprintf("%s%s made %s times as many calls per second as %s (%s)", at, a.Name, plain(a.Ratio.Median), v.base, plainInterval(a.Ratio))
}
