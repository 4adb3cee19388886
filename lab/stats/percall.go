package stats

import (
	"math"

	"github.com/everywire/everywire/lab/record"
)

// netSums adds up the traffic of an arm's trials.
type netSums struct {
	calls   int64
	net     record.Net
	unknown struct{ packets, wire bool }
}

// add counts one trial; a trial without network counts adds neither calls nor
// bytes.
func (s *netSums) add(t *record.Trial) {
	n := t.Net
	if n == nil {
		return
	}
	s.calls += t.Ended()
	s.net.Conns += n.Conns
	s.net.PayloadOut += n.PayloadOut
	s.net.PayloadIn += n.PayloadIn
	s.net.PacketsOut += n.PacketsOut
	s.net.PacketsIn += n.PacketsIn
	s.net.WireOut += n.WireOut
	s.net.WireIn += n.WireIn
	s.unknown.packets = s.unknown.packets || n.PacketsOut < 0 || n.PacketsIn < 0
	s.unknown.wire = s.unknown.wire || n.WireOut < 0 || n.WireIn < 0
}

func (s *netSums) perCall() PerCall {
	div := func(n int64, unknown bool) float64 {
		if unknown {
			return math.NaN()
		}
		return over(float64(n), s.calls)
	}
	return PerCall{
		PayloadOut: div(s.net.PayloadOut, false),
		PayloadIn:  div(s.net.PayloadIn, false),
		WireOut:    div(s.net.WireOut, s.unknown.wire),
		WireIn:     div(s.net.WireIn, s.unknown.wire),
		PacketsOut: div(s.net.PacketsOut, s.unknown.packets),
		PacketsIn:  div(s.net.PacketsIn, s.unknown.packets),
		Conns:      div(s.net.Conns, false),
	}
}
