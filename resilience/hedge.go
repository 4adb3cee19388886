package resilience

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A runner is one attempt of a call that has several under way.
type runner struct {
	side
	n       int
	hedge   bool
	began   time.Time
	reply   any
	err     error
	expired bool
	panic   any
}

// hedged makes attempts that overlap: another one each time that HedgeAfter has
// passed without a reply, or one has failed that is worth a retry. The first
// reply counts. The others are cancelled and waited for: they may be encoding the
// request, which is the caller's again when hedged returns.
func (x *exchange) hedged(ctx context.Context) error {
	if alike(x.reply) == nil {
		return x.retried(ctx)
	}
	group, cancel := context.WithCancel(ctx)
	results := make(chan *runner, x.rules.Attempts)
	running := 0
	defer func() {
		cancel()
		for ; running > 0; running-- {
			<-results
		}
	}()
	launch := func(hedge bool) {
		x.sent++
		running++
		r := &runner{n: x.sent, hedge: hedge, began: time.Now(), reply: alike(x.reply)}
		go x.run(group, r, results)
	}
	launch(false)
	timer := time.NewTimer(x.rules.HedgeAfter)
	defer timer.Stop()
	due := false // the timer is for a retry
	ended := ctx.Done()
	var last error
	for {
		select {
		case r := <-results:
			running--
			if r.panic != nil {
				panic(r.panic)
			}
			if r.err == nil {
				x.guard.bucket.succeed()
				x.tell(ctx, r.n, r.hedge, r.began, nil, verdict{})
				assign(x.reply, r.reply)
				r.deliver(x.opts)
				return nil
			}
			v := x.judge(ctx, r.err, r.expired)
			x.tell(ctx, r.n, r.hedge, r.began, r.err, v)
			if last == nil || !isOpen(r.err) {
				last = r.err
			}
			switch {
			case v.again:
				due = true
				timer.Reset(v.wait)
			case v.final, running == 0 && !due:
				if running > 0 {
					x.ran = true // one of the others may have
				}
				r.deliver(x.opts)
				return x.fate(last)
			}
		case <-timer.C:
			switch {
			case due:
				due = false
				x.guard.stats.retries.Add(1)
				launch(running > 0)
			case x.sent >= x.rules.Attempts:
				continue // the timer is not set again
			case !x.guard.bucket.allows():
				x.guard.stats.spared.Add(1)
			default:
				x.guard.bucket.take()
				x.guard.stats.hedges.Add(1)
				launch(true)
			}
			timer.Reset(x.rules.HedgeAfter)
		case <-ended:
			if running == 0 {
				return x.gaveUp(ctx, last)
			}
			ended = nil // the attempts end too, and say how
		}
	}
}

// run makes one attempt.
func (x *exchange) run(ctx context.Context, r *runner, results chan<- *runner) {
	returned := false
	defer func() {
		if !returned {
			r.panic = recover()
			r.err = status.Error(codes.Internal, "the attempt ended its goroutine")
		}
		results <- r
	}()
	r.expired, r.err = x.attempt(ctx, r.n, r.reply, r.apart(x.opts))
	returned = true
}
