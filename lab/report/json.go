package report

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/stats"
)

// Format is the version of what [JSON] writes. Fields may be added within a
// version; none is renamed or removed.
const Format = 1

// Document is the summary that [JSON] writes. Figures that are not known, or
// that have too few samples, are null.
type Document struct {
	Format  int            `json:"format"`
	Started time.Time      `json:"started"`
	Ended   *time.Time     `json:"ended"`   // null if the run was killed
	Partial string         `json:"partial"` // why the run is not whole, "" if it is
	Build   record.Build   `json:"build"`
	Machine record.Machine `json:"machine"`
	Plan    plan.Plan      `json:"plan"`
	// Headline and Verdict are what may be said in words.
	Headline string    `json:"headline"`
	Verdict  []string  `json:"verdict"`
	Loads    []LoadDoc `json:"loads"`
}

// LoadDoc is one number of callers over one link.
type LoadDoc struct {
	Callers int    `json:"callers"`
	Link    string `json:"link"`
	// Emulated is what an emulated link did; null for loopback. CPU figures are
	// null over an emulated link.
	Emulated *EmulatedDoc `json:"emulated"`
	// ComparedArms is how many arms Holm's correction is over; BlocksNeeded is
	// the least number of blocks with which any of them can be different.
	ComparedArms int       `json:"compared_arms"`
	BlocksNeeded int       `json:"blocks_needed"`
	NoiseFloor   *RatioDoc `json:"noise_floor"` // the baseline over itself
	Arms         []ArmDoc  `json:"arms"`
	Parts        []PartDoc `json:"parts"`
}

// EmulatedDoc is what an emulated link did, over all arms and both directions.
type EmulatedDoc struct {
	Asked      int64 `json:"asked_rtt_ns"`
	RTT        int64 `json:"achieved_rtt_ns"` // of small packets on the idle link, median
	Late       int64 `json:"late_ns"`         // mean lateness of packets under load
	Packets    int64 `json:"packets"`
	Lost       int64 `json:"lost"`
	Overflowed int64 `json:"overflowed"`
}

// ArmDoc is one arm under one load. All figures are of the trials that are not
// void; "per_call" is per call that ended, in the measured time or just after.
type ArmDoc struct {
	Arm            string           `json:"arm"`
	Kind           plan.Kind        `json:"kind"`
	Target         string           `json:"target"`
	Baseline       bool             `json:"baseline"`
	Trials         int              `json:"trials"` // void ones included
	Void           map[string]int   `json:"void"`   // trials by reason
	Calls          int64            `json:"calls"`
	CallsPerSecond *float64         `json:"calls_per_second"` // median of the blocks
	Ratio          *RatioDoc        `json:"ratio"`            // over the baseline
	Test           *TestDoc         `json:"test"`             // null if the arm is not compared
	Latency        LatencyDoc       `json:"latency_ns"`
	Censored       int64            `json:"censored"`
	Errors         map[string]int64 `json:"errors"`
	FirstError     string           `json:"first_error"`
	ServerCPU      *float64         `json:"server_cpu_ns_per_call"`
	ClientCPU      *float64         `json:"client_cpu_ns_per_call"`
	ServerCores    *float64         `json:"server_cores_busy"`
	ClientCores    *float64         `json:"client_cores_busy"`
	PayloadOut     *float64         `json:"payload_bytes_out_per_call"`
	PayloadIn      *float64         `json:"payload_bytes_in_per_call"`
	WireOut        *float64         `json:"wire_bytes_out_per_call"` // with TCP and IP headers
	WireIn         *float64         `json:"wire_bytes_in_per_call"`
	PacketsOut     *float64         `json:"packets_out_per_call"`
	PacketsIn      *float64         `json:"packets_in_per_call"`
	Conns          *float64         `json:"connections_per_call"`
}

// LatencyDoc holds percentiles in nanoseconds.
type LatencyDoc struct {
	P50  *int64 `json:"p50"`
	P90  *int64 `json:"p90"`
	P99  *int64 `json:"p99"`
	P999 *int64 `json:"p99_9"`
}

// RatioDoc is a paired ratio of throughputs.
type RatioDoc struct {
	Median   *float64   `json:"median"`
	Low      *float64   `json:"low"` // null if too few blocks ran for an interval
	High     *float64   `json:"high"`
	Coverage *float64   `json:"coverage"` // exact, at least 0.95
	Blocks   []BlockDoc `json:"blocks"`
}

// BlockDoc is one block's ratio.
type BlockDoc struct {
	Block int     `json:"block"` // from 0
	Ratio float64 `json:"ratio"`
}

// TestDoc is the sign test against a median ratio within 5 % of 1.
type TestDoc struct {
	Above     int     `json:"blocks_above"`
	Below     int     `json:"blocks_below"`
	Within    int     `json:"blocks_within"`
	P         float64 `json:"p"`
	Adjusted  float64 `json:"p_holm"`
	Different bool    `json:"different"`
}

// PartDoc takes an arm's ratio apart with the references beside it and beside
// the baseline.
type PartDoc struct {
	Arm            string    `json:"arm"`
	Reference      string    `json:"reference"`
	BaseReference  string    `json:"baseline_reference"`
	Wire           *RatioDoc `json:"wire"`                    // reference over baseline reference
	Ours           *RatioDoc `json:"arm_over_reference"`      // on the same wire
	BaseOurs       *RatioDoc `json:"baseline_over_reference"` // on the baseline's wire
	Implementation *RatioDoc `json:"implementation"`          // the one over the other
}

// JSON writes the summary as one [Document].
func JSON(w io.Writer, run *record.Run) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(newView(run).document())
}

func (v *view) document() *Document {
	h := &v.run.Header
	d := &Document{
		Format: Format, Started: h.Started, Partial: v.partial, Build: h.Build, Machine: h.Machine, Plan: h.Plan,
		Headline: v.headline(), Verdict: v.verdict(), Loads: []LoadDoc{},
	}
	if v.run.End != nil {
		d.Ended = &v.run.End.Ended
	}
	for i := range v.sum.Loads {
		l := &v.sum.Loads[i]
		doc := LoadDoc{Callers: l.Callers, Link: l.Link, ComparedArms: l.Compared, BlocksNeeded: l.Needed, Arms: []ArmDoc{}, Parts: []PartDoc{}}
		if e := l.Emulated; e != nil {
			doc.Emulated = &EmulatedDoc{int64(e.Asked), int64(e.RTT), int64(e.Late), e.Packets, e.Lost, e.Overflowed}
		}
		if l.Floor != nil {
			doc.NoiseFloor = ratioDoc(l.Floor.Ratio)
		}
		for j := range l.Arms {
			doc.Arms = append(doc.Arms, armDoc(&l.Arms[j]))
		}
		for _, p := range l.Parts {
			doc.Parts = append(doc.Parts, PartDoc{
				Arm: p.Arm, Reference: p.Reference, BaseReference: p.BaseReference, Wire: ratioDoc(p.Wire),
				Ours: ratioDoc(p.Ours), BaseOurs: ratioDoc(p.BaseOurs), Implementation: ratioDoc(p.Implementation),
			})
		}
		d.Loads = append(d.Loads, doc)
	}
	return d
}

func armDoc(a *stats.Arm) ArmDoc {
	doc := ArmDoc{
		Arm: a.Name, Kind: a.Kind, Target: a.Target, Baseline: a.Baseline, Trials: a.Trials, Void: a.Voids,
		Calls: a.Calls, CallsPerSecond: number(a.Rate), Ratio: ratioDoc(a.Ratio),
		Latency:  LatencyDoc{percentileDoc(a, 50), percentileDoc(a, 90), percentileDoc(a, 99), percentileDoc(a, 99.9)},
		Censored: a.Censored, Errors: a.Errors, FirstError: a.FirstError,
		ServerCPU: number(a.ServerCPU * 1e9), ClientCPU: number(a.ClientCPU * 1e9),
		ServerCores: number(a.ServerCores), ClientCores: number(a.ClientCores),
		PayloadOut: number(a.PerCall.PayloadOut), PayloadIn: number(a.PerCall.PayloadIn),
		WireOut: number(a.PerCall.WireOut), WireIn: number(a.PerCall.WireIn),
		PacketsOut: number(a.PerCall.PacketsOut), PacketsIn: number(a.PerCall.PacketsIn),
		Conns: number(a.PerCall.Conns),
	}
	if t := a.Test; t != nil {
		doc.Test = &TestDoc{t.Above, t.Below, t.Within, t.P, t.Adjusted, t.Different}
	}
	return doc
}

func ratioDoc(r stats.Ratio) *RatioDoc {
	if len(r.Blocks) == 0 {
		return nil
	}
	doc := &RatioDoc{Median: number(r.Median), Blocks: []BlockDoc{}}
	if r.Interval != nil {
		doc.Low, doc.High, doc.Coverage = number(r.Interval.Low), number(r.Interval.High), number(r.Interval.Coverage)
	}
	for _, b := range r.Blocks {
		doc.Blocks = append(doc.Blocks, BlockDoc{b.Block, b.Value})
	}
	return doc
}

// number is nil for a figure that is not known.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func percentileDoc(a *stats.Arm, p float64) *int64 {
	if ns, ok := stats.Percentile(&a.Latency, a.Censored, p); ok {
		return &ns
	}
	return nil
}
