// Package flowmetrics counts and times the runs of flows and of their activities for
// Prometheus. docs/spec/flow.md has the table of metrics.
package flowmetrics

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/flow"
)

// Buckets are the bounds of the histograms in seconds: a step that makes a value
// takes about a microsecond, a run that waits for others many milliseconds.
var Buckets = []float64{
	0.000001, 0.0000025, 0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
}

// The states in which a run or an activity ends.
const (
	Completed = "completed"
	Failed    = "failed"
	// Canceled is the state of one that its caller gave up, or that had not finished
	// when the app had to end.
	Canceled = "canceled"
)

// Metrics are the metrics of any number of apps. It is a [flow.Observer].
type Metrics struct {
	started, activitiesStarted, skipped *prometheus.CounterVec
	took, activitiesTook                *prometheus.HistogramVec

	flows, activities sync.Map // by the pointer to what it is of: *series
}

// series are those of one flow or activity, which are looked up once.
type series struct {
	started                     prometheus.Counter
	completed, failed, canceled prometheus.Observer
}

// New makes metrics and registers them with reg. It fails if reg has metrics of
// these names already.
func New(reg prometheus.Registerer) (*Metrics, error) {
	labels := []string{"application", "version", "flow"}
	ofActivity := slices.Concat(labels, []string{"activity", "kind"})
	m := &Metrics{
		started: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flow_runs_started_total", Help: "Runs of flows that have begun.",
		}, labels),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "flow_run_duration_seconds", Help: "How long runs of flows took, by how they ended.", Buckets: Buckets,
		}, slices.Concat(labels, []string{"state"})),
		activitiesStarted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flow_activities_started_total", Help: "Activities of flows that have begun.",
		}, ofActivity),
		activitiesTook: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "flow_activity_duration_seconds", Help: "How long activities of flows took, by how they ended.", Buckets: Buckets,
		}, slices.Concat(ofActivity, []string{"state"})),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flow_ticks_skipped_total", Help: "Ticks of timers that started no run, since others were under way.",
		}, []string{"application", "version", "trigger"}),
	}
	for _, c := range []prometheus.Collector{m.started, m.took, m.activitiesStarted, m.activitiesTook, m.skipped} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) flow(f *flow.FlowInfo) *series {
	if s, ok := m.flows.Load(f); ok {
		return s.(*series)
	}
	of := func(state string) prometheus.Observer { return m.took.WithLabelValues(f.App, f.Version, f.Flow, state) }
	s, _ := m.flows.LoadOrStore(f, &series{m.started.WithLabelValues(f.App, f.Version, f.Flow), of(Completed), of(Failed), of(Canceled)})
	return s.(*series)
}

func (m *Metrics) activity(a *flow.ActivityInfo) *series {
	if s, ok := m.activities.Load(a); ok {
		return s.(*series)
	}
	of := func(state string) prometheus.Observer {
		return m.activitiesTook.WithLabelValues(a.App, a.Version, a.Flow, a.Activity, a.Kind, state)
	}
	s, _ := m.activities.LoadOrStore(a, &series{
		m.activitiesStarted.WithLabelValues(a.App, a.Version, a.Flow, a.Activity, a.Kind), of(Completed), of(Failed), of(Canceled),
	})
	return s.(*series)
}

// State is the state in which a run or an activity with an error has ended, or
// without one.
func State(err error) string {
	switch {
	case err == nil:
		return Completed
	case status.Code(err) == codes.Canceled || errors.Is(err, context.Canceled):
		return Canceled
	}
	return Failed
}

// ended observes how long it took, by how it ended.
func (s *series) ended(took time.Duration, err error) {
	switch State(err) {
	case Completed:
		s.completed.Observe(took.Seconds())
	case Canceled:
		s.canceled.Observe(took.Seconds())
	default:
		s.failed.Observe(took.Seconds())
	}
}

// FlowStarted is [flow.Observer]'s.
func (m *Metrics) FlowStarted(f *flow.FlowInfo) { m.flow(f).started.Inc() }

// FlowEnded is [flow.Observer]'s.
func (m *Metrics) FlowEnded(f *flow.FlowInfo, took time.Duration, err error) {
	m.flow(f).ended(took, err)
}

// ActivityStarted is [flow.Observer]'s.
func (m *Metrics) ActivityStarted(a *flow.ActivityInfo) { m.activity(a).started.Inc() }

// ActivityEnded is [flow.Observer]'s.
func (m *Metrics) ActivityEnded(a *flow.ActivityInfo, took time.Duration, err error) {
	m.activity(a).ended(took, err)
}

// TickSkipped is [flow.Observer]'s.
func (m *Metrics) TickSkipped(t *flow.TriggerInfo) {
	m.skipped.WithLabelValues(t.App, t.Version, t.Trigger).Inc()
}
