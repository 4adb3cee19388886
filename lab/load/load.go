// Package load calls a method from n callers in a closed loop: each caller
// makes its next call when the last one has been answered. It measures
// capacity and service time. It knows no wire: it takes any connection.
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
	"sync"
	"time"

	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/lab/record"
)

// WrongReply is the kind of error of a reply that came but was not right.
const WrongReply = "wrong reply"

// Config is one load.
type Config struct {
	// Conn is shared by all callers.
	Conn     grpc.ClientConnInterface
	Workload Workload
	// Callers is how many call at once, at least 1.
	Callers int
	// For is how long calls are started and counted.
	For time.Duration
	// Drain is how long calls still open after that are waited for; then they
	// are cancelled, and waited for as long again. Default 5 s.
	Drain time.Duration
	// Seed makes the requests; caller i uses Seed and i.
	Seed uint64
}

// A Result is what was counted.
type Result struct {
	// Seconds is the measured time.
	Seconds float64 `json:"seconds"`
	// Latency holds one value in ns for each correct reply.
	Latency record.Hist `json:"latency"`
	// Errors counts failed calls by status code, "UNAVAILABLE", and wrong
	// replies.
	Errors map[string]int64 `json:"errors,omitempty"`
	// FirstError is the text of the earliest of them.
	FirstError string `json:"first_error,omitempty"`
	// Censored counts calls that were open at the end: at most one a caller.
	Censored int64 `json:"censored"`
	// OpenShare sums, over the censored calls that were answered rightly
	// afterwards, the fraction of their time that lay in the measured time.
	OpenShare float64 `json:"open_share,omitempty"`
}

const defaultDrain = 5 * time.Second

// Run runs the load. It fails if ctx ends first, or if a call does not return
// even when it is cancelled; then its goroutine is left behind and the
// connection should be given up.
func Run(ctx context.Context, c Config) (*Result, error) {
	if c.Callers < 1 || c.For <= 0 {
		return nil, fmt.Errorf("load: %d callers for %v: both must be positive", c.Callers, c.For)
	}
	if c.Drain == 0 {
		c.Drain = defaultDrain
	}
	// No deadline on the calls: a wire would send it, and bytes be counted
	// that the service's user does not send.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	callers := make([]*caller, c.Callers)
	gate := &gate{opened: make(chan struct{}), window: c.For}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	for i := range callers {
		callers[i] = &caller{conn: c.Conn, work: c.Workload.Caller(c.Seed, i)}
		callers[i].latency.Prepare()
		wg.Go(func() { callers[i].run(ctx, gate) })
	}
	go func() { wg.Wait(); close(ended) }()
	gate.start = time.Now()
	close(gate.opened)

	timeout := time.NewTimer(c.For + c.Drain)
	defer timeout.Stop()
	select {
	case <-ended:
	case <-ctx.Done():
	case <-timeout.C:
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
	return merge(callers, c.For), nil
}

// gate starts all callers at once. start is set before opened is closed.
type gate struct {
	opened chan struct{}
	start  time.Time
	window time.Duration
}

// caller is one caller and what it alone has counted.
type caller struct {
	conn grpc.ClientConnInterface
	work Caller

	latency    record.Hist
	errors     map[string]int64
	firstError string
	firstAt    time.Duration
	censored   bool
	openShare  float64
}

func (c *caller) run(ctx context.Context, g *gate) {
	<-g.opened
	for {
		path, in, out := c.work.Next()
		begin := time.Since(g.start)
		if begin >= g.window {
			return
		}
		err := c.conn.Invoke(ctx, path, in, out)
		end := time.Since(g.start)
		if end > g.window {
			c.censored = true
			if err == nil && c.work.Check() == "" {
				c.openShare = float64(g.window-begin) / float64(end-begin)
			}
			return
		}
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			c.fail(codeName(err), err.Error(), end)
			continue
		}
		if wrong := c.work.Check(); wrong != "" {
			c.fail(WrongReply, WrongReply+": "+wrong, end)
			continue
		}
		c.latency.Record(int64(end - begin))
	}
}

func (c *caller) fail(kind, text string, at time.Duration) {
	if c.errors == nil {
		c.errors = map[string]int64{}
		c.firstError, c.firstAt = text, at
	}
	c.errors[kind]++
}

// codeName is the name of a status code as gRPC's specification writes it.
func codeName(err error) string {
	return codepb.Code(status.Code(err)).String() //nolint:gosec // 17 codes; others print as a number
}

func merge(callers []*caller, window time.Duration) *Result {
	r := &Result{Seconds: window.Seconds()}
	first := window + 1
	for _, c := range callers {
		r.Latency.Merge(&c.latency)
		if c.censored {
			r.Censored++
			r.OpenShare += c.openShare
		}
		for kind, n := range c.errors {
			if r.Errors == nil {
				r.Errors = map[string]int64{}
			}
			r.Errors[kind] += n
		}
		if c.errors != nil && c.firstAt < first {
			first, r.FirstError = c.firstAt, c.firstError
		}
	}
	return r
}
