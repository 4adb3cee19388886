package main

import (
	stdjson "encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/run"
)

// progress tells how far a run is: one line that changes on a terminal, else
// a line every ten seconds.
type progress struct {
	w        io.Writer
	terminal bool
	last     time.Time
	width    int // of the line on the terminal
}

const (
	terminalEvery = 100 * time.Millisecond
	plainEvery    = 10 * time.Second
	barWidth      = 24
)

func newProgress(w io.Writer) *progress {
	return &progress{w: w, terminal: isTerminal(w)}
}

func (p *progress) show(now run.Progress) {
	every := plainEvery
	if p.terminal {
		every = terminalEvery
	}
	if !p.last.IsZero() && time.Since(p.last) < every && now.Done < now.Total {
		return
	}
	p.last = time.Now()
	line := fmt.Sprintf("%d of %d trials", now.Done, now.Total)
	if now.Done < now.Total {
		line += fmt.Sprintf(", %s left: block %d, %s, %d %s", round(now.Left), now.Block+1, now.Arm, now.Callers, plural(now.Callers, "caller"))
	}
	if now.Void > 0 {
		line += fmt.Sprintf(" (%d void)", now.Void)
	}
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	filled := barWidth * now.Done / max(now.Total, 1)
	line = strings.Repeat("█", filled) + strings.Repeat("░", barWidth-filled) + " " + line
	width := len([]rune(line))
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-width)))
	p.width = width
}

// done clears the line.
func (p *progress) done() {
	if p.terminal && p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
	}
}

func round(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func writeJSON(w io.Writer, v any) error {
	e := stdjson.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
