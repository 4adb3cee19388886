package users

import (
	"context"
	"sync/atomic"
)

// A gate bounds how many hashes are computed at the same time, and how many
// logins wait for that.
type gate struct {
	slots   chan struct{}
	waiting atomic.Int64
	queue   int64
}

func newGate(hashes, queue int) *gate {
	return &gate{slots: make(chan struct{}, hashes), queue: int64(queue)}
}

// enter waits for a turn, which leave gives back.
func (g *gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.queue {
		return ErrBusy
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) leave() { <-g.slots }
