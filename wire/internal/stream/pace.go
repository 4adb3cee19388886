package stream

import (
	"sync/atomic"
	"time"
)

const (
	// fast is the average time up to which tasks run on the reading goroutine. A
	// hop to another costs a few microseconds; up to several times that, saving
	// the hop is worth more than the other cores.
	fast = 20 * time.Microsecond
	// longest is what a longer task counts as. A pause of the whole process now
	// and then must not make a method slow, while one that sleeps in a tenth of
	// its calls must be.
	longest = 400 * time.Microsecond
	// memory is the number of tasks that the average is about.
	memory = 64
	// timed: of the tasks on the reading goroutine of a connection, one in so
	// many is timed.
	timed = 8
)

// A Pace keeps how long the tasks of one kind, such as the calls of one method,
// take on average. The zero value stands for tasks that have not run yet, which
// are taken to be fast. It is safe for concurrent use.
type Pace struct{ average atomic.Int64 } // nanoseconds

// isFast reports whether the next task is likely to be short.
func (p *Pace) isFast() bool { return time.Duration(p.average.Load()) < fast }

// add tells how long a task took. Two that add at once may lose one, which does
// not matter.
func (p *Pace) add(d time.Duration) {
	old := p.average.Load()
	p.average.Store(old + (int64(min(d, longest))-old)/memory)
}
