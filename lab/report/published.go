package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/stats"
)

// The article whose figures stand beside ours.
const publishedSource = `"Is it time to replace REST with RPC?"`

// published are the bytes of TCP payload per call of Sum that the article gives.
type published struct {
	Wire    string
	Out, In float64
}

var (
	publishedHTTP    = published{"JSON over HTTP", 221, 141}
	publishedTCP     = published{"JSON over TCP", 60, 40}
	publishedMsgpack = published{"MessagePack over TCP", 40, 27}
)

// A publishedRow is an arm's bytes per call beside the article's.
type publishedRow struct {
	Arm         string
	Here, There string
	Wire        string
}

// published returns the rows of the comparison, none if the run is not of Sum.
func (v *view) published() []publishedRow {
	if v.plan.Service != "arith" || len(v.sum.Loads) == 0 {
		return nil
	}
	var rows []publishedRow
	l := &v.sum.Loads[0]
	for i := range l.Arms {
		a := &l.Arms[i]
		there, ok := v.articleWire(a)
		here := pair(a.PerCall.PayloadOut, a.PerCall.PayloadIn)
		if !ok || a.Again || here == none || a.ErrorCount > 0 {
			// What failed calls sent is in the sum, and no figure of the wire.
			continue
		}
		rows = append(rows, publishedRow{a.Name, here, pair(there.Out, there.In), there.Wire})
	}
	return rows
}

// articleCalls is how many calls the article's program makes by its README;
// its bytes per call are of those.
const articleCalls = 1000

// idNote says what the length of ids does to the bytes of JSON-RPC, "" if
// there is nothing to say: ids count up, and a run of more calls than the
// article's has longer ones, which is no property of the wire.
func (v *view) idNote() string {
	rows := v.published()
	if len(rows) == 0 {
		return ""
	}
	l := &v.sum.Loads[0]
	theirs := meanDigits(1, articleCalls)
	var words []string
	for i := range l.Arms {
		a := &l.Arms[i]
		there, ok := v.articleWire(a)
		digits := v.idDigits(a.Name, l)
		if !ok || there != publishedTCP || a.Again || a.ErrorCount > 0 || digits == 0 || math.IsNaN(a.PerCall.PayloadOut) {
			continue
		}
		words = append(words, fmt.Sprintf("%s %s instead of %s (ids of %.1f digits on average)",
			a.Name, pair(a.PerCall.PayloadOut-digits+theirs, a.PerCall.PayloadIn-digits+theirs), pair(a.PerCall.PayloadOut, a.PerCall.PayloadIn), digits))
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("JSON-RPC ids count up, and this run made more calls than the article's %d, whose ids have %.1f digits on average. With ids as long as those: %s.",
		articleCalls, theirs, list(words))
}

// idDigits is the mean length of the ids of an arm's measured calls, 0 if it
// is not known: of one caller on one connection, which counts from 1 and made
// the calls of the warm-up first.
func (v *view) idDigits(arm string, l *stats.Load) float64 {
	if l.Callers != 1 {
		return 0
	}
	var digits, calls float64
	for i := range v.run.Trials {
		t := &v.run.Trials[i]
		if t.Arm != arm || t.Callers != l.Callers || t.Network() != l.Link || t.Void != "" || t.Ended() == 0 {
			continue
		}
		n := float64(t.Ended())
		before := n * v.plan.Warmup.Seconds() / t.Seconds
		digits += n * meanDigits(int64(before)+1, int64(before+n))
		calls += n
	}
	if calls == 0 {
		return 0
	}
	return digits / calls
}

// meanDigits is the mean number of decimal digits of the integers from first
// to last.
func meanDigits(first, last int64) float64 {
	var sum float64
	for n, low := 1, int64(1); low <= last; n, low = n+1, low*10 {
		if from, to := max(first, low), min(last, low*10-1); from <= to {
			sum += float64(n) * float64(to-from+1)
		}
	}
	return sum / float64(last-first+1)
}

// articleWire finds the wire of the article that an arm corresponds to; a
// reference corresponds to what the arm that it stands beside does.
func (v *view) articleWire(a *stats.Arm) (published, bool) {
	target := a.Target
	if a.Kind == plan.Reference {
		beside := v.plan.Arm(a.Beside)
		if beside == nil {
			return published{}, false
		}
		target = beside.Target
	}
	wire, _, _ := strings.Cut(target, "?")
	switch wire {
	case "rest", "rest+http", "jsonrpc+http":
		return publishedHTTP, true
	case "jsonrpc+tcp", "jsonrpc":
		return publishedTCP, true
	case "msgpackrpc+tcp", "msgpackrpc":
		return publishedMsgpack, true
	}
	return published{}, false
}
