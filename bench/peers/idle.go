package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// callsEach is how many calls an idle connection has made before.
const callsEach = 10

type idleArg struct {
	dialArg
	Conns int
}

// openIdle opens connections, makes ten calls on each, and keeps them.
func (c *child) openIdle(_ context.Context, a idleArg) (none struct{}, err error) {
	if err := checkFiles(a.Conns); err != nil {
		return none, err
	}
	const workers = 32
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		failed atomic.Bool
		mu     sync.Mutex
		errs   []error
	)
	for range workers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(a.Conns) && !failed.Load(); n = next.Add(1) {
				t, err := newTrialClient(a.dialArg)
				for range callsEach {
					if err == nil {
						err = t.do(task{Text: text(0, 64)})
					}
				}
				mu.Lock()
				if err != nil {
					failed.Store(true)
					errs = append(errs, fmt.Errorf("connection %d: %w", n, err))
				} else {
					c.idle = append(c.idle, t)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return none, errors.Join(errs...)
}
