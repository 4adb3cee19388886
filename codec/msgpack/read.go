package msgpack

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// A Reader reads values one after the other from bytes that are all there. It
// reserves no memory; a claimed length or count that the remaining input
// cannot hold is an error. After an error the position is that of the value
// that could not be read. All errors are of type [*Error].
type Reader struct {
	data []byte
	pos  int
}

// NewReader returns a reader of data, at its beginning. The reader keeps data.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Pos returns how many bytes have been read.
func (r *Reader) Pos() int { return r.pos }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.data) - r.pos }

// End returns an error if any bytes are left.
func (r *Reader) End() error {
	if r.Len() > 0 {
		return r.errorf("%d bytes after the end of the value", r.Len())
	}
	return nil
}

// Type returns the type of the next value, without reading it.
func (r *Reader) Type() (Type, error) {
	h, err := r.peek()
	return h.typ, err
}

// Nil reads a nil.
func (r *Reader) Nil() error {
	_, err := r.take(Nil)
	return err
}

// Bool reads a bool.
func (r *Reader) Bool() (bool, error) {
	h, err := r.take(Bool)
	return h.bits != 0, err
}

// Int64 reads an integer of any width.
func (r *Reader) Int64() (int64, error) {
	start := r.pos
	h, err := r.take(Int)
	if err == nil && h.format == formatUint64 && h.bits > math.MaxInt64 {
		r.pos = start
		return 0, r.errorf("%d is out of the range of a 64-bit signed integer", h.bits)
	}
	return int64(h.bits), err
}

// Uint64 reads an integer of any width that is not negative.
func (r *Reader) Uint64() (uint64, error) {
	start := r.pos
	h, err := r.take(Int)
	if err == nil && h.negative() {
		r.pos = start
		return 0, r.errorf("%d is negative", int64(h.bits))
	}
	return h.bits, err
}

// Float64 reads a float of either width.
func (r *Reader) Float64() (float64, error) {
	h, err := r.take(Float)
	return h.float(), err
}

func (h head) float() float64 {
	if h.format == formatFloat32 {
		return float64(math.Float32frombits(uint32(h.bits)))
	}
	return math.Float64frombits(h.bits)
}

// Str reads a str, or a bin as some peers send it, that is valid UTF-8. The
// result is part of the reader's data.
func (r *Reader) Str() ([]byte, error) {
	h, err := r.peek()
	if err != nil {
		return nil, err
	}
	if h.typ != Str && h.typ != Bin {
		return nil, r.mismatch(h, Str)
	}
	b := r.data[r.pos+h.size:][:h.length]
	if !utf8.Valid(b) {
		return nil, r.errorf("a string is not valid UTF-8")
	}
	r.pos += h.size + len(b)
	return b, nil
}

// Binary reads a bin, or a str as peers send it that know no bin. The result
// is part of the reader's data.
func (r *Reader) Binary() ([]byte, error) {
	h, err := r.peek()
	if err != nil {
		return nil, err
	}
	if h.typ != Str && h.typ != Bin {
		return nil, r.mismatch(h, Bin)
	}
	return r.payload(h), nil
}

// ArrayHeader reads the beginning of an array and returns the number of
// elements, which follow. The input is long enough for them if each takes one
// byte.
func (r *Reader) ArrayHeader() (int, error) {
	h, err := r.take(Array)
	return int(h.length), err
}

// MapHeader reads the beginning of a map and returns the number of pairs,
// which follow, the key first. The input is long enough for them if each key
// and each value takes one byte.
func (r *Reader) MapHeader() (int, error) {
	h, err := r.take(Map)
	return int(h.length), err
}

// Time reads a timestamp extension. The result is in UTC.
func (r *Reader) Time() (time.Time, error) {
	h, err := r.peek()
	if err != nil {
		return time.Time{}, err
	}
	if h.typ != Ext {
		return time.Time{}, r.mismatch(h, Ext)
	}
	if h.ext != timestampExt {
		return time.Time{}, r.errorf("an extension of the unknown type %d", h.ext)
	}
	b := r.data[r.pos+h.size:][:h.length]
	var seconds int64
	var nanos uint64
	switch len(b) {
	case 4:
		seconds = int64(binary.BigEndian.Uint32(b))
	case 8:
		x := binary.BigEndian.Uint64(b)
		seconds, nanos = int64(x&(1<<34-1)), x>>34
	case 12:
		nanos = uint64(binary.BigEndian.Uint32(b))
		seconds = int64(binary.BigEndian.Uint64(b[4:]))
	default:
		return time.Time{}, r.errorf("a timestamp of %d bytes: it has 4, 8 or 12", len(b))
	}
	if nanos >= 1e9 {
		return time.Time{}, r.errorf("a timestamp of %d nanoseconds: they are below 1000000000", nanos)
	}
	r.payload(h)
	return time.Unix(seconds, int64(nanos)).UTC(), nil
}

// Skip passes over one value of any type, with all that is in it.
func (r *Reader) Skip() error {
	start := r.pos
	for left := uint64(1); left > 0; left-- {
		h, err := r.peek()
		if err != nil {
			r.pos = start
			return err
		}
		r.pos += h.size
		switch h.typ {
		case Str, Bin, Ext:
			r.pos += int(h.length)
		case Array:
			left += h.length
		case Map:
			left += 2 * h.length
		}
	}
	return nil
}

// Raw passes over one value and returns its bytes, which are part of the
// reader's data.
func (r *Reader) Raw() ([]byte, error) {
	start := r.pos
	err := r.Skip()
	return r.data[start:r.pos], err
}

// peek parses the next head and checks that what it claims can follow.
func (r *Reader) peek() (head, error) {
	h := parseHead(r.data[r.pos:])
	switch {
	case h.typ == Invalid && h.size == 0:
		return h, r.errorf("the byte 0x%x begins no value", formatUnused)
	case h.typ == Invalid:
		return h, r.errorf("the input ends where a value should be")
	}
	least := h.length
	if h.typ == Map {
		least *= 2
	}
	if left := uint64(r.Len() - h.size); least > left {
		return head{}, r.errorf("%v claims a length of %d with %d bytes left", h.typ, h.length, left)
	}
	return h, nil
}

// take reads a head that must be of type want.
func (r *Reader) take(want Type) (head, error) {
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

// payload reads the bytes of a value whose head is h.
func (r *Reader) payload(h head) []byte {
	b := r.data[r.pos+h.size:][:h.length]
	r.pos += h.size + len(b)
	return b
}

func (r *Reader) mismatch(h head, want Type) error {
	return r.errorf("%v where %v is needed", h.typ, want)
}

func (r *Reader) errorf(format string, args ...any) error {
	return &Error{Offset: r.pos, Reason: fmt.Sprintf(format, args...)}
}
