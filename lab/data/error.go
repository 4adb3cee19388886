package data

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error is a mistake in a template or in a table.
type Error struct {
	// Name is the file, or what the template is: "the body".
	Name string
	// Line and Column count from 1, columns in characters. Column is 0 where the
	// whole line is meant, Line where the whole text is.
	Line, Column int
	Text         string
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.Name, e.Text)
	case e.Column == 0:
		return fmt.Sprintf("%s: line %d: %s", e.Name, e.Line, e.Text)
	}
	return fmt.Sprintf("%s: line %d column %d: %s", e.Name, e.Line, e.Column, e.Text)
}

// An Origin says where a text is from, for errors.
type Origin struct {
	Name string
	// Line and Column are where the text begins in what Name names; zero stands
	// for its beginning.
	Line, Column int
	// Indent is how far the text's later lines are moved to the right there.
	Indent int
}

// At makes an error about text[offset:].
func (o Origin) At(text string, offset int, format string, args ...any) *Error {
	before := text[:offset]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	e := &Error{Name: o.Name, Line: max(o.Line, 1) + line, Column: column + o.Indent, Text: fmt.Sprintf(format, args...)}
	if line == 0 {
		e.Column = column + max(o.Column, 1) - 1
	}
	return e
}
