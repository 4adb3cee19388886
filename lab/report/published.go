package report

import (
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
		if !ok || a.Again || here == none {
			continue
		}
		rows = append(rows, publishedRow{a.Name, here, pair(there.Out, there.In), there.Wire})
	}
	return rows
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
