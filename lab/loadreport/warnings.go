package loadreport

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/everywire/everywire/lab/report"
	"github.com/everywire/everywire/lab/stats"
)

// The shares from which there is a warning; the reasons are in
// docs/spec/load-report.md.
const (
	busyGenerator = 0.9   // of its cores
	latePacer     = 0.001 // of the scheduled calls
	lateCallers   = 0.01  // of the scheduled calls
	manyOpen      = 0.01  // of the calls that began
	muchStolen    = 0.01  // of the machine's CPU time
)

// warnings are what a reader must know before they use the figures, the worst
// first.
func (r *Report) warnings() []string {
	var list []string
	for _, w := range []func() string{
		r.void, r.partial, r.sums, r.empty, r.errors, r.generator, r.pacer, r.callers, r.given, r.unsent, r.open, r.stolen, r.few, r.earlier,
	} {
		if s := w(); s != "" {
			list = append(list, s)
		}
	}
	return append(list, r.Trial.Warnings...)
}

func (r *Report) void() string {
	if r.Trial.Void == "" {
		return ""
	}
	return fmt.Sprintf("Void: %s. The figures tell of the load generator, not of what it called: use none of them.", r.Trial.Void)
}

func (r *Report) partial() string {
	switch end := r.Run.End; {
	case end == nil:
		return "The record has no end: the load was killed."
	case end.Partial != "":
		return fmt.Sprintf("The load ended early (%s): the figures are of the %s until then.", strings.TrimSuffix(report.Short(end.Partial), "."), seconds(r.Trial.Seconds))
	}
	return ""
}

// sums compares counts that the engine makes apart from each other.
func (r *Report) sums() string {
	t := r.Trial
	var off []string
	if n := t.Latency.Count(); n != t.Calls {
		off = append(off, fmt.Sprintf("%s right replies, but %s latencies", report.Whole(t.Calls), report.Whole(n)))
	}
	if n := t.Ended() + t.Dropped + t.Unsent; r.Open() && n != t.Scheduled {
		off = append(off, fmt.Sprintf("%s scheduled calls, but %s with a fate", report.Whole(t.Scheduled), report.Whole(n)))
	}
	var right, failed int64
	for i := range r.Ops {
		right, failed = right+r.Ops[i].Right, failed+r.Ops[i].Failed
	}
	if len(r.Ops) > 0 && (right != r.Total.Right || failed != r.Total.Failed) {
		off = append(off, fmt.Sprintf("the operations together have %s right replies and %s failed calls, all calls %s and %s",
			report.Whole(right), report.Whole(failed), report.Whole(r.Total.Right), report.Whole(r.Total.Failed)))
	}
	if len(off) == 0 {
		return ""
	}
	return "The record's counts do not agree, so do not trust it: " + strings.Join(off, "; ") + "."
}

func (r *Report) empty() string {
	if r.Total.Right > 0 {
		return ""
	}
	return "There was no right reply: nothing can be said about times."
}

func (r *Report) errors() string {
	if !(r.Total.ErrorShare > stats.MaxErrors) || r.Total.Right == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the samples failed. Times are of the right replies alone, and failing is often quicker, or slower, than answering: what is left may be no fair picture.",
		Percent(r.Total.ErrorShare))
}

// Busy is how many cores the generator kept busy, and how many it had.
func (r *Report) Busy() (busy float64, of int) {
	m := &r.Run.Header.Machine
	return perSecond(r.Trial.ClientCPU, r.Trial.Seconds), report.Cores(m.ClientCores, m.Cores)
}

func (r *Report) generator() string {
	busy, of := r.Busy()
	if !(busy > busyGenerator*float64(of)) || of == 0 {
		return ""
	}
	return fmt.Sprintf("The generator kept %.2f of its %s busy: the rate may be its own ceiling, and replies may have waited to be read. Give it more cores or another machine, or a lower load.",
		busy, report.Count(of, "core"))
}

// share is a part of the calls that an open loop was to begin.
func (r *Report) share(n int64) float64 {
	if r.Trial.Scheduled == 0 {
		return 0
	}
	return float64(n) / float64(r.Trial.Scheduled)
}

func (r *Report) callsAndShare(n int64) string {
	return fmt.Sprintf("%s (%s)", report.Count(int(n), "call"), Percent(r.share(n)))
}

func were(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func (r *Report) pacer() string {
	n := r.Trial.PacerLate
	if r.share(n) <= latePacer {
		return ""
	}
	return fmt.Sprintf("The pacer was late: %s began more than 1 ms after their time although a caller was free. The times from the intended start have the generator's own delay in them: give it idle cores, or a lower rate.",
		r.callsAndShare(n))
}

func (r *Report) callers() string {
	n := r.Trial.Late - r.Trial.PacerLate
	if r.share(n) <= lateCallers {
		return ""
	}
	return fmt.Sprintf("%s began late because no caller was free: all %s were waiting for replies. The times from the intended start have that wait in them, the times of service have not; with more callers it goes to the target.",
		r.callsAndShare(n), report.Whole(int64(r.Trial.Callers)))
}

func (r *Report) given() string {
	if r.Trial.Dropped == 0 {
		return ""
	}
	return fmt.Sprintf("%s had waited for a free caller as long as was allowed and %s dropped: in no percentile.", r.callsAndShare(r.Trial.Dropped), were(r.Trial.Dropped))
}

func (r *Report) unsent() string {
	if r.Trial.Unsent == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s due and had not begun at the end: the target did not keep up with the rate. In no percentile.", r.callsAndShare(r.Trial.Unsent), were(r.Trial.Unsent))
}

func (r *Report) open() string {
	n, ended := r.Trial.Censored, r.Trial.Ended()
	if ended == 0 || float64(n) <= manyOpen*float64(ended) {
		return ""
	}
	return fmt.Sprintf("%s (%s of those that began) %s still open at the end and in no percentile: measure for longer.",
		report.Count(int(n), "call"), Percent(float64(n)/float64(ended)), were(n))
}

func (r *Report) stolen() string {
	all := float64(r.Run.Header.Machine.Cores) * r.Trial.Seconds
	if !(r.Trial.Stolen > muchStolen*all) {
		return ""
	}
	return fmt.Sprintf("The machine's host took %s of its CPU time away: the figures have that in them.", Percent(r.Trial.Stolen/all))
}

// few says which percentiles are missing in the total, and why. That p99.9 has too
// few calls is what most loads are like, and no warning.
func (r *Report) few() string {
	if r.Total.Right == 0 {
		return ""
	}
	var few, cut []string
	for i, list := range [][]Percentile{r.Total.Service, r.Total.Intended} {
		for _, p := range list {
			name := PointName(p.P)
			switch {
			case p.Known:
			case r.Total.Right < stats.MinSamples(p.P):
				if i == 0 && p.P <= 99 {
					few = append(few, fmt.Sprintf("%s (needs %s)", name, report.Whole(stats.MinSamples(p.P))))
				}
			case i == 0:
				cut = append(cut, name)
			case r.Total.Service[slices.Index(Points, p.P)].Known:
				cut = append(cut, name+" from the intended start")
			}
		}
	}
	var s []string
	if len(few) > 0 {
		s = append(s, fmt.Sprintf("Too few right replies (%s) for %s.", report.Whole(r.Total.Right), report.List(few)))
	}
	if len(cut) > 0 {
		s = append(s, fmt.Sprintf("There is no %s: more calls have no time, being open at the end, dropped or unsent, than lie beyond it.", report.List(cut)))
	}
	return strings.Join(s, " ")
}

func (r *Report) earlier() string {
	if n := len(r.Run.Trials); n > 1 {
		return fmt.Sprintf("The record holds %d results; this is the last.", n)
	}
	return ""
}

// PointName is what a percentile is called: "p99.9", "max".
func PointName(p float64) string {
	if p == 100 {
		return "max"
	}
	return "p" + strconv.FormatFloat(p, 'f', -1, 64)
}

// Percent writes a share of 1: "0.12 %".
func Percent(share float64) string {
	switch v := share * 100; {
	case math.IsNaN(v):
		return report.None
	case v == 0 || v == 100:
		return strconv.FormatFloat(v, 'f', 0, 64) + " %"
	case v < 0.01:
		return "<0.01 %"
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64) + " %"
	case v > 99.9:
		return ">99.9 %"
	default:
		return strconv.FormatFloat(v, 'f', 1, 64) + " %"
	}
}

// seconds writes a time as people say it: "30 s", "0.52 s".
func seconds(s float64) string {
	return strconv.FormatFloat(math.Round(s*100)/100, 'f', -1, 64) + " s"
}
