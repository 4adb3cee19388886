package cbor

import (
	"encoding/binary"
	"math"
	"time"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/text"
)

// A reader reads values one after the other from bytes that are all there. It
// reserves no memory; a claimed length or count that the remaining input
// cannot hold is an error. After an error the position is that of the value
// that could not be read. All errors are of type [*Error].
type reader struct {
	data []byte
	pos  int
	// indefinite says that an error was for an item of indefinite length, which
	// the reader does not know; see [definite].
	indefinite bool
}

// Len returns how many bytes are left.
func (r *reader) Len() int { return len(r.data) - r.pos }

// End returns an error if any bytes are left.
func (r *reader) End() error {
	if r.Len() > 0 {
		return r.errorf("%d bytes after the end of the value", r.Len())
	}
	return nil
}

// Type returns the type of the next value.
func (r *reader) Type() (valueType, error) {
	h, err := r.peek()
	return h.typ, err
}

// Nil reads null or undefined.
func (r *reader) Nil() error {
	_, err := r.take(typeNil)
	return err
}

// Bool reads a bool.
func (r *reader) Bool() (bool, error) {
	h, err := r.take(typeBool)
	return h.bits == simpleTrue&31, err
}

// integer reads an integer of any width. n has its bits, as of an int64 if it
// is negative, else as of a uint64. ok is false, and nothing is read, if there
// is no whole integer within 64 bits.
func (r *reader) integer() (n uint64, negative, ok bool) {
	b := r.data[r.pos:]
	if len(b) == 0 {
		return 0, false, false
	}
	c, size := b[0], 1
	if c >= majorBytes<<5 {
		if c>>5 != majorTag {
			return 0, false, false
		}
		h, err := r.peek()
		if err != nil || h.typ != typeInt {
			return 0, false, false
		}
		r.pos += h.size
		return h.bits, h.below, true
	}
	switch c & 31 {
	case 24:
		if len(b) < 2 {
			return 0, false, false
		}
		n, size = uint64(b[1]), 2
	case 25:
		if len(b) < 3 {
			return 0, false, false
		}
		n, size = uint64(binary.BigEndian.Uint16(b[1:])), 3
	case 26:
		if len(b) < 5 {
			return 0, false, false
		}
		n, size = uint64(binary.BigEndian.Uint32(b[1:])), 5
	case 27:
		if len(b) < 9 {
			return 0, false, false
		}
		n, size = binary.BigEndian.Uint64(b[1:]), 9
	case 28, 29, 30, 31:
		return 0, false, false
	default:
		n = uint64(c & 31)
	}
	if c>>5 == majorNegint {
		if n > math.MaxInt64 {
			return 0, false, false
		}
		n, negative = ^n, true
	}
	r.pos += size
	return n, negative, true
}

// Int64 reads an integer of any width.
func (r *reader) Int64() (int64, error) {
	start := r.pos
	n, negative, ok := r.integer()
	if !ok {
		return 0, r.notA(typeInt)
	}
	if !negative && n > math.MaxInt64 {
		r.pos = start
		return 0, r.errorf("%d is out of the range of a 64-bit signed integer", n)
	}
	return int64(n), nil
}

// Float64 reads a float of any width.
func (r *reader) Float64() (float64, error) {
	h, err := r.take(typeFloat)
	return h.double, err
}

// double returns the next value if it is a whole float of 64 bits, without
// reading it.
func (r *reader) double() (float64, bool) {
	b := r.data[r.pos:]
	if len(b) < 9 || b[0] != simpleFloat64 {
		return 0, false
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b[1:])), true
}

// Str reads a text string that is valid UTF-8. The result is part of the
// reader's data.
func (r *reader) Str() ([]byte, error) {
	b, size, ok := r.span(majorText)
	if !ok {
		return nil, r.notA(typeStr)
	}
	if !utf8.Valid(b) {
		return nil, r.errorf("a string is not valid UTF-8")
	}
	r.pos += size
	return b, nil
}

// span returns what is in the string of the given major type that comes next,
// and the size of all of it, without reading it. ok is false if there is none,
// or not all of it.
func (r *reader) span(major byte) (content []byte, size int, ok bool) {
	if n, ok := r.few(major); ok && n < r.Len() {
		return r.data[r.pos+1:][:n], 1 + n, true
	}
	h, err := r.peek()
	if err != nil || h.typ != typeOf(item{major: major}) {
		return nil, 0, false
	}
	size = h.size + int(h.length)
	return r.data[r.pos+h.size:][:h.length], size, true
}

// ArrayHeader reads the beginning of an array and returns the number of
// elements, which follow. The input is long enough for them if each takes one
// byte.
func (r *reader) ArrayHeader() (int, error) {
	if n, ok := r.few(majorArray); ok && n < r.Len() {
		r.pos++
		return n, nil
	}
	h, err := r.take(typeArray)
	return int(h.length), err
}

// MapHeader reads the beginning of a map and returns the number of pairs,
// which follow, the key first. The input is long enough for them if each key
// and each value takes one byte.
func (r *reader) MapHeader() (int, error) {
	if n, ok := r.few(majorMap); ok && 2*n < r.Len() {
		r.pos++
		return n, nil
	}
	h, err := r.take(typeMap)
	return int(h.length), err
}

// few returns the argument of the head that comes next, if its major type is
// the one wanted and it is a single byte, as most are.
func (r *reader) few(major byte) (int, bool) {
	if r.pos >= len(r.data) {
		return 0, false
	}
	n := r.data[r.pos] - major<<5 // wraps around if the type is lower
	return int(n), n < 24
}

// Time reads a time of tag 0 or 1; sections 3.4.1 and 3.4.2. The result is in UTC.
func (r *reader) Time() (t time.Time, err error) {
	start := r.pos
	h, err := r.take(typeExt)
	if err != nil {
		return t, err
	}
	if h.bits == tagEpoch {
		return r.epoch()
	}
	s, err := r.Str()
	if err != nil {
		return t, err
	}
	t, ok := text.ParseTime(s)
	if !ok {
		r.pos = start
		return t, r.errorf("%q is not an RFC 3339 time", short(string(s)))
	}
	return t, nil
}

// epoch reads seconds since 1970.
func (r *reader) epoch() (time.Time, error) {
	typ, err := r.Type()
	if err != nil {
		return time.Time{}, err
	}
	if typ != typeFloat {
		seconds, err := r.Int64()
		return time.Unix(seconds, 0).UTC(), err
	}
	f, err := r.Float64()
	if err != nil || !(f >= text.MinSeconds && f < text.MaxSeconds+1) { // also NaN
		return time.Time{}, r.errorf("the time of %v seconds is not within the years 1 to 9999", f)
	}
	seconds := math.Floor(f)
	return time.Unix(int64(seconds), int64(math.Round((f-seconds)*1e9))).UTC(), nil
}

// Skip passes over one value of any type, with all that is in it.
func (r *reader) Skip() error {
	start := r.pos
	for left := uint64(1); left > 0; left-- {
		it, err := r.claimed()
		if err != nil {
			r.pos = start
			return err
		}
		r.pos += it.size
		switch it.major {
		case majorBytes, majorText:
			r.pos += int(it.arg)
		case majorArray:
			left += it.arg
		case majorMap:
			left += 2 * it.arg
		case majorTag:
			left++
		}
	}
	return nil
}

// take reads a head that must be of type want.
func (r *reader) take(want valueType) (head, error) {
	h, err := r.peek()
	if err != nil {
		return h, err
	}
	if h.typ != want {
		return head{}, r.mismatch(h, want)
	}
	r.pos += h.size
	return h, nil
}

// payload reads the bytes of a string whose head is h.
func (r *reader) payload(h head) []byte {
	b := r.data[r.pos+h.size:][:h.length]
	r.pos += h.size + len(b)
	return b
}

// notA is the error of a value that is not of type want, or is none at all.
func (r *reader) notA(want valueType) error {
	h, err := r.peek()
	if err != nil {
		return err
	}
	return r.mismatch(h, want)
}

func (r *reader) mismatch(h head, want valueType) error {
	return r.errorf("%v where %v is needed", h.typ, want)
}
