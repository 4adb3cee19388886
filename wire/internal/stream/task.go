package stream

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// flushAt is the length of replies that a reader collects before it writes
// them, even if there are more requests to run.
const flushAt = 32 << 10

var (
	errShuttingDown = everywire.NotRun(status.Error(codes.Unavailable, "the server is shutting down"))
	errTooMany      = everywire.NotRun(status.Error(codes.ResourceExhausted, "too many calls are running on this connection"))
	errDeaf         = errors.New("the peer sends requests and does not read the replies")
	errGone         = status.Error(codes.Canceled, "the connection has ended")
)

// received is what became of a frame.
type received uint8

const (
	nothingSpecial received = iota
	// callDelivered: it was the reply of a call.
	callDelivered
	// leadLost: the goroutine does not read any more.
	leadLost
)

// receive routes one frame. me is nil for a goroutine of the connection's own.
func (c *Conn) receive(frame []byte, me *waiter) (received, error) {
	// A task that gets a goroutine needs its frame for longer than the buffer
	// stays. If the last one did, this one probably will: a copy of the frame is
	// cheaper than to take the buffer away from all that is behind it.
	var copied *buffer
	if c.apart && len(frame) < detachAt {
		copied = newBuffer()
		copied.b = append(copied.b, frame...)
		frame = copied.b
	}
	f, err := c.session.Receive(frame)
	if err != nil {
		copied.free()
		return nothingSpecial, err
	}
	if f.Kind == Request {
		size := len(frame)
		if f.Lasts {
			size = 0
		}
		return c.begin(f.Task, size, copied, me)
	}
	if f.Kind == Reply || f.Kind == Part {
		err = c.deliver(f, frame, copied)
	} else {
		copied.free()
	}
	if f.Kind == Reply {
		return callDelivered, err
	}
	return nothingSpecial, err
}

// begin runs a task here or elsewhere. frame is the buffer that its frame has
// been copied to, nil if it is in the reader's.
func (c *Conn) begin(task Task, size int, frame *buffer, me *waiter) (received, error) {
	pace := task.Pace()
	here := me == nil && pace != nil && pace.isFast() && c.owner.keepsReading()

	c.mu.Lock()
	mine, gen := c.rd.buf, c.gen
	waited := false
	var refuse error
	for refuse == nil && !c.hasRoom(size) {
		if me != nil {
			refuse = errTooMany // a caller that leads waits for nothing else
			break
		}
		if !waited {
			waited = true
			if c.out != nil {
				c.w.post(c.out) // the peer may wait for these before it goes on
				c.out = nil
			}
			c.setLead(waiting)
			gen = c.gen
			c.offerLead()
		}
		c.room.Wait()
		if c.err != nil {
			refuse = errGone
		}
	}
	if refuse == nil && c.draining {
		refuse = errShuttingDown
	}
	if refuse != nil && me != nil {
		c.mu.Unlock()
		return nothingSpecial, c.refuseHere(task, refuse, frame)
	}
	c.active++
	c.load.Add(1)
	c.held += size
	lost := c.gen != gen
	if waited && !lost {
		c.setLead(reading)
	}
	switch {
	case lost:
		// The buffer was left to this task when another one took over.
		if frame == nil {
			frame = mine
		} else {
			mine.free()
		}
		c.mu.Unlock()
		c.runApart(task, pace, size, frame, refuse)
		return leadLost, nil
	case here && refuse == nil:
		return c.runHere(task, pace, size, frame), nil
	}
	c.apart = true
	if frame == nil {
		frame = c.rd.detach(0)
	}
	c.mu.Unlock()
	go c.runApart(task, pace, size, frame, refuse)
	return nothingSpecial, nil
}

// refuseHere answers a request that a caller who leads has no room for. The
// caller must not wait, so a peer that sends more and more of them and does not
// read the answers loses the connection.
func (c *Conn) refuseHere(task Task, why error, frame *buffer) error {
	unit := newBuffer()
	unit.b = task.Refuse(why, unit.b)
	frame.free()
	if len(unit.b) == 0 {
		unit.free()
		return nil
	}
	if c.w.post(unit) > 2*maxQueued {
		return errDeaf
	}
	return nil
}

// hasRoom reports whether a task with a frame of size bytes may run. c.mu is
// held.
func (c *Conn) hasRoom(size int) bool {
	cfg := c.owner.config()
	return c.active < cfg.maxInFlight && (c.active == 0 || c.held+size <= 2*cfg.maxFrame)
}

// runHere runs a task on the reading goroutine. That is not the reader any
// more if the task takes long: then the watch has started another one, see
// [Conn.takeOver]. frame is as in begin. c.mu is held, and not any more when it
// returns.
func (c *Conn) runHere(task Task, pace *Pace, size int, frame *buffer) (got received) {
	if frame != nil {
		c.apart = false
	}
	if c.out == nil {
		c.out, c.replies = newBuffer(), 0
	}
	c.replies++
	c.runs++
	timeIt := c.runs%timed == 0
	out, start := c.out, len(c.out.b)
	mine := c.rd.buf
	c.setLead(running)
	gen := c.gen
	c.outSent = out.b[:start:start]
	c.mu.Unlock()
	c.beWatched()

	returned := false
	defer func() {
		var panicked any
		if !returned {
			panicked = recover()
			out.b = c.abort(task, panicked, out.b[:start])
		}
		c.mu.Lock()
		lost := c.gen != gen
		if !lost {
			c.setLead(reading)
			c.outSent = nil
			c.ended(size)
		}
		c.mu.Unlock()
		frame.free()
		if lost {
			got = leadLost
			pace.add(longest)
			out.b = out.b[:copy(out.b, out.b[start:])]
			c.write(out)
			if frame == nil {
				mine.free()
			}
			c.mu.Lock()
			c.ended(size)
			c.mu.Unlock()
		}
		if !returned && panicked == nil && !lost {
			c.readers.Go(func() { c.read(nil) }) // runtime.Goexit: this goroutine ends
		}
	}()
	// Looking at the clock twice costs as much as parsing a request. A part of
	// the tasks is enough; those that lose the lead count in any case.
	if !timeIt {
		out.b = task.Run(out.b)
		returned = true
		return nothingSpecial
	}
	began := time.Now()
	out.b = task.Run(out.b)
	returned = true
	pace.add(time.Since(began))
	return nothingSpecial
}

// takeOver makes the calling goroutine, or one that it starts, the reader in
// the place of one that runs a task. The task keeps its buffer, and the replies
// before its own are sent. c.mu is held, and c.lead is running or waiting.
func (c *Conn) takeOver() {
	if c.lead == running {
		if len(c.outSent) > 0 {
			unit := newBuffer()
			unit.b = append(unit.b, c.outSent...)
			c.w.post(unit)
		}
		c.out, c.outSent = nil, nil
	}
	c.rd.detach(0)
	c.setLead(reading)
}

// runApart runs a task on a goroutine of its own.
func (c *Conn) runApart(task Task, pace *Pace, size int, frame *buffer, refuse error) {
	reply := newBuffer()
	returned := false
	defer func() {
		if !returned {
			reply.b = c.abort(task, recover(), reply.b[:0])
		}
		frame.free()
		c.write(reply)
		c.mu.Lock()
		c.ended(size)
		c.mu.Unlock()
	}()
	if refuse != nil {
		reply.b = task.Refuse(refuse, reply.b)
	} else {
		began := time.Now()
		reply.b = task.Run(reply.b)
		if pace != nil {
			pace.add(time.Since(began))
		}
	}
	returned = true
}

// abort answers for a task that did not return; panicked is nil if it ended
// its goroutine.
func (c *Conn) abort(task Task, panicked any, dst []byte) []byte {
	c.owner.config().logger.LogAttrs(c.ctx, slog.LevelError, "a call did not return",
		slog.Any("panic", panicked), slog.String("stack", string(debug.Stack())))
	return task.Abort(dst)
}

// ended counts a task that has run. c.mu is held.
func (c *Conn) ended(size int) {
	c.active--
	c.held -= size
	c.worked = true
	c.load.Add(-1)
	c.room.Broadcast()
	if c.active == 0 && c.draining {
		c.stop()
	}
}

// write queues a reply. It waits while the queue is full: the peer does not
// read, and is given up after the write timeout. Replies that wait count as
// held: a peer that does not read is not read from any more when they are too
// many.
func (c *Conn) write(unit *buffer) {
	if c.w.offer(unit) {
		return
	}
	size := len(unit.b)
	c.hold(size)
	// An error has closed the connection already, and the reader reports it.
	_, _ = c.w.write(context.Background(), unit)
	c.hold(-size)
}

func (c *Conn) hold(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held += n; n < 0 {
		c.room.Broadcast()
	}
}

// flush writes the replies that the reader has collected. It reports false if
// the lead was lost over it: the queue was full, and the wait for room was long.
func (c *Conn) flush() bool {
	if c.out == nil {
		return true
	}
	unit := c.out
	c.out = nil
	if c.w.offer(unit) {
		return true
	}
	// It counts as a task: a peer that sends and sends and does not read is not
	// read from any more when maxInFlight such writes wait.
	size := len(unit.b)
	c.mu.Lock()
	c.active++
	c.load.Add(1)
	c.held += size
	c.setLead(running)
	gen := c.gen
	c.mu.Unlock()
	c.beWatched()
	_, _ = c.w.write(context.Background(), unit) // as in write
	c.mu.Lock()
	lost := c.gen != gen
	if !lost {
		c.setLead(reading)
	}
	c.ended(size)
	c.mu.Unlock()
	return !lost
}

// drain begins the end: new requests are refused, and reading stops when no
// task runs any more.
func (c *Conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if c.active == 0 {
		c.stop()
	}
}

// waitIdle waits until no task runs.
func (c *Conn) waitIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.active > 0 {
		c.room.Wait()
	}
}
