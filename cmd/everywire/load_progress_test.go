package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/timeline"
)

// The line fits every terminal, and what it says is of the last second.
func TestLoadProgressLine(t *testing.T) {
	live := timeline.Live{Right: 218_811, Errors: 1, Rate: 18_234.4, P50: 1_020_000, P99: 4_310_000, Replies: 18_000, InFlight: 50, Late: 7, Dropped: 2}
	for _, columns := range []int{1, 20, 60, 80, 100, 200} {
		var b bytes.Buffer
		p := &loadProgress{line: &progress{w: &b, terminal: true, columns: func() int { return columns }}, total: 30 * time.Second}
		p.show(12*time.Second, live)
		p.show(13*time.Second, timeline.Live{InFlight: -1})
		p.line.done()
		for line := range strings.SplitSeq(b.String(), "\r") {
			if n := utf8.RuneCountInString(line); n >= columns {
				t.Errorf("%d columns on a terminal of %d: %q", n, columns, line)
			}
		}
	}
	for _, c := range []struct {
		elapsed, total time.Duration
		live           timeline.Live
		want           string
	}{
		{12 * time.Second, 30 * time.Second, live, "12s, 18s left: 18,234 calls/s, 218,811 right, 1 error, p50 1.02ms p99 4.31ms, 50 open, 2 dropped, 7 late\n"},
		{70 * time.Second, 0, timeline.Live{InFlight: -1}, "1m10s: 0 calls/s, 0 right, 0 errors, p50 – p99 –\n"},
		{31 * time.Second, 30 * time.Second, timeline.Live{Rate: 50, Replies: 50, P50: 1e6, P99: 2e6, Right: 9}, "31s, waiting for the last calls: 50.0 calls/s, 9 right, 0 errors, p50 1.00ms p99 –, 0 open\n"},
	} {
		var b bytes.Buffer
		p := &loadProgress{line: &progress{w: &b}, total: c.total}
		p.show(c.elapsed, c.live)
		if b.String() != c.want {
			t.Errorf("got  %q\nwant %q", b.String(), c.want)
		}
	}
}

// A file is told nothing unless somebody asks, and then every ten seconds.
func TestLoadProgressElsewhere(t *testing.T) {
	var b bytes.Buffer
	if showsLoadProgress(&b, progressAuto) || showsLoadProgress(&b, progressNone) || !showsLoadProgress(&b, progressPlain) {
		t.Error("not what the mode says")
	}
	synctest.Test(t, func(*testing.T) {
		c := timeline.New(timeline.Config{Callers: 1, Live: true})
		p := startLoadProgress(&b, progressPlain, 25*time.Second, c.Live)
		time.Sleep(500 * time.Millisecond) // so that calls and lines are never at the same moment
		for range 25 {
			time.Sleep(time.Second)
			now := time.Since(p.start)
			for range 20 {
				c.Sample(load.Sample{Scheduled: now - 2e6, Begin: now - 2e6, End: now})
			}
		}
		p.stop()
	})
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "10s, 15s left: ") || !strings.HasPrefix(lines[1], "20s, 5s left: 20.0 calls/s, ") || !strings.Contains(lines[1], "p50 2.00ms p99 2.00ms") {
		t.Errorf("%q", lines)
	}
}
