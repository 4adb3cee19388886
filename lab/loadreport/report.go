package loadreport

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/stats"
	"github.com/everywire/everywire/lab/threshold"
)

// A Report is all that is said about a load.
type Report struct {
	Run   *record.Run
	Load  *record.Load
	Trial *record.Trial // the one that is shown
	Shape plan.Shape

	// Ops are the operations of a load that has several, in the trial's order.
	Ops []Row
	// Total is of all calls.
	Total Row
	// SocketBytes is set if the total's bytes are those of the sockets, which have
	// the calls that ended after the measured time, too.
	SocketBytes bool
	// Thresholds are in the order in which they were given.
	Thresholds []Outcome
	// Warnings are what a reader must know before they use the figures.
	Warnings []string
}

// A Row is what one operation had, or all of them together. A figure that is not
// known is NaN.
type Row struct {
	Name string
	// Samples are the calls that ended in the measured time: Right ones and Failed
	// ones, the latter by their Errors' kinds.
	Samples, Right, Failed int64
	Errors                 map[string]int64
	// Average, Min, Max and StdDev are of the right replies' time of service, in
	// nanoseconds.
	Average, Min, Max, StdDev float64
	// ErrorShare is the part of the samples that failed.
	ErrorShare float64
	// Throughput is samples a second, RightRate right replies a second.
	Throughput, RightRate float64
	// Out and In are the bytes of all samples, towards the server and back, -1 if
	// they are not known.
	Out, In int64
	// Sent and Received are bytes a second, AverageBytes those received for a
	// sample.
	Sent, Received, AverageBytes float64
	// Service and Intended are at Points, Intended of open loops only.
	Service, Intended []Percentile

	service, intended *record.Hist
	times             record.Times
}

// Points are the percentiles of a report; 100 is the longest time.
var Points = []float64{50, 90, 99, 99.9, 100}

// A Percentile is a time in nanoseconds that so many percent do not pass; Known is
// false if there are not enough calls to say so.
type Percentile struct {
	P     float64
	NS    int64
	Known bool
}

// An Outcome is what became of a threshold.
type Outcome struct {
	Threshold string
	// Text is the threshold and what was measured.
	Text   string
	Failed bool
}

// New makes the report of a load from its record.
func New(run *record.Run) (*Report, error) {
	load := run.Header.Load
	switch {
	case load == nil:
		return nil, errors.New("this is not the record of a load: its header has no load")
	case len(run.Trials) == 0:
		return nil, errors.New("the record holds no result: the load was ended before it could write one")
	}
	t := &run.Trials[len(run.Trials)-1]
	r := &Report{Run: run, Load: load, Trial: t, Shape: run.Header.Plan.Shape}
	r.Total = r.total()
	for i := range t.Ops {
		r.Ops = append(r.Ops, r.operation(&t.Ops[i]))
	}
	for _, text := range load.Thresholds {
		r.Thresholds = append(r.Thresholds, outcome(text, t))
	}
	r.Warnings = r.warnings()
	return r, nil
}

// Failed reports whether a threshold failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Thresholds, func(o Outcome) bool { return o.Failed })
}

// Open reports whether it was an open loop.
func (r *Report) Open() bool { return r.Shape.Open() }

func outcome(text string, t *record.Trial) Outcome {
	limit, err := threshold.Parse(text)
	if err != nil {
		return Outcome{text, fmt.Sprintf("%s: cannot be read, so it has failed: %v", text, err), true}
	}
	said, failed := limit.Failed(t)
	return Outcome{text, said, failed}
}

// total is the row of all calls.
func (r *Report) total() Row {
	t := r.Trial
	row := Row{
		Name: "total", Right: t.Calls, Errors: t.Errors, Out: -1, In: -1,
		service: &t.Latency, intended: &t.Intended, times: t.Times,
	}
	switch {
	case t.Bytes != nil:
		row.Out, row.In = t.Bytes.Out, t.Bytes.In
	case t.Net != nil:
		row.Out, row.In = t.Net.PayloadOut, t.Net.PayloadIn
		r.SocketBytes = true
	}
	r.figures(&row)
	row.RightRate = perSecond(float64(t.Calls)+t.OpenShare, t.Seconds)
	return row
}

func (r *Report) operation(op *record.Op) Row {
	row := Row{
		Name: op.Name, Right: op.Calls, Errors: op.Errors, Out: op.Out, In: op.In,
		service: &op.Latency, intended: &op.Intended, times: op.Times,
	}
	r.figures(&row)
	return row
}

// figures fills in what follows from a row's counts.
func (r *Report) figures(row *Row) {
	for _, n := range row.Errors {
		row.Failed += n
	}
	row.Samples = row.Right + row.Failed
	seconds := r.Trial.Seconds
	row.Throughput, row.RightRate = perSecond(float64(row.Samples), seconds), perSecond(float64(row.Right), seconds)
	row.ErrorShare = float64(row.Failed) / float64(row.Samples)
	row.Sent, row.Received, row.AverageBytes = math.NaN(), math.NaN(), math.NaN()
	if row.Out >= 0 {
		row.Sent = perSecond(float64(row.Out), seconds)
	}
	if row.In >= 0 {
		row.Received, row.AverageBytes = perSecond(float64(row.In), seconds), float64(row.In)/float64(row.Samples)
	}
	row.moments()
	row.Service = r.percentiles(row.service, 0)
	if longest := &row.Service[len(Points)-1]; row.times.Count > 0 {
		longest.NS, longest.Known = row.times.Max, true // exact
	}
	if r.Open() {
		// A call that never began has no time from its intended start: had it one,
		// it would be long.
		row.Intended = r.percentiles(row.intended, r.Trial.Dropped+r.Trial.Unsent)
	}
}

// moments are exact if the record has exact sums; else they are the histogram's,
// which cannot tell the deviation.
func (row *Row) moments() {
	row.Average, row.Min, row.Max, row.StdDev = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	switch {
	case row.times.Count > 0:
		row.Average, row.StdDev = row.times.Mean, row.times.StdDev()
		row.Min, row.Max = float64(row.times.Min), float64(row.times.Max)
	case row.service.Count() > 0:
		row.Average = row.service.Mean()
		row.Min, row.Max = float64(row.service.Percentile(0)), float64(row.service.Percentile(100))
	}
}

// percentiles are those of Points. never are calls that would be in the histogram
// if they had begun.
func (r *Report) percentiles(h *record.Hist, never int64) []Percentile {
	list := make([]Percentile, 0, len(Points))
	for _, p := range Points {
		at := Percentile{P: p}
		if p < 100 {
			at.NS, at.Known = stats.Percentile(h, r.Trial.Censored+never, p)
		} else if h.Count() > 0 {
			at.NS, at.Known = h.Percentile(100), true
		}
		list = append(list, at)
	}
	return list
}

// Kinds are the kinds of a row's errors, most frequent first.
func (row *Row) Kinds() []string {
	return slices.SortedFunc(maps.Keys(row.Errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(row.Errors[b], row.Errors[a]), cmp.Compare(a, b))
	})
}

// perSecond is NaN if no time was measured.
func perSecond(n, seconds float64) float64 {
	if !(seconds > 0) {
		return math.NaN()
	}
	return n / seconds
}
