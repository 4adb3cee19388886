package link

import (
	"time"

	"golang.org/x/sys/unix"
)

// fineSleep sleeps in nanosleep(2), with a timer slack of 1 ns. The default
// slack lets the kernel be 50 µs late, to wake several sleepers at once.
type fineSleep struct{}

func newFineSleep() fineSleep { return fineSleep{} }

// sleep sleeps for d, or less if a signal comes: the caller looks at the clock.
//
// The slack is a thread's and the goroutine may be on another one each time, so
// it is set each time. It is not set back: all that it does to whatever else
// runs there is to make its sleeps more exact. To lock the goroutine to one
// thread instead would be dearer: every packet would cost two switches between
// threads, where now its receiver runs on the thread that slept.
func (fineSleep) sleep(d time.Duration) {
	// Where this is refused the sleep is up to 50 µs late, and the link measures
	// and says so.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // EINTR
}
