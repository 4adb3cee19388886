package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everywire/everywire/lab/run"
)

// The line of progress never reaches the last column, whatever the terminal's
// width: it would wrap, and each change would leave a row behind.
func TestProgressFitsTheTerminal(t *testing.T) {
	now := run.Progress{Block: 9, Arm: "msgpackrpc+tcp", Callers: 32, Done: 101, Total: 240, Void: 3, Left: 103 * time.Second}
	for _, columns := range []int{1, 10, 60, 80, 200} {
		var b bytes.Buffer
		p := &progress{w: &b, terminal: true, columns: func() int { return columns }}
		p.show(now)
		p.last = time.Time{}
		short := now
		short.Arm, short.Void = "rest", 0
		p.show(short)
		p.done()
		for line := range strings.SplitSeq(b.String(), "\r") {
			if n := utf8.RuneCountInString(line); n >= columns {
				t.Errorf("%d columns on a terminal of %d: %q", n, columns, line)
			}
		}
		if columns >= 80 && !strings.Contains(b.String(), "1m43s left: block 10, msgpackrpc+tcp, 32 callers (3 void)") {
			t.Errorf("on a terminal of %d columns the line is cut: %q", columns, b.String())
		}
		if columns == 200 && !strings.Contains(b.String(), strings.Repeat("█", 10)+strings.Repeat("░", 14)+" 101 of 240") {
			t.Errorf("no bar of %d: %q", barWidth, b.String())
		}
	}
}
