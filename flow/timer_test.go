package flow_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/flow"
)

// timed is a file whose timer starts a flow that makes one call.
func timed(timer, trigger string) string {
	return fmt.Sprintf(`
name: timed
methods: {a.B/C: {}}
triggers:
  tick: {timer: {%s}, flow: work, with: {n: '${{ trigger.tick }}', at: '${{ trigger.time }}'}%s}
flows:
  work:
    inputs: {n: int64, at: timestamp}
    steps:
      - invoke: {target: 'grpc://h:1', method: a.B/C, deadline: 1h, request: {n: '${{ inputs.n }}', at: '${{ inputs.at }}'}}
`, timer, trigger)
}

// taking answers a call after a time that depends on the tick, or when it is given up.
func taking(took func(n int64) time.Duration) *fakeConn {
	return &fakeConn{answer: func(ctx context.Context, _ string, in, _ reflect.Value) error {
		n := in.FieldByName("Value").Interface().(map[string]any)["n"].(int64)
		select {
		case <-time.After(took(n)):
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}}
}

func always(d time.Duration) func(int64) time.Duration {
	return func(int64) time.Duration { return d }
}

// What a timer starts, and when, by the bubble's clock.
func TestTimer(t *testing.T) {
	for _, c := range []struct {
		name, timer, trigger string
		took                 func(n int64) time.Duration
		until                time.Duration // 0: it ends by itself
		drain                time.Duration
		want, err            string
	}{
		{
			name: "ticks", timer: "every: 100ms, after: 50ms, count: 3", took: always(0),
			want: `
50ms work begins
50ms work ends after 0s: <nil>
150ms work begins
150ms work ends after 0s: <nil>
250ms work begins
250ms work ends after 0s: <nil>`,
		},
		{
			name: "skip: one run at a time, and what is due meanwhile is left out", timer: "every: 10ms, count: 5", took: func(n int64) time.Duration {
				return time.Duration(25/n) * time.Millisecond
			},
			want: `
0s work begins
10ms tick skipped
20ms tick skipped
25ms work ends after 25ms: <nil>
30ms work begins
36ms work ends after 6ms: <nil>
40ms work begins
45ms work ends after 5ms: <nil>`,
		},
		{
			name: "a run that was late makes no other late", timer: "every: 10ms, count: 4", took: func(n int64) time.Duration {
				if n == 1 {
					return 13 * time.Millisecond
				}
				return 0
			},
			want: `
0s work begins
10ms tick skipped
13ms work ends after 13ms: <nil>
20ms work begins
20ms work ends after 0s: <nil>
30ms work begins
30ms work ends after 0s: <nil>`,
		},
		{
			name: "queue: each has its turn", timer: "every: 10ms, count: 3, overlap: queue", took: always(25 * time.Millisecond),
			want: `
0s work begins
25ms work ends after 25ms: <nil>
25ms work begins
50ms work ends after 25ms: <nil>
50ms work begins
75ms work ends after 25ms: <nil>`,
		},
		{
			name: "queue: it has room for the limit beside the run", timer: "every: 10ms, count: 5, overlap: queue", trigger: ", limit: 1", took: always(100 * time.Millisecond),
			want: `
0s work begins
20ms tick skipped
30ms tick skipped
40ms tick skipped
100ms work ends after 100ms: <nil>
100ms work begins
200ms work ends after 100ms: <nil>`,
		},
		{
			name: "parallel: up to the limit", timer: "every: 10ms, count: 4, overlap: parallel", trigger: ", limit: 2", took: always(25 * time.Millisecond),
			want: `
0s work begins
10ms work begins
20ms tick skipped
25ms work ends after 25ms: <nil>
30ms work begins
35ms work ends after 25ms: <nil>
55ms work ends after 25ms: <nil>`,
		},
		{
			name: "stopped: what is under way finishes", timer: "every: 10ms", took: always(25 * time.Millisecond), until: 5 * time.Millisecond, drain: time.Second,
			want: `
0s work begins
25ms work ends after 25ms: <nil>`,
		},
		{
			name: "stopped: what is queued does not begin", timer: "every: 10ms, overlap: queue", took: always(25 * time.Millisecond), until: 15 * time.Millisecond, drain: time.Second,
			want: `
0s work begins
25ms work ends after 25ms: <nil>
25ms tick skipped`,
		},
		{
			name: "stopped: what takes too long is cut off", timer: "every: 10ms", took: always(time.Hour), until: 5 * time.Millisecond, drain: time.Second,
			want: `
0s work begins
1.005s work ends after 1.005s: invoke: rpc error: code = Canceled desc = context canceled`,
			err: "runs that had not finished after 1s were stopped",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, seen := taking(c.took), newDiary()
				a := made(t, timed(c.timer, c.trigger), flow.Options{Dial: conn.dial, Observer: seen, Drain: c.drain})
				ctx := t.Context()
				if c.until > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.until)
					defer cancel()
				}
				err := a.Run(ctx)
				if got := fmt.Sprint(err); err == nil && c.err != "" || err != nil && got != c.err {
					t.Errorf("the app ends with %v, want %q", err, c.err)
				}
				if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), seen.text()); diff != "" {
					t.Errorf("- want, + got:\n%s", diff)
				}
				if conn.closed != 1 {
					t.Errorf("the connection was closed %d times", conn.closed)
				}
			})
		})
	}
}

// A thousand ticks of a timer are where the first one says, whatever runs take.
func TestTimerDoesNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		const every = 7 * time.Millisecond
		next := int64(1)
		conn := &fakeConn{answer: func(_ context.Context, _ string, in, _ reflect.Value) error {
			values := in.FieldByName("Value").Interface().(map[string]any)
			n, at := values["n"].(int64), values["at"].(time.Time)
			due := begun.Add(time.Duration(n-1) * every)
			if n != next || !at.Equal(due) || !time.Now().Equal(due) {
				return fmt.Errorf("tick %d says that it is due at %v, and runs at %v; want tick %d at %v", n, at.Sub(begun), time.Since(begun), next, due.Sub(begun))
			}
			next++
			time.Sleep(time.Duration(n%7) * time.Millisecond)
			return nil
		}}
		logger, text := logText()
		if err := made(t, timed("every: 7ms, count: 1000", ""), flow.Options{Dial: conn.dial, Logger: logger}).Run(t.Context()); err != nil {
			t.Error(err)
		}
		if next != 1001 || text.String() != "" {
			t.Errorf("%d runs; %s", next-1, text.String())
		}
	})
}

// An app ends when as many runs have ended as it was to make, and makes no more.
func TestRuns(t *testing.T) {
	for _, overlap := range []string{"skip", "queue", "parallel"} {
		t.Run(overlap, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				conn := &fakeConn{answer: func(context.Context, string, reflect.Value, reflect.Value) error {
					calls.Add(1)
					time.Sleep(25 * time.Millisecond)
					return status.Error(codes.Unavailable, "down")
				}}
				a := made(t, timed("every: 10ms, overlap: "+overlap, ""), flow.Options{Dial: conn.dial, Runs: 7})
				if err := a.Run(t.Context()); err != nil {
					t.Error(err)
				}
				if calls.Load() != 7 || a.Failed() != 7 {
					t.Errorf("%d runs, of which %d failed; want 7", calls.Load(), a.Failed())
				}
			})
		})
	}
}

// Timers begin when the app is told to.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := newDiary()
		a := made(t, timed("every: 1s, count: 1", ""), flow.Options{
			Dial: taking(always(0)).dial, Observer: seen, Ready: func(context.Context) { time.Sleep(time.Minute) },
		})
		if err := a.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if want := "1m0s work begins\n1m0s work ends after 0s: <nil>"; seen.text() != want {
			t.Errorf("got\n%s\nwant\n%s", seen.text(), want)
		}
	})
}
