package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/flowmetrics"
)

// A flowSummary counts and times what apps do, to say it at the end. It is a
// [flow.Observer].
type flowSummary struct {
	mu      sync.Mutex
	took    map[flowKey]*tally
	skipped map[flowKey]int64 // by trigger
}

// A flowKey is a flow, one of its activities, or a trigger, of an app. Two files may
// have one name and version: they are then counted together, as metrics are.
type flowKey struct{ app, version, name, activity string }

// A tally is of the runs of a flow or of an activity.
type tally struct {
	started, completed, failed, canceled int64
	sum, most                            time.Duration
	times                                *hdrhistogram.Histogram // in ns, to 1 %
}

func newFlowSummary() *flowSummary {
	return &flowSummary{took: map[flowKey]*tally{}, skipped: map[flowKey]int64{}}
}

func (s *flowSummary) of(key flowKey) *tally {
	t := s.took[key]
	if t == nil {
		t = &tally{times: hdrhistogram.New(1, int64(time.Hour), 2)}
		s.took[key] = t
	}
	return t
}

func (s *flowSummary) start(key flowKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(key).started++
}

func (s *flowSummary) end(key flowKey, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.of(key)
	switch flowmetrics.State(err) {
	case flowmetrics.Completed:
		t.completed++
	case flowmetrics.Canceled:
		t.canceled++
	default:
		t.failed++
	}
	t.sum += took
	t.most = max(t.most, took)
	_ = t.times.RecordValue(min(max(int64(took), 1), int64(time.Hour))) // it is in range
}

func (s *flowSummary) FlowStarted(f *flow.FlowInfo) { s.start(flowKey{f.App, f.Version, f.Flow, ""}) }

func (s *flowSummary) FlowEnded(f *flow.FlowInfo, took time.Duration, err error) {
	s.end(flowKey{f.App, f.Version, f.Flow, ""}, took, err)
}

func (s *flowSummary) ActivityStarted(a *flow.ActivityInfo) {
	s.start(flowKey{a.App, a.Version, a.Flow, a.Activity})
}

func (s *flowSummary) ActivityEnded(a *flow.ActivityInfo, took time.Duration, err error) {
	s.end(flowKey{a.App, a.Version, a.Flow, a.Activity}, took, err)
}

func (s *flowSummary) TickSkipped(t *flow.TriggerInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped[flowKey{t.App, t.Version, t.Trigger, ""}]++
}

// A countedDoc is what is said of a flow or an activity.
type countedDoc struct {
	Started   int64 `json:"started"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Canceled  int64 `json:"canceled"`
	// The times are of those that have ended; null if none has.
	Mean   *float64 `json:"mean_seconds"`
	Median *float64 `json:"median_seconds"`
	Max    *float64 `json:"max_seconds"`
}

type activityDoc struct {
	Activity string `json:"activity"`
	Kind     string `json:"kind"`
	countedDoc
}

type flowDoc struct {
	Application string `json:"application"`
	Version     string `json:"version"`
	Flow        string `json:"flow"`
	countedDoc
	Activities []activityDoc `json:"activities"`
}

type timerDoc struct {
	Application string `json:"application"`
	Version     string `json:"version"`
	Trigger     string `json:"trigger"`
	Skipped     int64  `json:"ticks_skipped"`
}

type summaryDoc struct {
	Flows  []flowDoc  `json:"flows"`
	Timers []timerDoc `json:"timers"`
}

// doc says it in the order of the files.
func (s *flowSummary) doc(files []*flow.File) summaryDoc {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := summaryDoc{Flows: []flowDoc{}, Timers: []timerDoc{}}
	for _, file := range files {
		for _, f := range file.Flows {
			key := flowKey{file.App, file.Version, f.Name, ""}
			one := flowDoc{file.App, file.Version, f.Name, s.counted(key), []activityDoc{}}
			var add func(steps []*flow.Step)
			add = func(steps []*flow.Step) {
				for _, step := range steps {
					key.activity = step.Name
					one.Activities = append(one.Activities, activityDoc{step.Name, step.Kind(), s.counted(key)})
					add(step.Parallel)
				}
			}
			add(f.Steps)
			d.Flows = append(d.Flows, one)
		}
		for _, t := range file.Triggers {
			if t.Timer != nil {
				d.Timers = append(d.Timers, timerDoc{file.App, file.Version, t.Name, s.skipped[flowKey{file.App, file.Version, t.Name, ""}]})
			}
		}
	}
	return d
}

func (s *flowSummary) counted(key flowKey) countedDoc {
	t := s.took[key]
	if t == nil {
		return countedDoc{}
	}
	d := countedDoc{Started: t.started, Completed: t.completed, Failed: t.failed, Canceled: t.canceled}
	if n := t.completed + t.failed + t.canceled; n > 0 {
		seconds := func(d time.Duration) *float64 {
			x := d.Seconds()
			return &x
		}
		d.Mean = seconds(t.sum / time.Duration(n))
		d.Median = seconds(min(time.Duration(t.times.ValueAtPercentile(50)), t.most))
		d.Max = seconds(t.most)
	}
	return d
}

func (d summaryDoc) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

// print writes a table.
func (d summaryDoc) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, leftCell("flow, activity"), "\truns\tfailed\tcanceled\tmean\tmedian\tmax\t\n")
	row := func(name string, c countedDoc) {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\t%s\t\n", leftCell(name), c.Started, c.Failed, c.Canceled, threeDigits(c.Mean), threeDigits(c.Median), threeDigits(c.Max))
	}
	for _, f := range d.Flows {
		row(f.Application+": "+f.Flow, f.countedDoc)
		for _, a := range f.Activities {
			name := "  " + a.Activity
			if !strings.HasPrefix(a.Activity, a.Kind) {
				name += " (" + a.Kind + ")"
			}
			row(name, a.countedDoc)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, timer := range d.Timers {
		if timer.Skipped > 0 {
			fmt.Fprintf(w, "%s: the timer %s skipped %d ticks, since as many runs as may be were under way\n", timer.Application, timer.Trigger, timer.Skipped)
		}
	}
	return nil
}

// leftCell is the first cell of a row, whose width is fixed, as all others are
// aligned to the right.
func leftCell(text string) string {
	const width = 36
	r := []rune(text)
	if len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return text + strings.Repeat(" ", width-len(r))
}

// threeDigits is a time with three digits that count.
func threeDigits(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	d := time.Duration(math.Round(*seconds * 1e9))
	step := time.Duration(1)
	for d/step >= 1000 {
		step *= 10
	}
	return d.Round(step).String()
}
