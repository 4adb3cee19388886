package main

import (
	"strings"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/scenario"
)

// loadShape says when calls are made.
type loadShape struct {
	Callers     *int           `short:"c" placeholder:"N" help:"How many callers call in a closed loop, each one call at a time (default 10)."`
	Duration    *time.Duration `placeholder:"10s" help:"How long calls are made and measured (default 10s; with --calls, or times in --rate, what they take)."`
	Calls       int            `placeholder:"N" help:"How many calls each caller makes."`
	Warmup      time.Duration  `placeholder:"1s" help:"How long to call before that without counting (default not at all)."`
	Ramp        time.Duration  `placeholder:"5s" help:"The time over which callers begin, one after another."`
	Think       string         `placeholder:"100ms" help:"The pause of a caller after a reply; exp:100ms draws it from an exponential distribution with that mean."`
	Rate        string         `placeholder:"RATES" help:"Begin calls at a rate, in calls a second, whether others were answered or not: 500, 500/30s, a ramp 100..1000/30s, or stages of such with commas between."`
	Poisson     bool           `help:"Draw the gaps between calls from an exponential distribution, as independent users make them; else they are even."`
	MaxInFlight *int           `placeholder:"N" help:"How many calls may be open at once in an open loop; others wait (default 1000)."`
	Patience    time.Duration  `placeholder:"1s" help:"How long a call that is due waits for others to end before it is dropped (default as long as the load)."`
	Seed        uint64         `placeholder:"N" help:"Makes random values, gaps and pauses (default from the clock)."`
}

const (
	defaultCallers     = 10
	defaultInFlight    = 1000
	defaultDuration    = 10 * time.Second
	maxLoadTime        = 30 * 24 * time.Hour
	thinkExponentially = "exp:"
)

// plan makes the plan of the flags.
func (c *loadCmd) plan() (*plan.Plan, error) {
	shape, measure, err := c.shape()
	if err != nil {
		return nil, err
	}
	callers, err := c.callers()
	if err != nil {
		return nil, err
	}
	switch {
	case c.Warmup < 0 || c.Warmup > maxLoadTime:
		return nil, usagef("--warmup %v is no time before a load", c.Warmup)
	case c.Warmup > 0 && shape.Open() && shape.Stages[0].From == 0:
		return nil, usagef("--warmup calls at the rate with which --rate begins, which is 0: a ramp from 0 needs none")
	case c.Timeout < 0:
		return nil, usagef("--timeout %v is negative; 0 lets calls take as long as they want", c.Timeout)
	}
	seed := c.Seed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number
	}
	return &plan.Plan{
		Service: "load", Arms: []plan.Arm{{Name: "load", Kind: plan.Wire, Target: c.Target}}, Baseline: "load",
		Callers: []int{callers}, Blocks: 1, Shape: shape, Warmup: c.Warmup, Measure: measure, Seed: seed, MaxMessage: int(c.MaxSize),
	}, nil
}

// shape is when calls are made, and for how long.
func (c *loadCmd) shape() (shape plan.Shape, measure time.Duration, err error) {
	if d := c.Duration; d != nil && (*d <= 0 || *d > maxLoadTime) {
		return shape, 0, usagef("--duration %v is no time to measure: it is above 0 and up to 30 days", *d)
	}
	if c.Rate != "" {
		return c.openShape()
	}
	switch {
	case c.Poisson || c.MaxInFlight != nil || c.Patience != 0:
		return shape, 0, usagef("--poisson, --max-in-flight and --patience are of open loops: give a --rate")
	case c.Calls < 0:
		return shape, 0, usagef("--calls %d is no number of calls", c.Calls)
	}
	shape.Calls, shape.Ramp = c.Calls, c.Ramp
	if shape.Think, shape.ThinkExp, err = parseThink(c.Think); err != nil {
		return shape, 0, err
	}
	switch {
	case c.Duration != nil:
		measure = *c.Duration
	case c.Calls > 0:
		measure = maxLoadTime // it ends when they were made
	default:
		measure = defaultDuration
	}
	if c.Ramp < 0 || c.Ramp >= measure {
		return shape, 0, usagef("--ramp %v is negative, or not shorter than the load's %v", c.Ramp, measure)
	}
	return shape, measure, nil
}

func (c *loadCmd) openShape() (shape plan.Shape, measure time.Duration, err error) {
	switch {
	case c.Callers != nil:
		return shape, 0, usagef("--callers is of closed loops, --rate makes an open one: --max-in-flight bounds its open calls")
	case c.Calls != 0 || c.Ramp != 0 || c.Think != "":
		return shape, 0, usagef("--calls, --ramp and --think are of closed loops, --rate makes an open one: its stages have times and ramps, such as 100..1000/30s")
	case c.Patience < 0:
		return shape, 0, usagef("--patience %v is negative", c.Patience)
	}
	var total time.Duration
	if c.Duration != nil {
		total = *c.Duration
	} else if !strings.ContainsAny(c.Rate, "/,") {
		total = defaultDuration
	}
	if shape.Stages, err = scenario.ParseRate(c.Rate, total); err != nil {
		return shape, 0, usageError{err}
	}
	calls := 0.0
	for _, s := range shape.Stages {
		measure += s.For
		calls += s.Calls()
	}
	switch {
	case calls == 0:
		return shape, 0, usagef("--rate %s makes no call", c.Rate)
	case measure > maxLoadTime:
		return shape, 0, usagef("--rate %s takes %v: up to 30 days", c.Rate, measure)
	}
	shape.Poisson, shape.Patience = c.Poisson, c.Patience
	return shape, measure, nil
}

// parseThink reads 100ms and exp:100ms.
func parseThink(text string) (d time.Duration, exponential bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	mean, exponential := strings.CutPrefix(text, thinkExponentially)
	d, err = time.ParseDuration(mean)
	if err != nil || d <= 0 || d > maxLoadTime {
		return 0, false, usagef("--think %q is no pause: it is a time such as 100ms, or exp:100ms for an exponential distribution with that mean", text)
	}
	return d, exponential, nil
}

// callers is how many calls there may be at once.
func (c *loadCmd) callers() (int, error) {
	flag, n := "--callers", defaultCallers
	given := c.Callers
	if c.Rate != "" {
		flag, n, given = "--max-in-flight", defaultInFlight, c.MaxInFlight
	}
	if given != nil {
		n = *given
	}
	if n < 1 || n > maxCallers {
		return 0, usagef("%s %d: it is from 1 to %d", flag, n, maxCallers)
	}
	return n, nil
}

// warmupShape is how calls are made before counting.
func warmupShape(p *plan.Plan) plan.Shape {
	s := p.Shape
	s.Ramp, s.Calls = 0, 0
	if s.Open() {
		rate := s.Stages[0].From
		s.Stages = []plan.Stage{{For: p.Warmup, From: rate, To: rate}}
	}
	return s
}
