package http1

import (
	"sync"
	"time"
)

// tick is how often the watch looks at the connections that are at work. A
// handler that runs for one to two ticks gets a standby.
const tick = 4 * time.Millisecond

// A watch looks after the connections of a server on which handlers run, so
// that a handler that is soon done, as most are, needs nobody to look whether
// its client is there. It sleeps when nothing runs.
type watch struct {
	mu    sync.Mutex
	conns []*conn
	timer *time.Timer
}

// add makes the watch look at c until it finds it idle.
func (w *watch) add(c *conn) {
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
		if c.look() {
			busy = append(busy, c)
		}
	}
	clear(conns[len(busy):])
	w.mu.Lock()
	defer w.mu.Unlock()
	// What was added meanwhile has armed the timer, which is moved on.
	w.conns = append(busy, w.conns...)
	if len(w.conns) > 0 {
		w.arm()
	}
}

// beWatched tells the watch of c, unless it knows: a handler runs and the whole
// request has been read.
func (c *conn) beWatched() {
	if !c.watched.Load() && c.watched.CompareAndSwap(false, true) {
		c.srv.watch.add(c)
	}
}

// look is the watch's look at one connection. It reports whether to come again.
func (c *conn) look() bool {
	s := c.state.Load()
	if s != c.seen { // since the last look something has begun or ended
		c.seen = s
		return true
	}
	if s&(running|calm|standby) == running|calm {
		c.beginStandby(s)
		s = c.state.Load()
		c.seen = s
	}
	// Whoever begins a request, or has read one's body, from here on adds the
	// connection anew; what happened before is seen now.
	c.watched.Store(false)
	return c.state.Load() != s && c.watched.CompareAndSwap(false, true)
}
