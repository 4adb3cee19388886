// Package sleeper sleeps precisely: to some microseconds where the system can, and
// never for less than it was told. An idle Go program's own timers may be late by a
// millisecond and a little, which is as long as some networks and calls take.
package sleeper

import (
	"runtime"
	"time"
)

// A Sleeper sleeps for one goroutine, and is stopped by any.
type Sleeper interface {
	// Until returns when the clock shows t or later, or soon after Stop.
	Until(t int64)
	// Stop is called once and ends the sleeper.
	Stop()
}

// New makes a sleeper by a clock: the monotonic time in nanoseconds since some
// moment.
func New(now func() int64) Sleeper {
	if s := newFine(now); s != nil {
		return s
	}
	return newYielding(now)
}

// A yielding sleeper sleeps on a Go timer, which may be late by a millisecond
// and a little (an idle Go program waits in epoll_wait, which counts in
// milliseconds, or in what other systems have), and so for the last part only
// yields. It is for systems that have nothing better.
type yielding struct {
	now     func() int64
	timer   *time.Timer
	stopped chan struct{}
}

// yieldFor is the last part of a sleep.
const yieldFor = 1500 * time.Microsecond

func newYielding(now func() int64) Sleeper {
	s := &yielding{now: now, timer: time.NewTimer(time.Hour), stopped: make(chan struct{})}
	s.timer.Stop()
	return s
}

// Until sleeps.
func (s *yielding) Until(t int64) {
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

// Stop ends a sleep.
func (s *yielding) Stop() { close(s.stopped) }
