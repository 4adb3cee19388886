package main

import (
	stdjson "encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/run"
)

// progress tells how far a run is: one line that changes on a terminal, else
// a line every ten seconds.
type progress struct {
	w        io.Writer
	terminal bool
	columns  func() int // of the terminal, which may be resized at any time
	what     string     // stands before the line, if there are several runs
	last     time.Time
	width    int // of the line on the terminal
}

const (
	terminalEvery = 100 * time.Millisecond
	plainEvery    = 10 * time.Second
	barWidth      = 24
	minBarWidth   = 8
)

func newProgress(w io.Writer) *progress {
	return &progress{w: w, terminal: isTerminal(w), columns: func() int { return columns(w) }}
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
	if p.what != "" {
		line = p.what + ": " + line
	}
	if now.Done < now.Total {
		line += fmt.Sprintf(", %s left: block %d, %s, %d %s", round(now.Left), now.Block+1, now.Arm, now.Callers, plural(now.Callers, "caller"))
		if now.Link != "" && now.Link != plan.Loopback {
			line += " over " + now.Link
		}
	}
	if now.Void > 0 {
		line += fmt.Sprintf(" (%d void)", now.Void)
	}
	p.write(line, float64(now.Done)/float64(max(now.Total, 1)))
}

// write writes the line, on a terminal in the place of the last one and after a bar
// of how much has been done.
func (p *progress) write(line string, done float64) {
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	// A line as wide as the terminal would go on in the next row, which "\r"
	// does not leave again; so the bar goes first, then the line's end.
	room := p.columns() - 1
	if bar := min(barWidth, room-len([]rune(line))-1); bar >= minBarWidth {
		filled := int(float64(bar) * min(1, max(0, done)))
		line = strings.Repeat("█", filled) + strings.Repeat("░", bar-filled) + " " + line
	}
	if runes := []rune(line); len(runes) > room {
		line = string(runes[:max(0, room)])
	}
	width := len([]rune(line))
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, min(p.width, room)-width)))
	p.width = width
}

// done clears the line.
func (p *progress) done() {
	if p.terminal && p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", max(0, min(p.width, p.columns()-1))))
	}
}

// columns is how wide the terminal w is; 80 where that is not known.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
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
