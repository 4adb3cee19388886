package resilience

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A State is that of a circuit breaker.
type State uint8

// The states.
const (
	Closed State = iota
	Open
	HalfOpen
)

func (s State) String() string { return [...]string{"closed", "open", "half open"}[s] }

// An OpenError is that of a call which a circuit breaker did not let through.
type OpenError struct {
	// Name is that of the target or the method.
	Name string
	// For is how long the breaker stays open; zero if it is half open, and calls
	// that decide are under way.
	For time.Duration
}

func (e *OpenError) Error() string { return e.GRPCStatus().Message() }

// GRPCStatus makes the error Unavailable to the status package.
func (e *OpenError) GRPCStatus() *status.Status {
	if e.For == 0 {
		return status.Newf(codes.Unavailable, "the circuit breaker of %s is half open: other calls decide; this one was not sent", e.Name)
	}
	return status.Newf(codes.Unavailable, "the circuit breaker of %s is open for another %v; the call was not sent", e.Name, e.For.Round(time.Millisecond))
}

// MayHaveRun is what everywire.MayHaveRun asks.
func (*OpenError) MayHaveRun() bool { return false }

// serverFails is the default of [Breaker.Fails].
func serverFails(err error) bool {
	c := status.Code(err)
	return c == codes.Unavailable || c == codes.DeadlineExceeded
}

// slicesOfWindow is how many parts a window has; the oldest is forgotten as a whole.
const slicesOfWindow = 10

// A circuit is a [Breaker] in use.
type circuit struct {
	*Breaker
	name string

	mu    sync.Mutex
	state State
	// term counts changes of the state. An attempt that began in an earlier one
	// does not count any more.
	term  uint64
	until time.Time // it is open
	// Of the half open state. Probes count as under way until the moment lapsed,
	// for one may never end, such as a stream in which nothing happens.
	probing, succeeded int
	lapsed             time.Time
	// Of the closed one: the outcomes of the last slices, the newest at head.
	window [slicesOfWindow]outcomes
	head   int
	began  time.Time // the newest slice
}

type outcomes struct{ calls, fails int }

// begin asks for leave for an attempt. end takes term back.
func (c *circuit) begin() (term uint64, err error) {
	if c == nil {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state {
	case Closed:
		return c.term, nil
	case Open:
		if left := time.Until(c.until); left > 0 {
			return 0, &OpenError{c.name, left}
		}
		c.become(HalfOpen)
	}
	if c.probing >= c.Probes {
		if time.Until(c.lapsed) > 0 {
			return 0, &OpenError{Name: c.name}
		}
		c.probing = 0
	}
	c.probing++
	c.lapsed = time.Now().Add(c.OpenFor)
	return c.term, nil
}

// end counts how an attempt ended.
func (c *circuit) end(term uint64, err error) {
	if c == nil {
		return
	}
	fails := err != nil && c.Fails(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if term != c.term {
		return
	}
	counts := fails || status.Code(err) != codes.Canceled
	if c.state == HalfOpen {
		c.probing = max(c.probing-1, 0) // it may have lapsed
		switch {
		case fails:
			c.become(Open)
		case counts:
			if c.succeeded++; c.succeeded >= c.Probes {
				c.become(Closed)
			}
		}
		return
	}
	if !counts {
		return
	}
	c.turn()
	now := &c.window[c.head]
	now.calls++
	if !fails {
		return
	}
	now.fails++
	var all outcomes
	for _, s := range c.window {
		all.calls += s.calls
		all.fails += s.fails
	}
	if all.calls >= c.MinCalls && float64(all.fails) >= c.Ratio*float64(all.calls) {
		c.become(Open)
	}
}

// turn begins new slices for the time that has passed.
func (c *circuit) turn() {
	now, slice := time.Now(), max(c.Window/slicesOfWindow, 1)
	passed := int64(now.Sub(c.began) / slice)
	if passed <= 0 {
		return
	}
	for range min(passed, slicesOfWindow) {
		c.head = (c.head + 1) % slicesOfWindow
		c.window[c.head] = outcomes{}
	}
	c.began = now.Add(-now.Sub(c.began) % slice)
}

// become changes the state. c.mu is held.
func (c *circuit) become(to State) {
	from := c.state
	c.state = to
	c.term++
	c.probing, c.succeeded = 0, 0
	switch to {
	case Open:
		c.until = time.Now().Add(c.OpenFor)
	case Closed:
		c.window, c.began = [slicesOfWindow]outcomes{}, time.Now()
	}
	if c.OnChange != nil {
		c.OnChange(c.name, from, to)
	}
}
