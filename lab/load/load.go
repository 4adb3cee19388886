// Package load calls methods as a plan's shape says, and counts. It knows no
// wire: it takes any connection.
//
// In a closed loop each of some callers makes its next call when the last one
// has been answered: it measures capacity and service time. In an open loop
// calls begin when their time has come, whether others have been answered or
// not: it measures what users meet who do not wait for each other. Definitions
// of all that is counted are in docs/spec/lab.md.
//
// A call counts if its reply came within the measured time and was right; its
// latency is from before Invoke to after it, without making the request's
// values and without checking the reply. A call still open when the measured
// time ends is censored: it is waited for, so that it does not disturb what
// follows, but it is neither throughput nor latency.
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/lab/plan"
)

// Config is one load.
type Config struct {
	// Conn is shared by all callers, unless Each gives each its own.
	Conn grpc.ClientConnInterface
	// Each, if set, gives each caller its connection, and what counts the bytes of
	// that caller alone, or nil. Who calls Run closes them.
	Each     func(caller int) (grpc.ClientConnInterface, Meter, error)
	Workload Workload
	// Shape says when calls are made.
	Shape plan.Shape
	// Callers is how many call at once, at least 1. In an open loop it is the most
	// calls that may be in flight.
	Callers int
	// For is how long calls are started and counted. An open loop's stages end with
	// it, if they take longer; a closed loop in which each caller has made its
	// calls ends earlier.
	For time.Duration
	// Drain is how long calls still open after that are waited for; then they
	// are cancelled, and waited for as long again. Default 5 s.
	Drain time.Duration
	// Stop, if set, ends the measured time when it is closed: no more calls begin,
	// those that are open are waited for, for a second at most, and what was counted
	// until then is the result.
	Stop <-chan struct{}
	// Seed makes the requests, and the gaps of an open loop; caller i uses Seed
	// and i.
	Seed uint64
	// Sample, if set, is called after each call by its caller's goroutine, and once
	// for each call of an open loop that was dropped. It is called by several
	// goroutines at once, and must be quick.
	Sample func(Sample)

	// sleeper is what the pacer of an open loop sleeps with; tests have their own.
	sleeper func(now func() int64) pacerSleeper
}

// A Meter counts the bytes of one caller's connection so far. What crosses it
// between two calls is the later one's.
type Meter interface {
	Bytes() (out, in int64)
}

// A Sample is one call. Times are since the start of the run.
type Sample struct {
	// Op is the operation, "" if the workload has but one.
	Op     string
	Caller int
	// Scheduled is when it was to begin: in a closed loop, when it did.
	Scheduled, Begin, End time.Duration
	// Err is the kind of error, such as "UNAVAILABLE" or [WrongReply], "" if the
	// reply was right; Text is the error's own.
	Err, Text string
	// Out and In are its bytes, -1 if they are not known.
	Out, In int64
	// Censored is set if it was still open at the end of the measured time. Dropped
	// is set if it never began; then Begin and End are when it was given up.
	Censored, Dropped bool
}

const (
	defaultDrain = 5 * time.Second
	// stopDrain is how long calls are waited for that are open when a load is stopped.
	stopDrain = time.Second
)

// Run runs the load. It fails if ctx ends first, or if a call does not return
// even when it is cancelled; then its goroutine is left behind and the
// connection should be given up.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Drain == 0 {
		c.Drain = defaultDrain
	}
	// No deadline on the calls: a wire would send it, and bytes be counted
	// that the service's user does not send.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	counted := newCounts(&c)
	callers := make([]*caller, c.Callers)
	for i := range callers {
		one, err := newCaller(&c, i, counted)
		if err != nil {
			return nil, err
		}
		callers[i] = one
	}
	gate := newGate(c.For)
	var pacer *pacer
	loop := closedLoop(&c)
	if c.Shape.Open() {
		pacer = newPacer(&c, gate)
		loop = pacer.loop
	}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	for _, one := range callers {
		wg.Go(func() { loop(ctx, one, gate) })
	}
	if pacer != nil {
		wg.Go(func() { pacer.run(ctx) })
	}
	go func() { wg.Wait(); close(ended) }()
	gate.start = time.Now()
	close(gate.opened)

	timeout := time.NewTimer(c.For + c.Drain)
	defer timeout.Stop()
	wait := func(stop <-chan struct{}) (stopped bool) {
		select {
		case <-ended:
		case <-ctx.Done():
		case <-timeout.C:
		case <-stop:
			return true
		}
		return false
	}
	if wait(c.Stop) {
		gate.stop()
		timeout.Reset(min(c.Drain, stopDrain))
		wait(nil)
	}
	err := ctx.Err()
	cancel()
	timeout.Reset(c.Drain)
	select {
	case <-ended:
	case <-timeout.C:
		return nil, errors.Join(err, fmt.Errorf("load: calls did not return within %v after they were cancelled", c.Drain))
	}
	if err != nil {
		return nil, err
	}
	r := merge(counted, gate.window())
	if pacer != nil {
		pacer.count(r)
	}
	if allMade(callers) {
		// The measured time ends with the last call.
		var last time.Duration
		for _, one := range counted {
			last = max(last, one.lastEnd)
		}
		r.Seconds = last.Seconds()
	}
	return r, nil
}

// allMade reports whether each caller has made all the calls that it was to make.
func allMade(callers []*caller) bool {
	return !slices.ContainsFunc(callers, func(c *caller) bool { return !c.done })
}

func (c *Config) check() error {
	switch {
	case c.Callers < 1 || c.For <= 0:
		return fmt.Errorf("load: %d callers for %v: both must be positive", c.Callers, c.For)
	case c.Workload == nil || c.Conn == nil && c.Each == nil:
		return errors.New("load: a workload and a connection are needed")
	case c.Shape.Ramp > c.For:
		return fmt.Errorf("load: callers begin over %v, but calls are made for %v only", c.Shape.Ramp, c.For)
	}
	return c.Shape.Check()
}

// gate starts all callers at once. start is set before opened is closed.
type gate struct {
	opened chan struct{}
	start  time.Time
	// until is the window in ns; stopped is closed when it was made shorter.
	until   atomic.Int64
	stopped chan struct{}
}

func newGate(window time.Duration) *gate {
	g := &gate{opened: make(chan struct{}), stopped: make(chan struct{})}
	g.until.Store(int64(window))
	return g
}

// now is the time since the start.
func (g *gate) now() time.Duration { return time.Since(g.start) }

// window is the measured time.
func (g *gate) window() time.Duration { return time.Duration(g.until.Load()) }

// stop ends the measured time now, if it has not ended.
func (g *gate) stop() {
	if now := g.now(); now < g.window() {
		g.until.Store(int64(now))
	}
	close(g.stopped)
}

// kindOf is what errors are counted under: their own kind, such as "HTTP 503", if they
// have one, else the name of the status code as gRPC's specification writes it.
func kindOf(err error) string {
	var own interface{ Kind() string }
	if errors.As(err, &own) {
		return own.Kind()
	}
	return codepb.Code(status.Code(err)).String() //nolint:gosec // 17 codes; others print as a number
}
