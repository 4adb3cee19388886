package link

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// A clock is the time of a link: of its queues, and through [tcpip.Clock] of
// the timers of its TCP stacks. Tests have one that stands still.
type clock interface {
	tcpip.Clock
	// now is the monotonic time in nanoseconds since some moment.
	now() int64
	// newSleeper returns what one goroutine sleeps with.
	newSleeper() sleeper
}

// A sleeper is used by the goroutine that made it, from beginning to end.
type sleeper interface {
	// until returns when the clock shows t or later, or soon after wake is
	// received from; it says which.
	until(t int64, wake <-chan struct{}) (woken bool)
}

// realClock is the machine's. The stacks' timers (retransmission, 200 ms and
// more; probes, 2 RTT) are Go's own, good to a millisecond; the queues sleep
// precisely, because the delay of every packet is what the link is for.
type realClock struct {
	tcpip.Clock
	base time.Time
}

func newRealClock() *realClock { return &realClock{tcpip.NewStdClock(), time.Now()} }

func (c *realClock) now() int64 { return int64(time.Since(c.base)) }

func (c *realClock) newSleeper() sleeper {
	s := &preciseSleeper{clock: c, fine: newFineSleep()}
	s.timer = time.NewTimer(time.Hour)
	s.timer.Stop()
	return s
}

// coarse is how long before its end a sleep stops being a Go timer. A Go timer
// may be late by a millisecond and a little: an idle Go program waits in
// epoll_wait, which counts in milliseconds. The last part cannot be
// interrupted, so it is short.
const coarse = 3 * time.Millisecond

// preciseSleeper sleeps in two parts: on a Go timer, which can be interrupted,
// and then in the system's own sleep, which is good to some microseconds.
type preciseSleeper struct {
	clock *realClock
	timer *time.Timer
	fine  fineSleep
}

func (s *preciseSleeper) until(t int64, wake <-chan struct{}) bool {
	for {
		left := time.Duration(t - s.clock.now())
		if left <= 0 {
			return false
		}
		if left <= coarse {
			s.fine.sleep(left)
			continue
		}
		s.timer.Reset(left - coarse)
		select {
		case <-s.timer.C:
		case <-wake:
			s.timer.Stop()
			return true
		}
	}
}
