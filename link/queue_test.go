package link

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Frames are delivered in order, none before it is due, and when the clock has
// reached the last one's time all have been.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := newFakeClock()
		var mu sync.Mutex
		var got []int64
		q := newQueue(clock, func(f frame) {
			mu.Lock()
			defer mu.Unlock()
			if now := clock.now(); now < f.due {
				t.Errorf("due at %d, delivered at %d", f.due, now)
			}
			got = append(got, f.due)
		})
		defer q.close()
		var want []int64
		due := clock.now()
		for range rapid.IntRange(1, 200).Draw(t, "frames") {
			due = max(due, clock.now()) + rapid.SampledFrom([]int64{0, 1, 1000, 1e6}).Draw(t, "gap")
			q.push(frame{kind: framePacket, due: due})
			want = append(want, due)
			if rapid.Bool().Draw(t, "advance") {
				clock.Advance(time.Duration(rapid.Int64Range(0, 2e6).Draw(t, "by")))
			}
		}
		clock.Advance(time.Duration(max(0, due-clock.now())))
		deadline := time.Now().Add(20 * time.Second)
		for done := false; !done; runtime.Gosched() {
			mu.Lock()
			done = len(got) == len(want)
			mu.Unlock()
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d frames delivered", len(got), len(want))
			}
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("frame %d was due at %d, want %d", i, got[i], want[i])
			}
		}
	})
}

// What the queue drops when it is closed it does not deliver.
func TestQueueClose(t *testing.T) {
	clock := newFakeClock()
	q := newQueue(clock, func(frame) { t.Error("delivered") })
	q.push(frame{kind: framePacket, due: clock.now() + 1000})
	q.close()
	q.push(frame{kind: framePacket, due: 0})
	clock.Advance(time.Second)
	if n := q.waiting(); n != 0 {
		t.Errorf("%d packets wait in a closed queue", n)
	}
}
