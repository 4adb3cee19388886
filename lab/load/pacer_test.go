package load

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// oversleeper is a sleeper that always wakes too late, in a bubble.
type oversleeper struct {
	pacerSleeper
	by time.Duration
}

func (s *oversleeper) Until(t int64) { s.pacerSleeper.Until(t + int64(s.by)) }

func oversleeping(by time.Duration) func(func() int64) pacerSleeper {
	return func(now func() int64) pacerSleeper { return &oversleeper{inBubble(now), by} }
}

// A pacer that wakes too late is found out, but only for calls that a caller was free
// for: when all are busy, nobody is kept from calling.
func TestLatePacer(t *testing.T) {
	for name, tc := range map[string]struct {
		by, takes       time.Duration
		callers         int
		late, pacerLate int64
		lag             time.Duration // of the median call
		void            bool
	}{
		"on time":                {0, time.Millisecond, 10, 0, 0, 0, false},
		"late":                   {3 * time.Millisecond, time.Millisecond, 10, 100, 100, 3 * time.Millisecond, true},
		"a little late":          {500 * time.Microsecond, time.Millisecond, 10, 0, 0, 500 * time.Microsecond, false},
		"late, but all are busy": {3 * time.Millisecond, 50 * time.Millisecond, 1, 20, 1, 0, false},
		"on time, and all busy":  {0, 50 * time.Millisecond, 1, 19, 0, 0, false},
		// It wakes 15 ms after every other call is due, and releases two.
		"more than a call behind": {15 * time.Millisecond, time.Millisecond, 10, 100, 100, 5 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Run(t.Context(), Config{
					Conn: taking(tc.takes), Workload: Sum(), Callers: tc.callers, For: time.Second, Drain: time.Minute,
					Shape: steady(100, time.Second), sleeper: oversleeping(tc.by),
				})
				if err != nil {
					t.Fatal(err)
				}
				lag := time.Duration(r.Lag.Percentile(50))
				if r.Late != tc.late || r.PacerLate != tc.pacerLate || lag < tc.lag || lag > tc.lag+tc.lag/100+1 {
					t.Errorf("%d late, %d by the pacer, lag %v; want %d, %d, %v", r.Late, r.PacerLate, lag, tc.late, tc.pacerLate, tc.lag)
				}
				if void := r.Void(0, time.Second, 1); (void != "") != tc.void {
					t.Errorf("void: %q", void)
				}
			})
		})
	}
}

func TestVoid(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    Result
		cpu  time.Duration
		want string
	}{
		{"fine", Result{Scheduled: 1000, PacerLate: 10}, 1800 * time.Millisecond, ""},
		{"late", Result{Scheduled: 1000, PacerLate: 11}, 0, "more than 1 % of the calls late"},
		{"two of ten", Result{Scheduled: 10, PacerLate: 2}, 0, ""},
		{"three of ten", Result{Scheduled: 10, PacerLate: 3}, 0, "more than 1 % of the calls late"},
		{"busy", Result{Scheduled: 1000}, 1801 * time.Millisecond, "more than 90 % of its cores"},
		{"closed", Result{}, 2 * time.Second, ""},
	} {
		if got := tc.r.Void(tc.cpu, time.Second, 2); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}
