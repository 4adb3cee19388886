package stream

import (
	"context"
	"errors"
	"os"
	"time"
)

// lead says who reads the connection.
type lead uint8

const (
	// vacant: nobody. The next caller that waits takes it.
	vacant lead = iota
	// reading: somebody reads and routes frames.
	reading
	// running: the reader runs a task. Whoever needs a reader may take over.
	running
	// waiting: the reader has a task for which there is no room yet. A caller
	// that waits may take over.
	waiting
	// over: there is nothing more to read.
	over
)

const (
	// progress is how much of a frame must arrive within one read timeout.
	progress = 16 << 10
	// patience is the number of ticks after which a leader that only waits is
	// left alone: its context gets a hook, and the watch may sleep.
	patience = 8
	// quiet is the number of ticks after which a connection that nobody reads
	// gets a reader.
	quiet = 3
)

var (
	errStopped     = errors.New("reading was stopped")
	errStalled     = errors.New("the peer stopped in the middle of a frame")
	errIdle        = errors.New("the connection was idle")
	errInterrupted = errors.New("reading was interrupted")
)

// take makes the calling goroutine the reader, whom interrupt is to call back
// when ctx ends. c.mu is held.
func (c *Conn) take(ctx context.Context) {
	c.setLead(reading)
	if ctx.Done() != nil {
		c.leadCtx = ctx
	}
	c.beWatched()
}

// give ends that. c.mu is held.
func (c *Conn) give() {
	c.dropLead(vacant)
	if c.interrupted {
		c.calm()
	}
	c.beWatched() // for a reader, if no caller comes
	c.offerLead()
}

// offerLead wakes a caller to take the lead, if it can be had. Without one, a
// connection that must always be read gets a reader. c.mu is held.
func (c *Conn) offerLead() {
	if c.lead != vacant && c.lead != waiting {
		return
	}
	if !c.waiters.wakeNewest() && c.owner.keepsReading() {
		c.ensureReader()
	}
}

// dropLead ends the reading of whoever reads. c.mu is held.
func (c *Conn) dropLead(l lead) {
	c.setLead(l)
	c.leadCtx = nil
	if c.leadStop != nil {
		c.leadStop()
		c.leadStop = nil
	}
}

func (c *Conn) setLead(l lead) {
	c.lead = l
	c.gen++
}

// interrupt makes the reader come back if it is still the one of gen: a late
// call must not disturb those after it.
func (c *Conn) interrupt(gen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gen == gen && c.lead == reading {
		c.callBack()
	}
}

// callBack makes the reader come back. c.mu is held.
func (c *Conn) callBack() {
	if !c.interrupted {
		c.interrupted = true
		_ = c.raw.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection
	}
}

// calm takes the deadline of interrupt back. c.mu is held, by the reader.
func (c *Conn) calm() {
	c.interrupted, c.deadline, c.renewAt = false, false, 0
	if !c.stopped {
		_ = c.raw.SetReadDeadline(time.Time{}) // fails only on a closed connection
	}
}

// stop makes reading end with errStopped, now and always. c.mu is held.
func (c *Conn) stop() {
	c.stopped = true
	_ = c.raw.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection
}

// checkLead is the watch's look at who reads. It reports whether to look again.
// c.mu is held.
func (c *Conn) checkLead() bool {
	if c.seenGen != c.gen {
		c.seenGen, c.seenTimes = c.gen, 0
	} else {
		c.seenTimes++
	}
	switch c.lead {
	case running:
		if c.seenTimes > 0 {
			c.takeOver()
			c.readers.Go(func() { c.read(nil) })
		}
		return true
	case reading:
		switch {
		case c.leadCtx == nil || c.leadStop != nil:
			return c.seenTimes == 0
		case c.leadCtx.Err() != nil:
			c.callBack()
		case c.seenTimes >= patience:
			gen := c.gen
			c.leadStop = context.AfterFunc(c.leadCtx, func() { c.interrupt(gen) })
		}
		return true
	case vacant:
		if c.seenTimes >= quiet {
			c.ensureReader()
		}
		return c.err == nil // else there is nothing to read any more
	}
	return false
}

// ensureReader starts a reader if there is none. A connection that must always
// be read gets one to see its end, too. c.mu is held.
func (c *Conn) ensureReader() {
	if c.lead == vacant && (c.err == nil || c.owner.keepsReading()) {
		c.take(context.Background())
		c.readers.Go(func() { c.read(nil) })
	}
}

// read reads and routes frames: for a caller that leads until what it waits for
// is there or its context has ended, for a goroutine of the connection's own
// (me is nil) until the lead is taken from it or wanted by callers.
func (c *Conn) read(me *waiter) {
	delivered := false // something to a caller, who would rather have read it
	for {
		frame, err := c.rd.next(c.maxFrame())
		if frame == nil && err == nil {
			if !c.flush() {
				return
			}
			if c.leave(me, delivered) {
				return
			}
			if err = c.fill(); err == nil || errors.Is(err, errInterrupted) {
				continue
			}
		}
		head := frame
		if err == nil {
			var got received
			if got, err = c.receive(frame, me); got == leadLost {
				return
			}
			delivered = delivered || got == callDelivered
			if c.out != nil && (c.replies >= together || len(c.out.b) >= flushAt) && !c.flush() {
				return
			}
		} else {
			head = c.rd.unread()
		}
		if err != nil {
			c.end(me, err, head)
			return
		}
	}
}

// leave gives the lead up if me has no more use for it. A goroutine of the
// connection's own leaves it to a caller, who needs no hop then.
func (c *Conn) leave(me *waiter, delivered bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case me != nil:
		if !me.ready && (c.leadCtx == nil || c.leadCtx.Err() == nil) {
			return false
		}
	case c.owner.keepsReading() || !delivered:
		return false
	}
	c.give()
	return true
}

// end tells the owner that there is nothing more to read.
func (c *Conn) end(me *waiter, err error, head []byte) {
	if out := c.out; out != nil && len(out.b) > 0 {
		c.w.post(out) // the replies to what came before the end
	} else {
		out.free()
	}
	c.out = nil
	c.mu.Lock()
	c.dropLead(over)
	c.mu.Unlock()
	if me != nil && c.owner.keepsReading() {
		go c.owner.over(c, err, head) // a server waits for what runs; me may be a part of that
		return
	}
	c.owner.over(c, err, head)
}

// fill waits for bytes.
func (c *Conn) fill() error {
	if err := c.setDeadline(); err != nil {
		return err
	}
	err := c.rd.read(c.raw)
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		return errStopped
	case c.interrupted:
		c.calm()
		return errInterrupted
	case len(c.rd.unread()) > 0:
		return errStalled
	case c.active > 0 || len(c.pending) > 0 || c.worked:
		c.calm() // idle it is not, or not for long; the deadline is set anew
		return errInterrupted
	}
	return errIdle
}

// setDeadline sets a deadline while a frame is incomplete, and renews it when
// progress bytes more have come: a peer may be slow, but may not hold a
// connection with a byte now and then. Between frames the idle timeout holds,
// if there is one.
func (c *Conn) setDeadline() error {
	partial := len(c.rd.unread())
	timeouts := &c.owner.config().timeouts
	if partial == 0 && !c.deadline && timeouts.Idle == 0 {
		return nil
	}
	if c.deadline && partial > 0 && partial < c.renewAt {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		return errStopped
	case c.interrupted:
		return nil // the deadline in the past is to stay
	case partial == 0 && timeouts.Idle == 0:
		c.deadline, c.renewAt = false, 0
		return c.raw.SetReadDeadline(time.Time{})
	case partial == 0:
		c.deadline, c.renewAt, c.worked = true, 0, false
		return c.raw.SetReadDeadline(time.Now().Add(timeouts.Idle))
	}
	c.deadline, c.renewAt = true, partial+progress
	return c.raw.SetReadDeadline(time.Now().Add(timeouts.Read))
}
