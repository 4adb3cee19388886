package msgpack

import (
	"time"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// An encoder appends values to b.
type encoder struct {
	b     []byte
	depth int
	keys  []string // a stack of map keys being sorted, one stretch an open map
}

// enter counts one more level of nesting. The caller leaves it by depth--,
// unless there was an error, which ends the encoding.
func (e *encoder) enter() error {
	if e.depth++; e.depth > schema.MaxDepth {
		return errorf("nested deeper than %d levels", schema.MaxDepth)
	}
	return nil
}

func (e *encoder) str(s string) error {
	if !utf8.ValidString(s) {
		return errorf("the string is not valid UTF-8")
	}
	e.b = AppendString(e.b, s)
	return nil
}

func (e *encoder) strBytes(s []byte) error {
	if !utf8.Valid(s) {
		return errorf("the string is not valid UTF-8")
	}
	e.b = append(appendStrHeader(e.b, len(s)), s...)
	return nil
}

func (e *encoder) time(t time.Time) error {
	if !text.InYears(t) {
		return errorf("the time %s is not within the years 1 to 9999", t.UTC().Format(time.RFC3339))
	}
	e.b = AppendTime(e.b, t)
	return nil
}

func (e *encoder) duration(seconds int64, nanos int32) {
	var buf [32]byte
	s := text.AppendDuration(buf[:0], seconds, nanos)
	e.b = append(appendStrHeader(e.b, len(s)), s...)
}
