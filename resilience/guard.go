package resilience

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// A Guard makes the calls of one connection as its policy says. Its methods are
// the connection's interceptors. It is safe for concurrent use.
type Guard struct {
	policy    Policy
	rules     *Rules
	perMethod map[string]*Rules // by path
	bucket    *bucket
	breaker   *Breaker // nil if there is none
	circuits  sync.Map // name -> *circuit
	one       atomic.Pointer[circuit]
	stats     counters
}

// New makes a Guard for one connection: its budget and its breakers are those
// of one server.
func New(p Policy) (*Guard, error) {
	g := &Guard{policy: p, perMethod: map[string]*Rules{}}
	var err error
	if g.rules, err = p.Default.withDefaults(); err != nil {
		return nil, fmt.Errorf("resilience: Default: %w", err)
	}
	for name, rules := range p.PerMethod {
		service, method, err := everywire.SplitMethod(name)
		if err != nil {
			return nil, fmt.Errorf("resilience: PerMethod: %w", err)
		}
		if g.perMethod["/"+service+"/"+method], err = rules.withDefaults(); err != nil {
			return nil, fmt.Errorf("resilience: PerMethod %s: %w", name, err)
		}
	}
	if g.bucket, err = newBucket(p.Budget); err != nil {
		return nil, fmt.Errorf("resilience: %w", err)
	}
	if p.Margin < 0 {
		return nil, fmt.Errorf("resilience: Margin is negative: %v", p.Margin)
	}
	if p.Breaker != nil {
		if g.breaker, err = p.Breaker.withDefaults(); err != nil {
			return nil, fmt.Errorf("resilience: Breaker: %w", err)
		}
	}
	return g, nil
}

// An Attempt is one that has ended.
type Attempt struct {
	// Method is the path, such as "/arith.Arith/Sum".
	Method string
	// N counts the attempts of the call from 1. Hedge is set for one that was sent
	// while another was under way.
	N     int
	Hedge bool
	// Took is how long it took, and Err how it ended; nil if well.
	Took time.Duration
	Err  error
	// Again is set if another attempt follows after Wait. Else Why says why none
	// does, if the attempt failed.
	Again bool
	Wait  time.Duration
	Why   string
}

// Log returns a Policy.OnAttempt that logs attempts that failed: at level Info
// those that are followed by another, at Warn the others.
func Log(logger *slog.Logger) func(context.Context, Attempt) {
	return func(ctx context.Context, a Attempt) {
		if a.Err == nil {
			return
		}
		attrs := []slog.Attr{
			slog.String("method", strings.TrimPrefix(a.Method, "/")), slog.Int("attempt", a.N), slog.Duration("took", a.Took),
			slog.Bool("may_have_run", everywire.MayHaveRun(a.Err)), slog.Any("error", a.Err),
		}
		if a.Again {
			logger.LogAttrs(ctx, slog.LevelInfo, "a call is made again", append(attrs, slog.Duration("wait", a.Wait))...)
			return
		}
		logger.LogAttrs(ctx, slog.LevelWarn, "a call has failed", append(attrs, slog.String("why", a.Why))...)
	}
}

// Stats are what a Guard has done.
type Stats struct {
	Calls    int64 // that were made
	Attempts int64 // that were sent
	Retries  int64 // of these: after one that failed
	Hedges   int64 // of these: beside one under way
	Spared   int64 // retries and hedges that the budget did not allow
	Stopped  int64 // attempts that a breaker did not let through
}

type counters struct{ calls, attempts, retries, hedges, spared, stopped atomic.Int64 }

// Stats returns the counts so far.
func (g *Guard) Stats() Stats {
	s := &g.stats
	return Stats{s.calls.Load(), s.attempts.Load(), s.retries.Load(), s.hedges.Load(), s.spared.Load(), s.stopped.Load()}
}

func (g *Guard) rulesOf(path string) *Rules {
	if r, ok := g.perMethod[path]; ok {
		return r
	}
	return g.rules
}

// circuitOf returns the breaker of a call, nil if there is none. cc may be nil.
func (g *Guard) circuitOf(path string, cc *grpc.ClientConn) *circuit {
	switch {
	case g.breaker == nil:
		return nil
	case g.breaker.PerMethod:
		if c, ok := g.circuits.Load(path); ok {
			return c.(*circuit)
		}
		c, _ := g.circuits.LoadOrStore(path, g.newCircuit(strings.TrimPrefix(path, "/")))
		return c.(*circuit)
	}
	if c := g.one.Load(); c != nil {
		return c
	}
	name := "the server"
	if cc != nil {
		_, after, found := strings.Cut(cc.Target(), ":///")
		if name = cc.Target(); found {
			name = after
		}
	}
	g.one.CompareAndSwap(nil, g.newCircuit(name))
	return g.one.Load()
}

func (g *Guard) newCircuit(name string) *circuit {
	return &circuit{Breaker: g.breaker, name: name, began: time.Now()}
}

// chained ends a handler's call earlier than the handler's own deadline, by the
// margin. stop must be called when the call is over.
func (g *Guard) chained(ctx context.Context) (_ context.Context, stop context.CancelFunc, err error) {
	if g.policy.Margin == 0 || grpc.ServerTransportStreamFromContext(ctx) == nil {
		return ctx, func() {}, nil
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}, nil
	}
	if left := time.Until(deadline); left <= g.policy.Margin {
		return ctx, nil, &failure{error: status.Errorf(codes.DeadlineExceeded,
			"%v are left of the caller's deadline, and the margin is %v: the call was not sent", max(left, 0), g.policy.Margin)}
	}
	ctx, stop = context.WithDeadline(ctx, deadline.Add(-g.policy.Margin))
	return ctx, stop, nil
}

// A failure is the error of a call whose last attempt does not tell the fate of
// all.
type failure struct {
	error
	mayHaveRun bool
}

func (e *failure) Unwrap() error { return e.error }

// MayHaveRun is what everywire.MayHaveRun asks.
func (e *failure) MayHaveRun() bool { return e.mayHaveRun }

// GRPCStatus keeps the message as it was.
func (e *failure) GRPCStatus() *status.Status { return status.Convert(e.error) }
