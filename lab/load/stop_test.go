package load

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/service/arith"
)

// A load that is stopped has counted what it made until then, and every call of it is
// accounted for.
func TestStop(t *testing.T) {
	paced := steady(100, time.Hour)
	paced.Patience = 25 * time.Millisecond
	for name, tc := range map[string]struct {
		shape   plan.Shape
		callers int
		takes   time.Duration
		want    Result // after 995 ms
	}{
		"closed":   {plan.Shape{}, 2, 100 * time.Millisecond, Result{Times: record.Times{Count: 18}, Censored: 2}},
		"thinking": {plan.Shape{Think: time.Hour}, 2, 100 * time.Millisecond, Result{Times: record.Times{Count: 2}}},
		"in ramp":  {plan.Shape{Ramp: 30 * time.Minute}, 2, time.Second, Result{Censored: 1}},
		"counted":  {plan.Shape{Calls: 1000}, 1, 100 * time.Millisecond, Result{Times: record.Times{Count: 9}, Censored: 1}},
		"open":     {steady(100, time.Hour), 4, 6 * time.Millisecond, Result{Times: record.Times{Count: 99}, Scheduled: 100, Censored: 1}},
		// One caller makes a call in each 50 ms. Of the 81 that it did not begin those of the
		// last 25 ms have not waited for long enough to be dropped.
		"impatient": {paced, 1, 50 * time.Millisecond, Result{Times: record.Times{Count: 19}, Scheduled: 100, Censored: 1, Dropped: 77, Unsent: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				time.AfterFunc(995*time.Millisecond, func() { close(stop) })
				r, err := Run(t.Context(), Config{
					Conn: taking(tc.takes), Workload: Sum(), Shape: tc.shape, Callers: tc.callers, For: time.Hour, Stop: stop, sleeper: inBubble,
				})
				if err != nil {
					t.Fatal(err)
				}
				got := fmt.Sprintf("%g s, right %d, censored %d, scheduled %d, dropped %d, unsent %d", r.Seconds, r.Times.Count, r.Censored, r.Scheduled, r.Dropped, r.Unsent)
				want := fmt.Sprintf("0.995 s, right %d, censored %d, scheduled %d, dropped %d, unsent %d", tc.want.Times.Count, tc.want.Censored, tc.want.Scheduled, tc.want.Dropped, tc.want.Unsent)
				if got != want {
					t.Errorf("%s\nwant %s", got, want)
				}
			})
		})
	}
}

// Calls that hang are waited for, but not for as long as at the end of a load.
func TestStopOfHungCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(2*time.Second, func() { close(stop) })
		hangs := connFunc(func(ctx context.Context, _ *arith.SumRequest, _ *arith.SumReply) error {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		})
		begin := time.Now()
		r, err := Run(t.Context(), Config{Conn: hangs, Workload: Sum(), Callers: 3, For: time.Hour, Drain: time.Minute, Stop: stop})
		if err != nil || r.Censored != 3 || time.Since(begin) != 3*time.Second {
			t.Errorf("%v after %v, %+v", err, time.Since(begin), r)
		}
	})
}

// ownKind is an error with a kind of its own.
type ownKind struct{}

func (ownKind) Error() string { return "busy" }
func (ownKind) Kind() string  { return "HTTP 503" }

// Errors are counted under their own kind, also when they are wrapped, else under the
// name of their code.
func TestKindsOfErrors(t *testing.T) {
	calls := 0
	fails := connFunc(func(context.Context, *arith.SumRequest, *arith.SumReply) error {
		calls++
		return []error{ownKind{}, fmt.Errorf("late: %w", ownKind{}), status.Error(codes.NotFound, "none")}[calls-1]
	})
	r, err := Run(t.Context(), Config{Conn: fails, Workload: Sum(), Callers: 1, For: time.Minute, Shape: plan.Shape{Calls: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]int64{"HTTP 503": 2, "NOT_FOUND": 1}; !maps.Equal(r.Errors, want) || r.FirstError != "busy" {
		t.Errorf("%v, first %q", r.Errors, r.FirstError)
	}
}
