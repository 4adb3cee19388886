package json

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/text"
)

// Error is a fault in a JSON text, or in a value that cannot be written.
type Error struct {
	// Path leads to the faulty value, such as items[2].name or labels["a b"].
	// It is empty for the message itself.
	Path string
	// Line and Column say where in the text, from 1; columns count characters.
	// Both are 0 if the fault is in a value that was to be written.
	Line, Column int
	// Reason is what is wrong.
	Reason string

	offset int
	cause  error
}

// Error returns, for example,
//
//	json: line 3 column 14: numbers[2]: "x" is not an integer
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("json: ")
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d column %d: ", e.Line, e.Column)
	}
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Unwrap returns the error of a TextMarshaler, a TextUnmarshaler or package
// proto that is behind this one, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Position returns the line and column of an offset in data, both from 1.
// Lines end with "\n"; columns count characters.
func Position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	line = 1 + bytes.Count(before, []byte{'\n'})
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

func errorf(format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...)}
}

// protoError makes an Error of an error of package proto, whose text begins
// with "proto:" and one of two kinds of space, chosen at random.
func protoError(offset int, err error) error {
	reason := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return &Error{offset: offset, Reason: strings.TrimPrefix(reason, "proto: "), cause: err}
}

// within puts a field's name before the path of err.
func within(err error, name string) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // ours is never wrapped here
		e.Path = text.Path(name, e.Path)
	}
	return err
}

// atIndex puts a list index before the path of err.
func atIndex(err error, i int) error { return within(err, text.Index(i)) }

// atKey puts a map key before the path of err.
func atKey(err error, key string) error { return within(err, text.Key(key)) }
