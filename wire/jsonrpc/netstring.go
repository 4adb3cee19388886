package jsonrpc

import (
	"fmt"

	"github.com/everywire/everywire/wire/internal/stream"
)

// maxNetstringDigits bounds the length field of a netstring: what has more is
// no length that anybody means.
const maxNetstringDigits = 9

// A netstringFramer reads netstrings (D. J. Bernstein, 1997-02-01): the length
// in decimal digits, a colon, as many bytes, a comma.
type netstringFramer struct {
	limit int // of a message; 0 for none
	// comma is set if the last message's comma is the next byte: a frame ends
	// before it, but it was there before the frame was handed out.
	comma bool
}

// A netstringError says what is wrong with a netstring.
type netstringError struct{ what string }

func (e *netstringError) Error() string { return "netstring: " + e.what }

// Next is [stream.Framer]'s. The error is a *netstringError or a
// *[stream.TooLargeError].
func (f *netstringFramer) Next(buf []byte) (from, to int, err error) {
	start := 0
	if f.comma {
		f.comma = false
		start = 1
	}
	length, i := 0, start
	for ; i < len(buf) && isDigit(buf[i]); i++ {
		length = 10*length + int(buf[i]-'0')
		switch {
		case i > start && buf[start] == '0':
			return 0, 0, &netstringError{"the length begins with 0"}
		case i-start >= maxNetstringDigits:
			return 0, 0, &netstringError{fmt.Sprintf("the length has more than %d digits", maxNetstringDigits)}
		}
	}
	switch {
	case i == len(buf):
		return start, 0, nil
	case i == start:
		return 0, 0, &netstringError{fmt.Sprintf("%q where a length must begin", buf[i])}
	case buf[i] != ':':
		return 0, 0, &netstringError{fmt.Sprintf("%q behind the length, want ':'", buf[i])}
	case f.limit > 0 && length > f.limit:
		return 0, 0, &stream.TooLargeError{Limit: f.limit}
	}
	from = i + 1
	to = from + length
	switch {
	case len(buf) <= to:
		return start, 0, nil
	case buf[to] != ',':
		return 0, 0, &netstringError{fmt.Sprintf("%q behind the %d bytes, want ','", buf[to], length)}
	}
	f.comma = true
	return from, to, nil
}
