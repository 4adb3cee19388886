package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/everywire/everywire/lab/report"
	"github.com/everywire/everywire/lab/timeline"
)

// loadProgressMode says who is told how a load goes.
type loadProgressMode string

const (
	// progressAuto is a line that changes, on a terminal; nothing elsewhere.
	progressAuto loadProgressMode = "auto"
	// progressPlain is a line every ten seconds.
	progressPlain loadProgressMode = "plain"
	progressNone  loadProgressMode = "none"
)

// loadEvery is how often the line changes.
const loadEvery = 250 * time.Millisecond

// A few replies have no percentile: p50 is shown from ten in a second, p99 from a
// hundred. It is a look at the run and no result.
const liveP50, liveP99 = 10, 100

// loadProgress tells how a load goes while it runs.
type loadProgress struct {
	line  *progress
	live  func() timeline.Live
	start time.Time
	total time.Duration // 0 if it is not known
	quit  chan struct{}
	wait  sync.WaitGroup
}

// startLoadProgress begins to tell on w, which is standard error, how a load goes
// that begins now and takes total, 0 if that is not known. live is the Live of a
// [timeline.Collector] with Config.Live, whose Conn wraps each caller's connection
// so that the line tells how many calls are open. The caller calls stop when the
// load has ended, however it did. Where [showsLoadProgress] says no, nobody is told
// and the collector needs no Live.
//
//	show := showsLoadProgress(stderr, mode)
//	c := timeline.New(timeline.Config{Callers: n, Open: shape.Open(), Live: show})
//	if show {
//		defer startLoadProgress(stderr, mode, total, c.Live).stop()
//	}
func startLoadProgress(w io.Writer, mode loadProgressMode, total time.Duration, live func() timeline.Live) *loadProgress {
	line := newProgress(w)
	every := loadEvery
	if mode == progressPlain {
		line.terminal, every = false, plainEvery
	}
	p := &loadProgress{line: line, live: live, start: time.Now(), total: total, quit: make(chan struct{})}
	p.live() // from here on
	p.wait.Go(func() { p.run(every) })
	return p
}

// showsLoadProgress reports whether there is anybody to tell.
func showsLoadProgress(w io.Writer, mode loadProgressMode) bool {
	return mode == progressPlain || mode == progressAuto && isTerminal(w)
}

func (p *loadProgress) run(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			p.show(time.Since(p.start), p.live())
		}
	}
}

// stop ends it and clears the line.
func (p *loadProgress) stop() {
	close(p.quit)
	p.wait.Wait()
	p.line.done()
}

func (p *loadProgress) show(elapsed time.Duration, l timeline.Live) {
	parts := []string{elapsed.Round(time.Second).String()}
	done := 0.0
	switch left := p.total - elapsed; {
	case p.total == 0:
	case left > 0:
		parts[0] += ", " + round(left).String() + " left"
		done = elapsed.Seconds() / p.total.Seconds()
	default:
		parts[0] += ", waiting for the last calls"
		done = 1
	}
	count := func(n int64, word string) string { return report.Whole(n) + " " + word }
	parts[0] += ": " + report.Number(l.Rate) + " calls/s"
	parts = append(parts, count(l.Right, "right"), count(l.Errors, plural(int(l.Errors), "error")))
	p50, p99 := "–", "–"
	if l.Replies >= liveP50 {
		p50 = report.Latency(int64(l.P50))
	}
	if l.Replies >= liveP99 {
		p99 = report.Latency(int64(l.P99))
	}
	parts = append(parts, fmt.Sprintf("p50 %s p99 %s", p50, p99))
	if l.InFlight >= 0 {
		parts = append(parts, count(l.InFlight, "open"))
	}
	if l.Dropped > 0 {
		parts = append(parts, count(l.Dropped, "dropped"))
	}
	if l.Late > 0 {
		parts = append(parts, count(l.Late, "late"))
	}
	p.line.write(strings.Join(parts, ", "), done)
}
