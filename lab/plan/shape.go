package plan

import (
	"fmt"
	"math"
	"time"
)

// A Shape says when calls are made. Its zero value is a closed loop in which
// each caller calls again as soon as it has been answered.
type Shape struct {
	// Stages make an open loop: calls begin at these rates, whether others have
	// been answered or not.
	Stages []Stage `json:"stages,omitempty"`
	// Poisson makes the gaps of an open loop exponentially distributed; else they
	// are even.
	Poisson bool `json:"poisson,omitempty"`
	// Patience is how long a call of an open loop whose time has come waits for a
	// free caller before it is given up, in nanoseconds; 0: as long as the run.
	Patience time.Duration `json:"patience_ns,omitempty"`
	// Ramp is the time over which the callers of a closed loop begin, one after
	// another, in nanoseconds.
	Ramp time.Duration `json:"ramp_ns,omitempty"`
	// Calls is how many calls each caller of a closed loop makes; 0: until the time
	// is over.
	Calls int `json:"calls,omitempty"`
	// Think is the pause of a closed loop's caller after a reply, in nanoseconds;
	// with ThinkExp it is the mean of an exponential distribution.
	Think    time.Duration `json:"think_ns,omitempty"`
	ThinkExp bool          `json:"think_exp,omitempty"`
}

// A Stage is a time with a rate in calls a second, which goes linearly from one
// to the other.
type Stage struct {
	For  time.Duration `json:"for_ns"`
	From float64       `json:"from"`
	To   float64       `json:"to"`
}

// Open reports whether it is an open loop.
func (s Shape) Open() bool { return len(s.Stages) > 0 }

// Check reports what is wrong with a shape.
func (s Shape) Check() error {
	for i, st := range s.Stages {
		switch {
		case st.For <= 0:
			return fmt.Errorf("plan: stage %d takes %v", i+1, st.For)
		case st.From < 0 || st.To < 0 || math.IsNaN(st.From+st.To) || math.IsInf(st.From+st.To, 0):
			return fmt.Errorf("plan: stage %d goes from %g to %g calls a second", i+1, st.From, st.To)
		}
	}
	switch {
	case s.Open() && (s.Ramp != 0 || s.Calls != 0 || s.Think != 0 || s.ThinkExp):
		return fmt.Errorf("plan: an open loop has rates; ramp, calls and think time are of closed loops")
	case !s.Open() && (s.Poisson || s.Patience != 0):
		return fmt.Errorf("plan: Poisson and patience are of open loops: give stages")
	case s.Ramp < 0 || s.Calls < 0 || s.Think < 0 || s.Patience < 0:
		return fmt.Errorf("plan: a ramp of %v, %d calls, a pause of %v and a patience of %v: none may be negative", s.Ramp, s.Calls, s.Think, s.Patience)
	}
	return nil
}

// Reach is how many seconds into the stage so many of its calls are due: the root
// of From t + (To-From) t²/(2 For) = calls. It is written as the root that loses
// no digits when both rates are nearly the same.
func (s Stage) Reach(calls float64) float64 {
	slope := (s.To - s.From) / s.For.Seconds()
	root := math.Sqrt(max(0, s.From*s.From+2*slope*calls))
	if s.From+root == 0 {
		return 0
	}
	return 2 * calls / (s.From + root)
}

// Calls is how many calls are due in the whole stage.
func (s Stage) Calls() float64 { return (s.From + s.To) / 2 * s.For.Seconds() }
