package flow

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A moment is a tick of a timer.
type moment struct {
	n  int64
	at time.Time // when it was due
}

// tick runs a timer until ctx ends or it has had its last tick, and then waits for
// its runs, whose context is patient. When a tick is due follows from the start
// alone, so that a tick that was late makes no other late.
func (a *App) tick(ctx, patient context.Context, t *trigger) {
	var runs sync.WaitGroup
	defer runs.Wait()
	accept := a.beside(patient, t, &runs)
	if t.def.Timer.Overlap == Queue {
		queue := make(chan moment, t.def.Limit)
		defer close(queue)
		runs.Go(func() { a.inTurn(ctx, patient, t, queue) })
		accept = func(m moment) bool {
			select {
			case queue <- m:
				return true
			default:
				return false
			}
		}
	}
	first := time.Now().Add(t.def.Timer.After)
	due := time.NewTimer(time.Until(first))
	defer due.Stop()
	for n := int64(1); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
		if ctx.Err() != nil {
			return
		}
		at := first.Add(time.Duration(n-1) * t.def.Timer.Every)
		if !accept(moment{n, at}) {
			a.observer.TickSkipped(t.info)
		}
		if n == int64(t.def.Timer.Count) {
			return
		}
		due.Reset(time.Until(at.Add(t.def.Timer.Every)))
	}
}

// beside starts runs that are beside each other, up to the trigger's limit, which is
// one for a timer whose ticks are skipped.
func (a *App) beside(patient context.Context, t *trigger, runs *sync.WaitGroup) func(moment) bool {
	slots := t.slots
	if t.def.Timer.Overlap == Skip {
		slots = make(chan struct{}, 1)
	}
	return func(m moment) bool {
		select {
		case slots <- struct{}{}:
		default:
			return false
		}
		runs.Go(func() {
			defer func() { <-slots }()
			a.runTick(patient, t, m)
		})
		return true
	}
}

// inTurn makes the runs of a queue. Those that have not begun when ctx ends are left
// out.
func (a *App) inTurn(ctx, patient context.Context, t *trigger, queue <-chan moment) {
	for m := range queue {
		if ctx.Err() != nil {
			a.observer.TickSkipped(t.info)
			continue
		}
		a.runTick(patient, t, m)
	}
}

func (a *App) runTick(ctx context.Context, t *trigger, m moment) {
	if !a.begin() {
		return
	}
	defer a.end()
	if _, err := a.run(ctx, t.flow, t.with, []any{m.n, m.at}); err != nil {
		a.failures.Add(1)
		a.log.LogAttrs(ctx, slog.LevelError, "a run failed",
			slog.String("flow", t.flow.def.Name), slog.String("trigger", t.def.Name), slog.Int64("tick", m.n), slog.Any("error", err))
	}
}
