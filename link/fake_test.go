package link

import (
	"runtime"
	"testing"
	"time"

	"github.com/everywire/everywire/internal/sleeper"
	"gvisor.dev/gvisor/pkg/tcpip/faketime"
)

// fakeClock stands still until a test advances it.
type fakeClock struct{ *faketime.ManualClock }

func newFakeClock() fakeClock { return fakeClock{faketime.NewManualClock()} }

func (c fakeClock) now() int64 { return c.Now().UnixNano() }

func (c fakeClock) newSleeper() sleeper.Sleeper { return &fakeSleeper{c, make(chan struct{})} }

type fakeSleeper struct {
	clock   fakeClock
	stopped chan struct{}
}

func (s *fakeSleeper) Stop() { close(s.stopped) }

func (s *fakeSleeper) Until(t int64) {
	for {
		now := s.clock.now()
		if now >= t {
			return
		}
		done := make(chan struct{})
		timer := s.clock.AfterFunc(time.Duration(t-now), func() { close(done) })
		if s.clock.now() != now {
			timer.Stop() // advanced meanwhile: it would end too late
			continue
		}
		select {
		case <-done:
			return
		case <-s.stopped:
			timer.Stop()
			return
		}
	}
}

// eventually waits for what other goroutines are about to do while the fake
// clock stands still.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	limit := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain: %s", what)
		}
		runtime.Gosched()
	}
}

// inFlight waits until n packets are on the way to an end, or more: on a slow
// machine TCP has sent some again.
func inFlight(t testing.TB, to *End, n int) {
	t.Helper()
	eventually(t, "packets in flight", func() bool { return to.in.waiting() >= n })
}

// settled waits until the queue has delivered all that is due.
func settled(t testing.TB, to *End, n int) {
	t.Helper()
	eventually(t, "packets delivered", func() bool { return to.got.packets.Load() == int64(n) })
}
