package loadreport

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

// Format is the version of [Document].
const Format = 1

// A Document is the report as JSON. Times are in nanoseconds, shares are of 1; a
// figure that is not known is null.
type Document struct {
	Format  int       `json:"format"`
	Started time.Time `json:"started"`
	// Partial says why the load ended early, Void why its figures count for
	// nothing; "" if neither is so.
	Partial string         `json:"partial"`
	Void    string         `json:"void"`
	Build   record.Build   `json:"build"`
	Machine record.Machine `json:"machine"`
	Load    record.Load    `json:"load"`
	Plan    plan.Plan      `json:"plan"`
	Callers int            `json:"callers"`
	Open    bool           `json:"open_loop"`
	// Seconds is the measured time.
	Seconds float64 `json:"seconds"`

	Total      RowDoc   `json:"total"`
	Operations []RowDoc `json:"operations"` // none if there is but one
	Calls      FateDoc  `json:"calls"`
	FirstError string   `json:"first_error"`

	Generator GeneratorDoc `json:"generator"`
	// SocketBytes is set if the total's bytes are those of the sockets.
	SocketBytes bool `json:"socket_bytes"`

	Thresholds []OutcomeDoc `json:"thresholds"`
	// Failed is set if a threshold failed.
	Failed   bool            `json:"failed"`
	Warnings []string        `json:"warnings"`
	Timeline []record.Second `json:"timeline"`
}

// RowDoc is one operation, or all of them.
type RowDoc struct {
	Name         string           `json:"name"`
	Samples      int64            `json:"samples"`
	Right        int64            `json:"right"`
	Failed       int64            `json:"failed"`
	Errors       map[string]int64 `json:"errors"`
	ErrorShare   *float64         `json:"error_share"`
	Average      *float64         `json:"average_ns"`
	Min          *float64         `json:"min_ns"`
	Max          *float64         `json:"max_ns"`
	StdDev       *float64         `json:"std_dev_ns"`
	Throughput   *float64         `json:"throughput_per_second"`
	RightRate    *float64         `json:"right_per_second"`
	Received     *float64         `json:"received_bytes_per_second"`
	Sent         *float64         `json:"sent_bytes_per_second"`
	AverageBytes *float64         `json:"average_bytes"`
	Out          *int64           `json:"sent_bytes"`
	In           *int64           `json:"received_bytes"`
	// Service and Intended have "p50", "p90", "p99", "p99.9" and "max".
	Service  map[string]*int64 `json:"service_ns"`
	Intended map[string]*int64 `json:"intended_ns,omitempty"`
}

// FateDoc is what became of the calls; those of Scheduled and below are of open
// loops.
type FateDoc struct {
	Right     int64 `json:"right"`
	Failed    int64 `json:"failed"`
	Censored  int64 `json:"censored"`
	Scheduled int64 `json:"scheduled"`
	Dropped   int64 `json:"dropped"`
	Unsent    int64 `json:"unsent"`
	Late      int64 `json:"late"`
	PacerLate int64 `json:"pacer_late"`
}

// GeneratorDoc is what the load generator itself did.
type GeneratorDoc struct {
	CPUSeconds float64  `json:"cpu_seconds"`
	CoresBusy  *float64 `json:"cores_busy"`
	Cores      int      `json:"cores"`
	// LagP50, LagP99 and LagMax are its own delays before calls of an open loop.
	LagP50 *int64 `json:"lag_p50_ns"`
	LagP99 *int64 `json:"lag_p99_ns"`
	LagMax *int64 `json:"lag_max_ns"`
}

// OutcomeDoc is what became of a threshold.
type OutcomeDoc struct {
	Threshold string `json:"threshold"`
	Text      string `json:"text"`
	Failed    bool   `json:"failed"`
}

// JSON writes the report as one [Document].
func (r *Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r.Document())
}

// Document is the report for programs.
func (r *Report) Document() *Document {
	h, t := &r.Run.Header, r.Trial
	d := &Document{
		Format: Format, Started: h.Started, Void: t.Void, Build: h.Build, Machine: h.Machine, Load: *r.Load, Plan: h.Plan,
		Callers: t.Callers, Open: r.Open(), Seconds: t.Seconds, Total: r.Total.document(), Operations: []RowDoc{},
		Calls: FateDoc{
			Right: t.Calls, Failed: r.Total.Failed, Censored: t.Censored,
			Scheduled: t.Scheduled, Dropped: t.Dropped, Unsent: t.Unsent, Late: t.Late, PacerLate: t.PacerLate,
		},
		FirstError: t.FirstError, SocketBytes: r.SocketBytes, Thresholds: []OutcomeDoc{}, Failed: r.Failed(),
		Warnings: append([]string{}, r.Warnings...), Timeline: append([]record.Second{}, t.Timeline...),
	}
	d.Partial = "killed"
	if end := r.Run.End; end != nil {
		d.Partial = end.Partial
	}
	for i := range r.Ops {
		d.Operations = append(d.Operations, r.Ops[i].document())
	}
	for _, o := range r.Thresholds {
		d.Thresholds = append(d.Thresholds, OutcomeDoc(o))
	}
	busy, of := r.Busy()
	d.Generator = GeneratorDoc{CPUSeconds: t.ClientCPU, CoresBusy: number(busy), Cores: of}
	if t.Lag.Count() > 0 {
		at := func(p float64) *int64 { ns := t.Lag.Percentile(p); return &ns }
		d.Generator.LagP50, d.Generator.LagP99, d.Generator.LagMax = at(50), at(99), at(100)
	}
	return d
}

func (row *Row) document() RowDoc {
	d := RowDoc{
		Name: row.Name, Samples: row.Samples, Right: row.Right, Failed: row.Failed, Errors: row.Errors,
		ErrorShare: number(row.ErrorShare), Average: number(row.Average), Min: number(row.Min), Max: number(row.Max), StdDev: number(row.StdDev),
		Throughput: number(row.Throughput), RightRate: number(row.RightRate), Received: number(row.Received), Sent: number(row.Sent),
		AverageBytes: number(row.AverageBytes), Out: bytesOf(row.Out), In: bytesOf(row.In),
		Service: points(row.Service), Intended: points(row.Intended),
	}
	if d.Errors == nil {
		d.Errors = map[string]int64{}
	}
	return d
}

func points(list []Percentile) map[string]*int64 {
	if len(list) == 0 {
		return nil
	}
	m := map[string]*int64{}
	for _, p := range list {
		m[PointName(p.P)] = p.value()
	}
	return m
}

// value is nil if the percentile is not known.
func (p Percentile) value() *int64 {
	if !p.Known {
		return nil
	}
	return &p.NS
}

func bytesOf(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// number is nil for a figure that is not known.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
