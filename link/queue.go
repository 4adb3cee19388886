package link

import (
	"sync"
	"time"

	"github.com/everywire/everywire/internal/sleeper"
)

// A queue holds frames until they are due and then hands them, in order, to
// deliver. It stands at the receiving end: a frame crosses from one process to
// another while it waits here, so that the crossing takes no time of the
// link's.
type queue struct {
	clock   clock
	sleeper sleeper.Sleeper
	deliver func(frame)
	wake    chan struct{} // capacity 1: the queue is no longer empty, or closed
	done    chan struct{}

	mu     sync.Mutex
	frames []frame // from head on; due does not decrease
	head   int
	closed bool
	late   lateness
}

// lateness sums how much later than due frames were delivered.
type lateness struct {
	count    int64
	sum, max time.Duration
}

func newQueue(c clock, deliver func(frame)) *queue {
	q := &queue{clock: c, sleeper: c.newSleeper(), deliver: deliver, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// push adds a frame that is not due before those already there.
func (q *queue) push(f frame) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	if q.head > 64 && q.head > len(q.frames)/2 {
		n := copy(q.frames, q.frames[q.head:])
		clear(q.frames[n:])
		q.frames, q.head = q.frames[:n], 0
	}
	q.frames = append(q.frames, f)
	first := len(q.frames)-q.head == 1
	q.mu.Unlock()
	if first { // else run does not wait for it, or sleeps for what is due before
		q.signal()
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // run will look anyway
	}
}

// run sleeps until a frame is due, and takes no CPU time while none is in
// flight.
func (q *queue) run() {
	defer close(q.done)
	for {
		due, ok, closed := q.next()
		switch {
		case closed:
			return
		case !ok:
			<-q.wake
			continue
		}
		q.sleeper.Until(due)
		for f, ok := q.pop(); ok; f, ok = q.pop() {
			q.deliver(f)
		}
	}
}

func (q *queue) next() (due int64, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == len(q.frames) {
		return 0, false, q.closed
	}
	return q.frames[q.head].due, true, q.closed
}

// pop takes the first frame if it is due.
func (q *queue) pop() (frame, bool) {
	now := q.clock.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.head == len(q.frames) || q.frames[q.head].due > now {
		return frame{}, false
	}
	f := q.frames[q.head]
	q.frames[q.head] = frame{}
	q.head++
	if f.kind == framePacket {
		late := time.Duration(now - f.due)
		q.late.count++
		q.late.sum += late
		q.late.max = max(q.late.max, late)
	}
	return f, true
}

func (q *queue) lateness() lateness {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.late
}

// waiting counts the packets in flight towards this end.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, f := range q.frames[q.head:] {
		if f.kind == framePacket {
			n++
		}
	}
	return n
}

// close drops what is in flight and waits for the queue's goroutine. It must
// not be called by deliver.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.frames, q.head = nil, 0
	q.mu.Unlock()
	q.signal()
	q.sleeper.Stop()
	<-q.done
}
