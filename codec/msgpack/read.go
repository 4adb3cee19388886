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
	if r.pos < len(r.data) {
		if c := r.data[r.pos]; c == formatFalse || c == formatTrue {
			r.pos++
			return c == formatTrue, nil
		}
	}
	return false, r.notA(Bool)
}

// Int64 reads an integer of any width.
func (r *Reader) Int64() (int64, error) {
	start := r.pos
	n, negative, ok := r.integer()
	if !ok {
		return 0, r.notA(Int)
	}
	if !negative && n > math.MaxInt64 {
		r.pos = start
		return 0, r.errorf("%d is out of the range of a 64-bit signed integer", n)
	}
	return int64(n), nil
}

// Uint64 reads an integer of any width that is not negative.
func (r *Reader) Uint64() (uint64, error) {
	start := r.pos
	n, negative, ok := r.integer()
	if !ok {
		return 0, r.notA(Int)
	}
	if negative {
		r.pos = start
		return 0, r.errorf("%d is negative", int64(n))
	}
	return n, nil
}

// integer reads an integer of any width. n has its bits, as of an int64 if it
// is negative, else as of a uint64. ok is false, and nothing is read, if there
// is no whole integer.
func (r *Reader) integer() (n uint64, negative, ok bool) {
	b := r.data[r.pos:]
	if len(b) == 0 {
		return 0, false, false
	}
	size := 1
	switch c := b[0]; {
	case c < fixmap:
		n = uint64(c)
	case c >= negativeFixint:
		n, negative = uint64(int64(int8(c))), true
	case c < formatUint8 || c > formatInt64:
		return 0, false, false
	default:
		width := 1 << (c & 3) // the formats stand in this order: uint8 … uint64, int8 … int64
		size += width
		if len(b) < size {
			return 0, false, false
		}
		switch width {
		case 1:
			n = uint64(b[1])
		case 2:
			n = uint64(binary.BigEndian.Uint16(b[1:]))
		case 4:
			n = uint64(binary.BigEndian.Uint32(b[1:]))
		default:
			n = binary.BigEndian.Uint64(b[1:])
		}
		if c >= formatInt8 {
			unused := 64 - 8*width
			signed := int64(n) << unused >> unused
			n, negative = uint64(signed), signed < 0
		}
	}
	r.pos += size
	return n, negative, true
}

// Float64 reads a float of either width.
func (r *Reader) Float64() (float64, error) {
	if f, ok := r.double(); ok {
		r.pos += 9
		return f, nil
	}
	h, err := r.take(Float)
	return h.float(), err
}

// double returns the next value if it is a whole float 64, without reading it.
func (r *Reader) double() (float64, bool) {
	b := r.data[r.pos:]
	if len(b) < 9 || b[0] != formatFloat64 {
		return 0, false
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b[1:])), true
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
	b, size, ok := r.chars()
	if !ok {
		return nil, r.notA(Str)
	}
	if !utf8.Valid(b) {
		return nil, r.errorf("a string is not valid UTF-8")
	}
	r.pos += size
	return b, nil
}

// Binary reads a bin, or a str as peers send it that know no bin. The result
// is part of the reader's data.
func (r *Reader) Binary() ([]byte, error) {
	b, size, ok := r.chars()
	if !ok {
		return nil, r.notA(Bin)
	}
	r.pos += size
	return b, nil
}

// chars returns what is in the str or bin that comes next, and the size of all
// of it, without reading it. ok is false if there is none, or not all of it.
func (r *Reader) chars() (content []byte, size int, ok bool) {
	b := r.data[r.pos:]
	if len(b) == 0 {
		return nil, 0, false
	}
	head, n := 1, uint64(b[0]&0x1f)
	if c := b[0]; c&0xe0 != fixstr {
		switch c {
		case formatStr8, formatBin8:
			head = 2
		case formatStr16, formatBin16:
			head = 3
		case formatStr32, formatBin32:
			head = 5
		default:
			return nil, 0, false
		}
		if len(b) < head {
			return nil, 0, false
		}
		n = 0
		for _, c := range b[1:head] {
			n = n<<8 | uint64(c)
		}
	}
	if n > uint64(len(b)-head) {
		return nil, 0, false
	}
	size = head + int(n)
	return b[head:size], size, true
}

// ArrayHeader reads the beginning of an array and returns the number of
// elements, which follow. The input is long enough for them if each takes one
// byte.
func (r *Reader) ArrayHeader() (int, error) {
	if n, ok := r.few(fixarray); ok && n < r.Len() {
		r.pos++
		return n, nil
	}
	h, err := r.take(Array)
	return int(h.length), err
}

// MapHeader reads the beginning of a map and returns the number of pairs,
// which follow, the key first. The input is long enough for them if each key
// and each value takes one byte.
func (r *Reader) MapHeader() (int, error) {
	if n, ok := r.few(fixmap); ok && 2*n < r.Len() {
		r.pos++
		return n, nil
	}
	h, err := r.take(Map)
	return int(h.length), err
}

// few returns the number in the next byte if that is a fixarray or a fixmap,
// whichever format says.
func (r *Reader) few(format byte) (int, bool) {
	if r.pos >= len(r.data) || r.data[r.pos]&0xf0 != format {
		return 0, false
	}
	return int(r.data[r.pos] & 0x0f), true
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
		if r.pos < len(r.data) {
			if size := int(sizes[r.data[r.pos]]); size > 0 && size <= r.Len() {
				r.pos += size
				continue
			}
		}
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

// notA is the error of a value that is not of type want, or is none at all.
func (r *Reader) notA(want Type) error {
	h, err := r.peek()
	if err != nil {
		return err
	}
	return r.mismatch(h, want)
}

func (r *Reader) mismatch(h head, want Type) error {
	return r.errorf("%v where %v is needed", h.typ, want)
}

func (r *Reader) errorf(format string, args ...any) error {
	return &Error{Offset: r.pos, Reason: fmt.Sprintf(format, args...)}
}
