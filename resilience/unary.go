package resilience

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire"
)

// previousAttempts is the metadata key that tells a server how many attempts
// came before (gRFC A6).
const previousAttempts = "grpc-previous-rpc-attempts"

// Unary is a grpc.UnaryClientInterceptor. It belongs outside of those that
// watch single attempts, and inside of those that watch calls.
func (g *Guard) Unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	g.stats.calls.Add(1)
	c := call{guard: g, method: method, rules: g.rulesOf(method), circuit: g.circuitOf(method, cc), level: everywire.IdempotencyOf(g.policy.Methods, method)}
	opts, finish := onFinish(opts)
	if c.rules.WaitForReady {
		opts = append([]grpc.CallOption{grpc.WaitForReady(true)}, opts...)
	}
	ctx, stop, err := g.chained(ctx)
	if err == nil {
		defer stop()
		x := exchange{call: &c, req: req, reply: reply, cc: cc, invoker: invoker, opts: opts}
		if c.rules.HedgeAfter > 0 && c.level.MayRepeat() && reply != nil {
			err = x.hedged(ctx)
		} else {
			err = x.retried(ctx)
		}
	}
	for _, f := range finish {
		f(err)
	}
	return err
}

// An exchange is a unary call with all that its attempts need.
type exchange struct {
	*call
	req, reply any
	cc         *grpc.ClientConn
	invoker    grpc.UnaryInvoker
	opts       []grpc.CallOption
}

// retried makes one attempt after the other.
func (x *exchange) retried(ctx context.Context) error {
	var last error // of an attempt that was sent
	for {
		began := time.Now()
		x.sent++
		expired, err := x.attempt(ctx, x.sent, x.reply, x.opts)
		if err == nil {
			x.guard.bucket.succeed()
			x.tell(ctx, x.sent, false, began, nil, verdict{})
			return nil
		}
		v := x.judge(ctx, err, expired)
		x.tell(ctx, x.sent, false, began, err, v)
		if !v.again {
			if last != nil && isOpen(err) {
				err = last // says more
			}
			return x.fate(err)
		}
		last = err
		if err := x.rest(ctx, v.wait, err); err != nil {
			return err
		}
		x.guard.stats.retries.Add(1)
	}
}

// attempt makes the n-th attempt. expired is set if the rules' timeout ended it.
func (x *exchange) attempt(ctx context.Context, n int, reply any, opts []grpc.CallOption) (expired bool, err error) {
	term, err := x.circuit.begin()
	if err != nil {
		x.guard.stats.stopped.Add(1)
		return false, err
	}
	x.guard.stats.attempts.Add(1)
	own := numbered(ctx, n)
	if d := x.rules.AttemptTimeout; d > 0 {
		var cancel context.CancelFunc
		own, cancel = context.WithTimeout(own, d)
		defer cancel()
	}
	ended := false
	defer func() {
		if !ended { // it panicked
			x.circuit.end(term, errPanicked)
		}
	}()
	err = x.invoker(own, x.method, x.req, reply, x.cc, opts...)
	ended = true
	x.circuit.end(term, err)
	return err != nil && own.Err() != nil && ctx.Err() == nil, err
}

// numbered adds to the metadata how many attempts came before the n-th.
func numbered(ctx context.Context, n int) context.Context {
	if n == 1 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, previousAttempts, strconv.Itoa(n-1))
}

func (c *call) tell(ctx context.Context, n int, hedge bool, began time.Time, err error, v verdict) {
	if f := c.guard.policy.OnAttempt; f != nil {
		f(ctx, Attempt{Method: c.method, N: n, Hedge: hedge, Took: time.Since(began), Err: err, Again: v.again, Wait: v.wait, Why: v.why})
	}
}
