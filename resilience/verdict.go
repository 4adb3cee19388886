package resilience

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// A call is one that a [Guard] makes, however often.
type call struct {
	guard   *Guard
	method  string
	rules   *Rules
	circuit *circuit
	level   everywire.Idempotency

	sent int  // attempts
	ran  bool // one of them may have
}

// A verdict is what follows an attempt that failed.
type verdict struct {
	again bool
	wait  time.Duration
	why   string // there is none
	final bool   // whatever other attempts, under way, come to
}

// judge decides about another attempt after one that failed with err. expired is
// set if the rules' timeout ended it. The order is gRPC's (gRFC A6): what is
// worth no retry costs no token.
func (c *call) judge(ctx context.Context, err error, expired bool) verdict {
	var open *OpenError
	if errors.As(err, &open) {
		return verdict{why: "the circuit breaker is open"}
	}
	if everywire.MayHaveRun(err) {
		c.ran = true
	}
	if ctx.Err() != nil {
		return verdict{why: "the call has ended", final: true}
	}
	code := status.Code(err)
	told, says := retryInfo(err)
	timeout := expired && code == codes.DeadlineExceeded
	worth := slices.Contains(c.rules.Codes, code) || says && told >= 0 && code == codes.ResourceExhausted || timeout
	if !worth && (!says || told >= 0) {
		return verdict{why: "it is not worth a retry", final: true}
	}
	enough := c.guard.bucket.take()
	if says && told < 0 {
		return verdict{why: "the server asks for none"}
	}
	if c.sent >= c.rules.Attempts {
		return verdict{why: "it was the last attempt"}
	}
	if everywire.MayHaveRun(err) && !c.level.MayRepeat() {
		return verdict{why: "it may have run"}
	}
	if !enough {
		c.guard.stats.spared.Add(1)
		return verdict{why: "the budget is spent"}
	}
	wait := told
	if !says {
		wait = c.rules.backoff(c.sent)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return verdict{why: "the deadline is nearer than the next attempt"}
	}
	return verdict{again: true, wait: wait}
}

// backoff is the wait after the n-th attempt.
func (r *Rules) backoff(n int) time.Duration {
	d := r.Backoff
	for ; n > 1 && d < r.MaxBackoff; n-- {
		d *= 2 // at most twice MaxBackoff
	}
	d = min(d, r.MaxBackoff)
	return d/2 + rand.N(d/2+1) //nolint:gosec // no secret
}

// retryInfo is what a server says about another attempt. It is negative if there
// shall be none.
func retryInfo(err error) (wait time.Duration, ok bool) {
	s, is := status.FromError(err)
	if !is {
		return 0, false
	}
	for _, d := range s.Proto().GetDetails() {
		var info errdetails.RetryInfo
		if d.MessageIs(&info) && d.UnmarshalTo(&info) == nil {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

// rest waits for the next attempt. If ctx ends first the call has failed, and
// last says how.
func (c *call) rest(ctx context.Context, wait time.Duration, last error) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return c.gaveUp(ctx, last)
	}
}

// gaveUp is the error of a call that ended between two attempts.
func (c *call) gaveUp(ctx context.Context, last error) error {
	return &failure{status.Errorf(status.FromContextError(ctx.Err()).Code(), "%v while waiting for another attempt: %v", ctx.Err(), last), c.ran}
}

// fate is the error of the last attempt as that of the call.
func (c *call) fate(err error) error {
	if c.ran && !everywire.MayHaveRun(err) {
		return &failure{err, true}
	}
	return err
}
