package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Error says what is wrong at one place of a file.
type Error struct {
	// File is the file's name, and Pos the place.
	File string `json:"file"`
	Pos
	// Path is the place as a JSON Pointer (RFC 6901), if the file is one of JSON.
	Path string `json:"path,omitempty"`
	// Text says what is wrong.
	Text string `json:"error"`
	// Allowed are the words that could stand there, if that is a list.
	Allowed []string `json:"allowed,omitempty"`
	// Source is the line.
	Source string `json:"source"`
}

// Error is one line, without the source.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
	if len(e.Allowed) > 0 {
		text += " (allowed: " + strings.Join(e.Allowed, ", ") + ")"
	}
	return text
}

// shownWidth is how much of a long line Detail shows.
const shownWidth = 90

// Detail is several lines: the error, the line that it is in with a mark below the
// place, the path of a file of JSON, and what is allowed there.
func (e *Error) Detail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s\n", e.File, e.Line, e.Column, e.Text)
	line := []rune(strings.Map(printable, e.Source))
	column := max(min(e.Column-1, len(line)), 0)
	from := 0
	if column > shownWidth-20 { // the place is shown, whatever else
		from = column - shownWidth/2
	}
	shown := line[from:min(len(line), from+shownWidth)]
	fmt.Fprintf(&b, "    %s\n    %s^\n", strings.TrimRight(string(shown), " "), strings.Repeat(" ", column-from))
	if e.Path != "" {
		fmt.Fprintf(&b, "    at %s\n", strings.Map(printable, e.Path))
	}
	if len(e.Allowed) > 0 {
		wrapped(&b, "    allowed here: ", e.Allowed)
	}
	return b.String()
}

// printable keeps a terminal as it is, and columns where they are.
func printable(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case unicode.IsPrint(r):
		return r
	}
	return utf8.RuneError
}

// wrapped writes a list in lines that fit.
func wrapped(b *strings.Builder, head string, words []string) {
	const width = 100
	indent := strings.Repeat(" ", len(head))
	line := head
	for i, w := range words {
		if i < len(words)-1 {
			w += ", "
		}
		if len(line)+len(w) > width && strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += w
	}
	b.WriteString(line + "\n")
}

// Errors are all that is wrong with a file, in the order of their places.
type Errors []*Error

// Error is a line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Detail is what the details of all errors are.
func (e Errors) Detail() string {
	var b strings.Builder
	for _, one := range e {
		b.WriteString(one.Detail())
	}
	return b.String()
}

// Sorted are the errors in the order of their places, file by file, without those
// that are said twice.
func (e Errors) Sorted() Errors {
	files := map[string]int{}
	for _, one := range e {
		if _, known := files[one.File]; !known {
			files[one.File] = len(files)
		}
	}
	sorted := slices.Clone(e)
	slices.SortStableFunc(sorted, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(sorted, func(a, b *Error) bool { return a.File == b.File && a.Pos == b.Pos && a.Text == b.Text })
}

// err is nil if there are none.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e.Sorted()
}
