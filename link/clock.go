package link

import (
	"runtime"
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

// A sleeper sleeps for one goroutine, and is stopped by any.
type sleeper interface {
	// until returns when the clock shows t or later, or soon after stop.
	until(t int64)
	// stop is called once and ends the sleeper.
	stop()
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
	if s := newFineSleeper(c.now); s != nil {
		return s
	}
	return newYieldingSleeper(c.now)
}

// A yieldingSleeper sleeps on a Go timer, which may be late by a millisecond
// and a little (an idle Go program waits in epoll_wait, which counts in
// milliseconds, or in what other systems have), and so for the last part only
// yields. It is for systems that have nothing better.
type yieldingSleeper struct {
	now     func() int64
	timer   *time.Timer
	stopped chan struct{}
}

// yieldFor is the last part of a sleep.
const yieldFor = 1500 * time.Microsecond

func newYieldingSleeper(now func() int64) sleeper {
	s := &yieldingSleeper{now: now, timer: time.NewTimer(time.Hour), stopped: make(chan struct{})}
	s.timer.Stop()
	return s
}

func (s *yieldingSleeper) until(t int64) {
	for {
		left := time.Duration(t - s.now())
		if left <= 0 {
			return
		}
		if left > yieldFor {
			s.timer.Reset(left - yieldFor)
			select {
			case <-s.timer.C:
				continue
			case <-s.stopped:
				s.timer.Stop()
				return
			}
		}
		select {
		case <-s.stopped:
			return
		default:
			runtime.Gosched()
		}
	}
}

func (s *yieldingSleeper) stop() { close(s.stopped) }
