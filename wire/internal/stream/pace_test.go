package stream

import (
	"testing"
	"time"
)

// Tasks that are slow on average get goroutines, fast ones do not. Single pauses
// change nothing, frequent ones do.
func TestPace(t *testing.T) {
	times := func(d ...time.Duration) func(i int) time.Duration {
		return func(i int) time.Duration { return d[i%len(d)] }
	}
	every := func(n int, d, others time.Duration) func(i int) time.Duration {
		return func(i int) time.Duration {
			if i%n == 0 {
				return d
			}
			return others
		}
	}
	for _, tt := range []struct {
		name string
		took func(i int) time.Duration
		fast bool
	}{
		{"at once", times(0), true},
		{"5 µs", times(5 * time.Microsecond), true},
		{"15 µs", times(15 * time.Microsecond), true},
		{"30 µs", times(30 * time.Microsecond), false},
		{"1 ms", times(time.Millisecond), false},
		{"an hour", times(time.Hour), false},
		{"10 and 20 µs", times(10*time.Microsecond, 20*time.Microsecond), true},
		{"10 and 50 µs", times(10*time.Microsecond, 50*time.Microsecond), false},
		{"a long pause in 200", every(200, time.Second, 2*time.Microsecond), true},
		{"a sleep in 10", every(10, 10*time.Millisecond, 2*time.Microsecond), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Pace
			if !p.isFast() {
				t.Error("the first is not taken to be fast")
			}
			for i := range 1000 {
				p.add(tt.took(i))
			}
			fast := 0
			for i := range 1000 {
				if p.isFast() {
					fast++
				}
				p.add(tt.took(i))
			}
			if tt.fast && fast != 1000 || !tt.fast && fast > 300 {
				t.Errorf("%d of 1000 ran on the reading goroutine", fast)
			}
		})
	}
}

// One pause does not make tasks slow, and those that have become fast are soon
// taken to be fast again.
func TestPaceForgets(t *testing.T) {
	var p Pace
	p.add(time.Hour)
	if !p.isFast() {
		t.Error("one pause made it slow")
	}
	for range 1000 {
		p.add(time.Hour)
	}
	n := 0
	for ; !p.isFast(); n++ {
		p.add(time.Microsecond)
	}
	if n > 5*memory {
		t.Errorf("it was fast again after %d", n)
	}
}
