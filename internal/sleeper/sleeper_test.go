package sleeper

import (
	"testing"
	"time"
)

// Both kinds of sleepers end when the time has come, never before, and when
// they are stopped.
func TestSleepers(t *testing.T) {
	base := time.Now()
	now := func() int64 { return int64(time.Since(base)) }
	for name, newSleeper := range map[string]func(func() int64) Sleeper{"fine": newFine, "yielding": newYielding} {
		s := newSleeper(now)
		if s == nil {
			continue // a system without
		}
		for _, d := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, 5 * time.Millisecond} {
			until := now() + int64(d)
			if s.Until(until); now() < until {
				t.Errorf("%s: slept for %v too short", name, time.Duration(until-now()))
			}
		}
		slept := make(chan struct{})
		go func() {
			defer close(slept)
			s.Until(now() + int64(time.Hour))
		}()
		s.Stop()
		<-slept
		s.Until(now() + int64(time.Hour)) // returns at once
	}
}
