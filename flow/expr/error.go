package expr

import (
	"fmt"
	"strings"
)

// Limits on what an expression may be, and make.
const (
	// MaxSource is how many bytes an expression may have.
	MaxSource = 16 << 10
	// MaxDepth is how deeply its parts may nest, and MaxNodes how many it may have.
	MaxDepth = 64
	MaxNodes = 1000
	// MaxText is how many bytes a text may have that an expression makes.
	MaxText = 4 << 20
)

// An Error says what is wrong with an expression, or with the values that it was
// computed from.
type Error struct {
	// Offset is the byte of the expression at which the part begins that is wrong.
	Offset int
	// Text says what is wrong.
	Text string
	// Allowed are the words that could stand there; nil if that is no list.
	Allowed []string
}

func (e *Error) Error() string { return fmt.Sprintf("character %d: %s", e.Offset+1, e.Text) }

func errorf(at int, format string, args ...any) *Error {
	return &Error{Offset: at, Text: fmt.Sprintf(format, args...)}
}

// unknown is the error for a word that is none of those that could stand there.
func unknown(at int, what, name string, allowed []string) *Error {
	text := fmt.Sprintf("there is no %s %q", what, name)
	if near := Nearest(name, allowed); near != "" {
		text += fmt.Sprintf(": did you mean %q?", near)
	}
	return &Error{Offset: at, Text: text, Allowed: allowed}
}

// Nearest is the word that somebody may have meant by another one, or "" if none is
// near: one of at most a third of its characters changed, added, left out or
// exchanged with the next.
func Nearest(word string, words []string) string {
	best, least := "", max(len(word)/3, 1)+1
	for _, w := range words {
		if strings.EqualFold(w, word) {
			return w
		}
		if len(w) > 64 || len(word) > 64 {
			continue
		}
		if d := distance(word, w); d < least && d < len(w) {
			best, least = w, d
		}
	}
	return best
}

// distance is how many characters must be changed, added, left out, or exchanged
// with the next one, for a to become b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
