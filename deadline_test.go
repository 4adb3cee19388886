package everywire

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type key struct{}

// Whatever is asked first, a clamped context behaves as one of
// context.WithTimeout.
func TestClampIsLikeWithTimeout(t *testing.T) {
	asks := map[string]func(context.Context){
		"nothing": func(context.Context) {},
		"Err":     func(ctx context.Context) { _ = ctx.Err() },
		"Done":    func(ctx context.Context) { ctx.Done() },
		"child": func(ctx context.Context) {
			child, cancel := context.WithCancel(ctx)
			_ = child.Err()
			cancel()
		},
	}
	ends := map[string]struct {
		want  error
		cause func(cancel context.CancelFunc, stop func())
	}{
		"alive":    {nil, func(context.CancelFunc, func()) {}},
		"deadline": {context.DeadlineExceeded, func(context.CancelFunc, func()) { time.Sleep(time.Minute) }},
		"parent":   {context.Canceled, func(cancel context.CancelFunc, _ func()) { cancel() }},
		"stop":     {context.Canceled, func(_ context.CancelFunc, stop func()) { stop() }},
	}
	for ask, first := range asks {
		for end, e := range ends {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 1))
				defer cancel()
				ctx, stop := clamp(parent, time.Minute)
				defer stop()
				if d, ok := ctx.Deadline(); !ok || time.Until(d) != time.Minute {
					t.Errorf("%s, %s: the deadline is in %v", ask, end, time.Until(d))
				}
				if ctx.Value(key{}) != 1 {
					t.Errorf("%s, %s: a value is lost", ask, end)
				}
				first(ctx)
				e.cause(cancel, stop)
				synctest.Wait()
				if err := ctx.Err(); !errors.Is(err, e.want) || (err == nil) != (e.want == nil) {
					t.Errorf("%s, %s: Err is %v, want %v", ask, end, err, e.want)
				}
				select {
				case <-ctx.Done():
					if e.want == nil {
						t.Errorf("%s, %s: Done is closed", ask, end)
					}
				default:
					if e.want != nil {
						t.Errorf("%s, %s: Done is not closed", ask, end)
					}
				}
				child, cancelChild := context.WithCancel(ctx)
				defer cancelChild()
				synctest.Wait()
				if err := child.Err(); !errors.Is(err, e.want) || (err == nil) != (e.want == nil) {
					t.Errorf("%s, %s: a child's Err is %v, want %v", ask, end, err, e.want)
				}
			})
		}
	}
}

// An earlier deadline of the client's stays as it is.
func TestClampKeepsEarlierDeadline(t *testing.T) {
	parent, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if ctx, _ := clamp(parent, time.Minute); ctx != parent {
		t.Errorf("got %v", ctx)
	}
}

func BenchmarkClamp(b *testing.B) {
	for b.Loop() {
		_, stop := clamp(b.Context(), time.Minute)
		stop()
	}
}
