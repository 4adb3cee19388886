package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/stats"
)

// view is what the reports of one run share.
type view struct {
	run  *record.Run
	plan *plan.Plan
	sum  *stats.Summary
	base string // the baseline's name
	// partial says that the run stopped early, "" if it did not.
	partial string
}

func newView(run *record.Run) *view {
	v := &view{run: run, plan: &run.Header.Plan, sum: stats.Summarize(run), base: run.Header.Plan.Baseline}
	have, want := ran(run.Trials), v.plan.Blocks*v.plan.Turns()*len(v.plan.Callers)
	trials := fmt.Sprintf("%s of %s trials ran.", thousands(int64(have)), thousands(int64(want)))
	switch {
	case run.End == nil:
		v.partial = "The run was killed before its end: " + trials
	case run.End.Partial != "":
		v.partial = "The run is partial (" + strings.TrimSuffix(run.End.Partial, ".") + "): " + trials
	case have < want:
		v.partial = "The record is not complete: " + trials
	}
	return v
}

// ran counts the trials of the plan that ran; one that was void and made again
// is one.
func ran(trials []record.Trial) int {
	type key struct {
		block, callers int
		arm, link      string
	}
	seen := map[key]bool{}
	for _, t := range trials {
		seen[key{t.Block, t.Callers, t.Arm, t.Network()}] = true
	}
	return len(seen)
}

// excluded names the arms that were asked for and are not in the plan.
func (v *view) excluded() string {
	words := make([]string, 0, len(v.plan.Excluded))
	for _, e := range v.plan.Excluded {
		words = append(words, fmt.Sprintf("%s (%s)", e.Arm, strings.TrimSuffix(short(e.Reason), ".")))
	}
	if len(words) == 0 {
		return ""
	}
	return "Left out: " + list(words) + "."
}

// title says what was measured.
func (v *view) title() string {
	if p := v.plan.Payload; p != nil {
		return fmt.Sprintf("%s of %s (%s bytes)", v.plan.Service, p.Name, thousands(int64(p.Bytes)))
	}
	switch v.plan.Service {
	case "arith":
		return "Sum of two small integers"
	case "kv":
		return v.keyValue()
	}
	return v.plan.Service
}

// keyValue says how the key-value store was loaded.
func (v *view) keyValue() string {
	delays := "no delay"
	if p := v.plan; p.ReadDelay > 0 || p.WriteDelay > 0 {
		delays = fmt.Sprintf("a read takes %v, a write %v", p.ReadDelay, p.WriteDelay)
	}
	return "Create, Retrieve, Update and Delete of a key-value store, " + delays
}

// untyped says what of the payload had no type.
func (v *view) untyped() string {
	p := v.plan.Payload
	if p == nil || !p.Typed {
		return ""
	}
	words := make([]string, 0, len(p.Untyped))
	for _, u := range p.Untyped {
		words = append(words, fmt.Sprintf("%s (%s)", u.Path, u.Reason))
	}
	text := "The payload travels as values of a type that was inferred from it"
	if p.Wrapped {
		text += ", as the member value of an object"
	}
	if len(words) > 0 {
		text += "; as documents: " + list(words)
	}
	return text + "."
}

// machine is one line about where the run was made.
func (v *view) machine() string {
	here := about(&v.run.Header.Machine)
	if far := v.run.Header.Server; far != nil {
		return "the servers on " + about(far) + "; the callers on " + here
	}
	return here + v.pinning()
}

// about says what a machine is.
func about(m *record.Machine) string {
	words := []string{m.OS + "/" + m.Arch}
	if m.CPU != "" {
		words = append(words, m.CPU)
	}
	return strings.Join(append(words, count(m.Cores, "core")), ", ")
}

// serverMachine is where the servers ran.
func (v *view) serverMachine() *record.Machine {
	if far := v.run.Header.Server; far != nil {
		return far
	}
	return &v.run.Header.Machine
}

func (v *view) pinning() string {
	m := &v.run.Header.Machine
	if m.ServerCores == "" && m.ClientCores == "" {
		return " (neither end pinned)"
	}
	return fmt.Sprintf(" (server on %s, client on %s)", orAny(m.ServerCores), orAny(m.ClientCores))
}

func orAny(cores string) string {
	if cores == "" {
		return "any"
	}
	return cores
}

// build is one line about the program that ran.
func (v *view) build() string { return program(&v.run.Header.Build) }

func program(b *record.Build) string {
	s := "everywire " + b.Version
	if b.Commit != "" {
		s += " (" + b.Commit[:min(12, len(b.Commit))]
		if b.Dirty {
			s += " with changes"
		}
		s += ")"
	}
	return s + ", " + b.Go
}

// amountOfWork is one line about the plan.
func (v *view) amountOfWork() string {
	return fmt.Sprintf("%s of %s%s, each %v measured after %v of warm-up",
		count(v.plan.Blocks, "block"), count(len(v.plan.Arms), "arm"), v.overLinks(), v.plan.Measure, v.plan.Warmup)
}

// A note stands under the table that it concerns.
type note struct {
	Warn bool
	Text string
}

// notes are the remarks under one load's table.
func (v *view) notes(l *stats.Load) []note {
	var out []note
	add := func(warn bool, text string) {
		if text != "" {
			out = append(out, note{warn, text})
		}
	}
	if 0 < l.MaxBlocks && l.MaxBlocks < l.Needed {
		add(true, "Too few blocks: "+tooFew(l))
	}
	add(l.Floor != nil && l.Floor.Moved, v.floor(l))
	if names := missing(l); names != "" {
		add(true, "Not measured: "+names+".")
	}
	add(true, missed(l))
	add(true, errorNote(l))
	add(true, voidNote(l))
	if n, all := v.run.Disturbed(l.Callers, l.Link); n > 0 {
		add(true, Disturbed(n, all))
	}
	add(true, coarse(l))
	add(true, v.ceiling(l))
	add(false, busy(l))
	add(false, linkNote(l))
	add(false, dashes(l))
	return out
}

func (v *view) floor(l *stats.Load) string {
	if l.Floor == nil {
		return "Noise floor: not known; the plan runs the baseline once only."
	}
	r := l.Floor.Ratio
	if len(r.Blocks) == 0 {
		return "Noise floor: not known; no block has both runs of " + v.base + "."
	}
	s := fmt.Sprintf("Noise floor: %s measured twice in each block gave %s", v.base, ratioCell(r))
	if r.Interval == nil {
		s += " (too few blocks for an interval)"
	} else {
		s += fmt.Sprintf(" (%s)", coverage(r.Interval))
	}
	if l.Floor.Moved {
		return s + ". The two differ: something other than the arms moved the numbers."
	}
	return s + "."
}

func coverage(iv *stats.Interval) string {
	return fmt.Sprintf("interval of %s %% coverage", strconv.FormatFloat(math.Floor(iv.Coverage*1000)/10, 'f', -1, 64))
}

func errorNote(l *stats.Load) string {
	var words []string
	for i := range l.Arms {
		if a := &l.Arms[i]; a.ErrorCount > 0 {
			words = append(words, a.Name+" "+errorWords(a))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "Errors, not counted as calls: " + strings.Join(words, "; ") + "."
}

// errorWords are the kinds of an arm's errors and the text of the first.
func errorWords(a *stats.Arm) string {
	kinds := make([]string, 0, len(a.Errors))
	for _, k := range a.Kinds() {
		kinds = append(kinds, thousands(a.Errors[k])+" "+k)
	}
	s := strings.Join(kinds, ", ")
	if a.FirstError != "" {
		s += fmt.Sprintf(" (first: %s)", short(a.FirstError))
	}
	return s
}

// short keeps a foreign text on one line and readable.
func short(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 160 {
		return string(r[:159]) + "…"
	}
	return string(r)
}

// Disturbed says that other processes used the machine during some of the trials that
// count.
func Disturbed(n, all int) string {
	return fmt.Sprintf("In %d of %d trials other processes had more than %g %% of the machine's CPU time: their figures have that in them.", n, all, 100*record.MaxOthers)
}

// voidNote counts void trials by reason, and the arms that each hit.
func voidNote(l *stats.Load) string {
	total := 0
	byReason := map[string][]string{}
	for i := range l.Arms {
		a := &l.Arms[i]
		total += a.Void
		for reason, n := range a.Voids {
			reason = short(reason)
			byReason[reason] = append(byReason[reason], fmt.Sprintf("%s %d", a.Name, n))
		}
	}
	if total == 0 {
		return ""
	}
	words := make([]string, 0, len(byReason))
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		words = append(words, reason+" ("+strings.Join(byReason[reason], ", ")+")")
	}
	return count(total, "void trial") + ", not counted: " + strings.Join(words, "; ") + "."
}

// voidWords are an arm's reasons, with how often each came.
func voidWords(a *stats.Arm) string {
	words := make([]string, 0, len(a.Voids))
	for _, reason := range slices.Sorted(maps.Keys(a.Voids)) {
		s := short(reason)
		if n := a.Voids[reason]; n > 1 {
			s += fmt.Sprintf(" x%d", n)
		}
		words = append(words, s)
	}
	return strings.Join(words, ", ")
}

// missing names the arms that the record holds no trial of.
func missing(l *stats.Load) string {
	var words []string
	for i := range l.Arms {
		if l.Arms[i].Trials == 0 {
			words = append(words, l.Arms[i].Name)
		}
	}
	return list(words)
}

// fewCalls is the number of calls in a block below which one call more or less
// moves a ratio by more than 1 %.
const fewCalls = 100

// coarse warns where a block holds so few calls that ratios go in steps.
func coarse(l *stats.Load) string {
	var words []string
	for i := range l.Arms {
		a := &l.Arms[i]
		if blocks := int64(len(a.Rates)); blocks > 0 && a.Calls > 0 && a.Calls < fewCalls*blocks {
			words = append(words, fmt.Sprintf("%s %d", a.Name, a.Calls/blocks))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "Few calls in a block, so that one more or less moves a ratio by over 1 %: " + strings.Join(words, ", ") + "."
}

// busyShare is from which share of its cores on an end counts as busy.
const busyShare = 0.9

// ceiling warns where the client's cores were busy and the server's were not:
// there the client set the pace.
func (v *view) ceiling(l *stats.Load) string {
	m, far := &v.run.Header.Machine, v.serverMachine()
	server, client := float64(cores(far.ServerCores, far.Cores)), float64(cores(m.ClientCores, m.Cores))
	var words []string
	for i := range l.Arms {
		a := &l.Arms[i]
		if a.ClientCores >= busyShare*client && a.ServerCores < busyShare*server {
			words = append(words, a.Name)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("The client was the ceiling for %s: its cores were at least %.0f %% busy, the server's were not.", list(words), busyShare*100)
}

// busy gives the range of both ends' CPU shares.
func busy(l *stats.Load) string {
	span := func(get func(*stats.Arm) float64) string {
		var lo, hi *stats.Arm
		for i := range l.Arms {
			a := &l.Arms[i]
			if math.IsNaN(get(a)) {
				continue
			}
			if lo == nil || get(a) < get(lo) {
				lo = a
			}
			if hi == nil || get(a) > get(hi) {
				hi = a
			}
		}
		if lo == nil {
			return ""
		}
		return fmt.Sprintf("%.2f (%s) to %.2f (%s)", get(lo), lo.Name, get(hi), hi.Name)
	}
	server := span(func(a *stats.Arm) float64 { return a.ServerCores })
	client := span(func(a *stats.Arm) float64 { return a.ClientCores })
	if server == "" {
		return ""
	}
	return "Cores kept busy: server " + server + ", client " + client + "."
}

// dashes says why percentiles are missing.
func dashes(l *stats.Load) string {
	for i := range l.Arms {
		a := &l.Arms[i]
		for _, p := range []float64{50, 99} {
			if _, ok := stats.Percentile(&a.Latency, a.Censored, p); !ok && a.Trials > a.Void {
				return fmt.Sprintf("%s for a percentile: too few calls (p50 needs %s, p99 %s), or too many were still open when their trial ended.",
					none, thousands(stats.MinSamples(50)), thousands(stats.MinSamples(99)))
			}
		}
	}
	return ""
}

// cores counts the cores of a list such as "0-3,6"; all of them if the list is
// empty or has another form.
func cores(cpus string, all int) int {
	n := 0
	for part := range strings.SplitSeq(cpus, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		lo, err1 := strconv.Atoi(from)
		hi, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || hi < lo {
			return all
		}
		n += hi - lo + 1
	}
	return n
}
