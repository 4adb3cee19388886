package stream

import "context"

// A waiter is a goroutine that waits for something that a frame brings: the
// reply of a call, a message or credit of a stream.
type waiter struct {
	wake  chan struct{} // has room for one
	ready bool          // what it waits for is there; Conn.mu

	older, newer *waiter // in Conn.waiters
	listed       bool
}

// signal wakes the waiter. Conn.mu is held.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it has been woken already
	}
}

// waiters are those that wait while another one reads.
type waiters struct{ newest *waiter }

func (l *waiters) add(w *waiter) {
	w.listed = true
	w.older, w.newer = l.newest, nil
	if l.newest != nil {
		l.newest.newer = w
	}
	l.newest = w
}

func (l *waiters) remove(w *waiter) {
	if !w.listed {
		return
	}
	w.listed = false
	if w.newer != nil {
		w.newer.older = w.older
	} else {
		l.newest = w.older
	}
	if w.older != nil {
		w.older.newer = w.newer
	}
	w.older, w.newer = nil, nil
}

// wakeNewest wakes one, to take the lead. The newest is the one whose reply
// comes last, most likely: it reads for the others.
func (l *waiters) wakeNewest() bool {
	if l.newest == nil {
		return false
	}
	l.newest.signal()
	return true
}

func (l *waiters) wakeAll() {
	for w := l.newest; w != nil; w = w.older {
		w.signal()
	}
}

// makeReady tells w that what it waits for is there.
func (c *Conn) makeReady(w *waiter) {
	w.ready = true
	if w.listed {
		w.signal()
		c.waiters.remove(w)
	}
}

// await returns when w is ready, the connection has no more to read, or ctx has
// ended; its caller looks which. It reads itself if nobody does. c.mu is held
// before and after, not meanwhile.
func (c *Conn) await(ctx context.Context, w *waiter) {
	for !w.ready && c.err == nil && ctx.Err() == nil {
		switch c.lead {
		case running, waiting:
			// The reader runs a task, perhaps the one that waits here.
			c.takeOver()
			fallthrough
		case vacant:
			c.take(ctx)
			c.mu.Unlock()
			c.read(w)
			c.mu.Lock()
		case reading, over:
			c.waiters.add(w)
			c.mu.Unlock()
			if done := ctx.Done(); done == nil {
				<-w.wake
			} else {
				select {
				case <-w.wake:
				case <-done:
				}
			}
			c.mu.Lock()
			c.waiters.remove(w)
		}
	}
	c.offerLead() // the wake-up may have been such an offer
}
