package msgpack

import (
	"errors"
	"fmt"

	"github.com/everywire/everywire/codec/internal/text"
)

// An Error says what was wrong with a value and where.
type Error struct {
	// Offset is how many bytes come before the value that was wrong when
	// reading; it is -1 when writing.
	Offset int
	// Path leads to the value from the message, such as "numbers[2]"; it is
	// empty for the message itself.
	Path string
	// Reason says what was wrong.
	Reason string
}

func (e *Error) Error() string {
	s := "msgpack: "
	if e.Offset >= 0 {
		s += fmt.Sprintf("byte %d: ", e.Offset)
	}
	if e.Path != "" {
		s += e.Path + ": "
	}
	return s + e.Reason
}

// at puts one step, such as "name" or "[2]", before the error's path. The path
// is put together from the inside out, on the way up.
func at(step string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Offset: -1, Path: step, Reason: err.Error()}
	}
	e.Path = text.Path(step, e.Path)
	return err
}

func atIndex(i int, err error) error { return at(text.Index(i), err) }

func atKey(key any, err error) error { return at(text.Key(fmt.Sprint(key)), err) }

func errorf(format string, args ...any) error {
	return &Error{Offset: -1, Reason: fmt.Sprintf(format, args...)}
}
