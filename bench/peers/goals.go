package main

import (
	"fmt"
	"math"

	"github.com/everywire/everywire/bench/peers/peer"
	"github.com/everywire/everywire/lab/stats"
)

// The names of the peers that goals are about.
const (
	rawName        = "raw"
	jsonrpcName    = "jsonrpc+tcp"
	msgpackrpcName = "msgpackrpc+tcp"
	grpcName       = "grpc"
	restName       = "rest"
	mountedName    = "rest-handler"
	fastHTTPName   = "fasthttp"
	netHTTPName    = "net/http"
)

// A verdict is what a figure comes to beside its goal.
type verdict string

const (
	pass  verdict = "pass"
	short verdict = "short"
	// open is a figure that proves nothing: too few rounds.
	open verdict = "open"
)

// A finding is a goal and what was measured.
type finding struct {
	What    string  `json:"what"`
	Goal    string  `json:"goal"`
	Figure  float64 `json:"figure"`
	Unit    string  `json:"unit,omitempty"`
	Verdict verdict `json:"verdict"`
	Note    string  `json:"note,omitempty"`
}

// atLeast and atMost judge a figure that shall reach, or not pass, a bound.
func atLeast(what string, figure, bound float64, unit string) finding {
	return finding{what, fmt.Sprintf("≥ %v%s", bound, unit), figure, unit, judged(figure >= bound), ""}
}

func atMost(what string, figure, bound float64, unit string) finding {
	return finding{what, fmt.Sprintf("≤ %v%s", bound, unit), figure, unit, judged(figure <= bound), ""}
}

func judged(ok bool) verdict {
	if ok {
		return pass
	}
	return short
}

// sameLevel is the coverage of the interval in which 1 must lie for two peers
// to be "not distinguished". It is high because there is one question for each
// load; with it eight rounds are needed.
const sameLevel = 0.99

// judge compares what was measured with the goals for it.
func judge(tables []table) []finding {
	var found []finding
	for _, t := range tables {
		ours, ok := t.row(jsonrpcName)
		if ok && t.Load.Size == 64 {
			add := func(over string, ratio, bound float64) {
				if !math.IsNaN(ratio) {
					found = append(found, atLeast(fmt.Sprintf("%s over %s, %v", jsonrpcName, over, t.Load), ratio, bound, "x"))
				}
			}
			switch (load{t.Load.Callers, t.Load.Conns, 0}) {
			case load{1, 1, 0}:
				add(rawName, ours.Raw, 0.75)
				add("the fastest framework", ours.Fastest, 2.5)
			case load{64, 1, 0}:
				add("the fastest framework", ours.Fastest, 3)
			case load{64, 64, 0}:
				add(rawName, ours.Raw, 0.75)
			}
		}
		found = append(found, judgeREST(&t)...)
		if ratios := t.ratios(msgpackrpcName, jsonrpcName); len(ratios) > 0 {
			found = append(found, notBelow(fmt.Sprintf("%s over %s, %v", msgpackrpcName, jsonrpcName, t.Load), ratios))
		}
	}
	return found
}

// judgeREST compares rest with other HTTP, at one caller and at callers with a
// connection each.
func judgeREST(t *table) []finding {
	if t.Load.Callers != t.Load.Conns || t.Load.Size != 64 && t.Load.Size != document {
		return nil
	}
	var found []finding
	add := func(ours, over string, bound float64) {
		if ratios := t.ratios(ours, over); len(ratios) > 0 {
			found = append(found, atLeast(fmt.Sprintf("%s over %s, %v", ours, over, t.Load), stats.Median(ratios), bound, "x"))
		}
	}
	add(restName, fastHTTPName, 1)
	add(restName, netHTTPName, 2.2)
	add(mountedName, netHTTPName, 1.1)
	// The rows are kind by kind, the fastest first.
	for _, r := range t.Rows {
		if r.Peer.Kind == peer.API {
			add(restName, r.Peer.Name, 2.5)
			break
		}
	}
	return found
}

// notBelow passes ratios whose median is at least 1 or not distinguished from
// it.
func notBelow(what string, ratios []float64) finding {
	f := finding{What: what, Goal: "≥ 1x, or not distinguished", Figure: stats.Median(ratios), Unit: "x"}
	interval, ok := stats.MedianInterval(ratios, sameLevel)
	if ok {
		f.Note = fmt.Sprintf("%.2f to %.2f", interval.Low, interval.High)
	}
	switch {
	case f.Figure >= 1 || ok && interval.High >= 1:
		f.Verdict = pass
	case ok:
		f.Verdict = short
	default:
		f.Verdict, f.Note = open, "too few rounds to tell from 1"
	}
	return f
}

func (t *table) row(name string) (row, bool) {
	for _, r := range t.Rows {
		if r.Peer.Name == name && !math.IsNaN(r.Rate) {
			return r, true
		}
	}
	return row{}, false
}
