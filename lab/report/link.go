package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/stats"
)

// linked says whether the run has a link to speak of: with loopback alone
// nothing is said about links.
func (v *view) linked() bool { return len(v.plan.Links) > 1 || v.plan.Networks()[0] != plan.Loopback }

// loadName names a load: "32 callers", and over which link if there are any to
// speak of.
func (v *view) loadName(l *stats.Load) string {
	s := count(l.Callers, "caller")
	if v.linked() {
		s += " over " + l.Link
	}
	return s
}

// heading is the name of a load with what its link achieved.
func (v *view) heading(l *stats.Load) string {
	s := v.loadName(l)
	if l.Emulated != nil && l.Emulated.RTT > 0 {
		s += " (achieved " + roundTrip(l.Emulated.RTT) + ")"
	}
	return s
}

// roundTrip writes a link's round-trip time in milliseconds, to the
// microsecond.
func roundTrip(d time.Duration) string {
	s := strconv.FormatFloat(float64(d)/1e6, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + "ms"
}

// overLinks says which links a run has, "" if only loopback.
func (v *view) overLinks() string {
	if !v.linked() {
		return ""
	}
	return " over " + list(v.plan.Networks())
}

// loadID is an id for an element of the page that belongs to a load.
func loadID(prefix string, l *stats.Load) string {
	id := fmt.Sprintf("%s-%d", prefix, l.Callers)
	if l.Link != plan.Loopback {
		id += "-" + strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return '-'
		}, l.Link)
	}
	return id
}

// linkNote says what an emulated link did beside what was asked of it, "" for
// loopback.
func linkNote(l *stats.Load) string {
	e := l.Emulated
	switch {
	case e == nil:
		return ""
	case e.Packets == 0:
		return "Emulated link " + l.Link + ": no trial tells what it did."
	}
	s := fmt.Sprintf("Emulated link %s: small packets took %s there and back on the idle link; under load packets came %s later than due on average. Of %s packets %s",
		l.Link, roundTrip(e.RTT), latency(int64(e.Late)), thousands(e.Packets), dropped(e.Lost, e.Packets, "lost"))
	if e.Overflowed > 0 {
		s += " and " + dropped(e.Overflowed, e.Packets, "dropped because the line's buffer was full")
	}
	return s + ". CPU figures come from loopback only."
}

func dropped(n, of int64, how string) string {
	be := "were"
	if n == 1 {
		be = "was"
	}
	if n == 0 {
		return "none were " + how
	}
	return fmt.Sprintf("%s (%.2g %%) %s %s", thousands(n), 100*float64(n)/float64(of), be, how)
}

// missed says that a link was far from what was asked, "" if it was not.
func missed(l *stats.Load) string {
	e := l.Emulated
	if e == nil || e.Asked == 0 || e.RTT <= e.Asked+e.Asked/20 || e.RTT-e.Asked < rttTolerance {
		return ""
	}
	return fmt.Sprintf("The link's round trip was %s, not %s: the machine was too busy to emulate it.", roundTrip(e.RTT), roundTrip(e.Asked))
}

// rttTolerance is by how much a round trip may be too long without a word: two
// delays, each good to 0.1 ms.
const rttTolerance = 200 * time.Microsecond

// roundTrips is the median call in round trips of the link that was asked for.
func roundTrips(l *stats.Load, a *stats.Arm) string {
	ns, ok := stats.Percentile(&a.Latency, a.Censored, 50)
	if !ok || l.Emulated == nil || l.Emulated.Asked == 0 {
		return none
	}
	return strconv.FormatFloat(float64(ns)/float64(l.Emulated.Asked), 'f', 2, 64)
}
