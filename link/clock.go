package link

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"github.com/everywire/everywire/internal/sleeper"
)

// A clock is the time of a link: of its queues, and through [tcpip.Clock] of
// the timers of its TCP stacks. Tests have one that stands still.
type clock interface {
	tcpip.Clock
	// now is the monotonic time in nanoseconds since some moment.
	now() int64
	// newSleeper returns what one goroutine sleeps with.
	newSleeper() sleeper.Sleeper
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

func (c *realClock) newSleeper() sleeper.Sleeper { return sleeper.New(c.now) }
