package plain

import (
	"errors"
	"fmt"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
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
	var s string
	if e.Offset >= 0 {
		s = fmt.Sprintf("byte %d: ", e.Offset)
	}
	if e.Path != "" {
		s += e.Path + ": "
	}
	return s + e.Reason
}

// Errorf is an error in what is written.
func Errorf(format string, args ...any) error {
	return &Error{Offset: -1, Reason: fmt.Sprintf(format, args...)}
}

// At puts one step, such as "name", before the error's path. The path is put
// together from the inside out, on the way up.
func At(step string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Offset: -1, Path: step, Reason: err.Error()}
	}
	e.Path = text.Path(step, e.Path)
	return err
}

// AtIndex puts a step into a list before the error's path.
func AtIndex(i int, err error) error { return At(text.Index(i), err) }

// AtKey puts a step into a map before the error's path.
func AtKey(key any, err error) error { return At(text.Key(fmt.Sprint(key)), err) }

// From makes what went wrong with a value that was read an error with its place.
func From(offset int, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Offset: offset, Reason: err.Error()}
	}
	if e.Offset < 0 {
		e.Offset = offset
	}
	return err
}

// The errors of all codecs.
var (
	ErrUTF8       = errors.New("the string is not valid UTF-8")
	ErrDepth      = fmt.Errorf("nested deeper than %d levels", schema.MaxDepth)
	ErrNilElement = errors.New("a nil pointer in a list or map")
	ErrSameKey    = errors.New("the key occurs twice")
	ErrSameText   = errors.New("two keys have this text")
)
