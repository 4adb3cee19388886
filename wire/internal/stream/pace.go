package stream

import (
	"sync/atomic"
	"time"
)

// fast is the average time up to which tasks run on the reading goroutine. A
// hop to another costs a few microseconds; up to several times that, saving
// the hop is worth more than the other cores.
const fast = 20 * time.Microsecond

// A Pace keeps how long the tasks of one kind, such as the calls of one method,
// take on average. The zero value stands for tasks that have not run yet, which
// are taken to be fast. It is safe for concurrent use.
type Pace struct{ average atomic.Int64 } // nanoseconds

// isFast reports whether the next task is likely to be short.
func (p *Pace) isFast() bool { return time.Duration(p.average.Load()) < fast }

// add tells how long a task took. The average moves by a sixteenth towards it:
// one pause of the process does not make a method slow for long. Two that add
// at once may lose one, which does not matter.
func (p *Pace) add(d time.Duration) {
	old := p.average.Load()
	p.average.Store(old + (int64(d)-old)/16)
}
