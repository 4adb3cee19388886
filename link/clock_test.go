package link

import (
	"testing"
	"time"
)

// Both kinds of sleepers end when the time has come, never before, and when
// they are stopped.
func TestSleepers(t *testing.T) {
	clock := newRealClock()
	for name, newSleeper := range map[string]func(func() int64) sleeper{"fine": newFineSleeper, "yielding": newYieldingSleeper} {
		s := newSleeper(clock.now)
		if s == nil {
			continue // a system without
		}
		for _, d := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, 5 * time.Millisecond} {
			until := clock.now() + int64(d)
			if s.until(until); clock.now() < until {
				t.Errorf("%s: slept for %v too short", name, time.Duration(until-clock.now()))
			}
		}
		slept := make(chan struct{})
		go func() {
			defer close(slept)
			s.until(clock.now() + int64(time.Hour))
		}()
		s.stop()
		<-slept
		s.until(clock.now() + int64(time.Hour)) // returns at once
	}
}
