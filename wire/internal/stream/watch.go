package stream

import (
	"sync"
	"time"
)

// tick is how often the watch looks at the connections that are at work.
const tick = time.Millisecond

// A watch looks after the connections of one client or server that are at work:
// what is rare and late (a handler that takes long, a write that stands still,
// a leading caller whose context ends) is found by it, so that what is common
// needs no timer, no deadline and no goroutine. It sleeps when nothing runs.
type watch struct {
	mu    sync.Mutex
	conns []*Conn
	timer *time.Timer
}

// add makes the watch look at c until c.check finds nothing under way.
func (w *watch) add(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, c)
	if len(w.conns) == 1 {
		w.arm()
	}
}

func (w *watch) arm() {
	if w.timer == nil {
		w.timer = time.AfterFunc(tick, w.look)
		return
	}
	w.timer.Reset(tick)
}

func (w *watch) look() {
	w.mu.Lock()
	conns := w.conns
	w.conns = nil
	w.mu.Unlock()
	busy := conns[:0]
	for _, c := range conns {
		if c.check() {
			busy = append(busy, c)
		}
	}
	clear(conns[len(busy):])
	w.mu.Lock()
	defer w.mu.Unlock()
	busy = append(busy, w.conns...)
	w.conns = busy
	if len(busy) > 0 {
		w.arm()
	}
}

// beWatched tells the watch of c, unless it knows.
func (c *Conn) beWatched() {
	if !c.watched.Load() && c.watched.CompareAndSwap(false, true) {
		c.watch.add(c)
	}
}

// check is the watch's look at one connection. It reports whether to come
// again.
func (c *Conn) check() bool {
	c.mu.Lock()
	again := c.checkLead()
	c.mu.Unlock()
	writing, stuck := c.w.check()
	if stuck {
		c.mu.Lock()
		c.ensureReader()
		c.mu.Unlock()
	}
	if again || writing {
		return true
	}
	// Whoever begins something from here on adds the connection anew; what began
	// before is seen now.
	c.watched.Store(false)
	c.mu.Lock()
	again = c.gen != c.seenGen
	c.mu.Unlock()
	if writing, _ = c.w.check(); again || writing {
		return c.watched.CompareAndSwap(false, true)
	}
	return false
}
