package flow

import "time"

// An Observer sees what an app does. Its methods are called by the goroutines that
// run flows, many at a time, and must be fast. The pointers are the same for all
// runs of one flow or activity, so that what belongs to them can be looked up once.
type Observer interface {
	// FlowStarted and FlowEnded are around each run of a flow, also one that another
	// flow calls. err is nil if the run has completed; took is of the monotonic clock.
	FlowStarted(f *FlowInfo)
	FlowEnded(f *FlowInfo, took time.Duration, err error)
	// ActivityStarted and ActivityEnded are around each step that runs.
	ActivityStarted(a *ActivityInfo)
	ActivityEnded(a *ActivityInfo, took time.Duration, err error)
	// TickSkipped is called for each tick of a timer that starts no run.
	TickSkipped(t *TriggerInfo)
}

// A FlowInfo says which flow.
type FlowInfo struct{ App, Version, Flow string } //nolint:revive // it stands beside ActivityInfo and TriggerInfo

// An ActivityInfo says which step of which flow. Kind is the word that stands for
// it in the file: invoke, log, map, flow, parallel, return.
type ActivityInfo struct{ App, Version, Flow, Activity, Kind string }

// A TriggerInfo says which trigger.
type TriggerInfo struct{ App, Version, Trigger string }

// Observers returns an observer that tells all others, in their order. Those that are
// nil are left out.
func Observers(all ...Observer) Observer {
	var some observers
	for _, o := range all {
		if o != nil {
			some = append(some, o)
		}
	}
	return some
}

type observers []Observer

func (all observers) FlowStarted(f *FlowInfo) {
	for _, o := range all {
		o.FlowStarted(f)
	}
}

func (all observers) FlowEnded(f *FlowInfo, took time.Duration, err error) {
	for _, o := range all {
		o.FlowEnded(f, took, err)
	}
}

func (all observers) ActivityStarted(a *ActivityInfo) {
	for _, o := range all {
		o.ActivityStarted(a)
	}
}

func (all observers) ActivityEnded(a *ActivityInfo, took time.Duration, err error) {
	for _, o := range all {
		o.ActivityEnded(a, took, err)
	}
}

func (all observers) TickSkipped(t *TriggerInfo) {
	for _, o := range all {
		o.TickSkipped(t)
	}
}
