package kv

import (
	"container/heap"
	"time"
)

// timers are the items with a time to live, as a heap: the one that expires
// first is the first. Each item knows its place, so that one that is replaced
// leaves at once, and there are never more timers than items.
type timers []*Item

// noTimer is the place of an item that is not among them.
const noTimer = -1

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].Expires < h[j].Expires }
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].timer, h[j].timer = i, j
}

func (h *timers) Push(x any) {
	it := x.(*Item)
	it.timer = len(*h)
	*h = append(*h, it)
}

func (h *timers) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	it.timer = noTimer
	return it
}

// order makes a heap of what was pushed in any order.
func (h *timers) order() { heap.Init(h) }

// maxSweep is how many keys are removed in one turn: those who wait for the turn
// should not wait long.
const maxSweep = 256

// retrySweep is when a sweep that failed is tried again.
const retrySweep = time.Second

// setAlarm makes sweep run when the first item expires. Who calls it has the
// turn.
func (s *Store) setAlarm(now int64) {
	if s.closed || s.broken != nil || len(s.timers) == 0 {
		return // an alarm that is set finds nothing to do
	}
	s.alarmIn(time.Duration(s.timers[0].Expires - now))
}

func (s *Store) alarmIn(d time.Duration) {
	if s.alarm == nil {
		s.alarm = time.AfterFunc(d, s.sweep)
		return
	}
	s.alarm.Reset(d)
}

// sweep removes what has expired. Nobody sees these items any more, for readers
// look at the time; but they take room, and those who watch are told.
func (s *Store) sweep() {
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.closed {
		return
	}
	now := time.Now().UnixNano()
	var group []*write
	for _, it := range s.timers.expired(now, min(maxSweep, s.queue.maxGroup)) {
		group = append(group, &write{kind: Expired, key: it.Key, version: it.Version})
	}
	if len(group) == 0 {
		s.setAlarm(now) // the clock was set back, or the item has been replaced
		return
	}
	s.commit(group...)
	for _, w := range group {
		if w.err != nil && s.broken == nil {
			s.alarmIn(retrySweep)
			return
		}
	}
}

// expired returns up to n items that have expired. In a heap they are together
// at the top, each below one of them.
func (h timers) expired(now int64, n int) []*Item {
	var found []*Item
	var visit func(i int)
	visit = func(i int) {
		if i >= len(h) || len(found) == n || !h[i].expired(now) {
			return
		}
		found = append(found, h[i])
		visit(2*i + 1)
		visit(2*i + 2)
	}
	visit(0)
	return found
}
