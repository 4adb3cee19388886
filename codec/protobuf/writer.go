package protobuf

import (
	"errors"
	"slices"
	"sync"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// An encoder writes back to front: a nested message first, then its length
// before it, then its tag. So every length is known when it is written, and
// each byte is written once, whatever the order of a map's entries is.
type encoder struct {
	buf []byte
	pos int // what is written is buf[pos:]
}

func (e *encoder) bytes() []byte { return e.buf[e.pos:] }
func (e *encoder) len() int      { return len(e.buf) - e.pos }

// appendExact appends the message at m, whose size can be told beforehand,
// without a copy in between.
func appendExact(dst []byte, p *plan, m unsafe.Pointer) ([]byte, error) {
	n := max(p.sizeOf(m, 1), 0) // if it is too deep, the encoder says where
	dst = slices.Grow(dst, n)
	e := encoder{buf: dst[len(dst) : len(dst)+n], pos: n}
	if err := e.message(p, m, 1); err != nil {
		return dst, err
	}
	if e.len() == n && (n == 0 || &e.buf[0] == &dst[:len(dst)+n][len(dst)]) {
		return dst[:len(dst)+n], nil
	}
	// Somebody changes the message while it is written. What is written may be
	// wrong, but stays within its bounds.
	return append(dst, e.bytes()...), nil
}

// An encoder of its own buffer is for messages whose size is known only when
// they are written.
var encoders = sync.Pool{New: func() any { return &encoder{buf: make([]byte, 1024), pos: 1024} }}

// keepBuffer is the largest buffer that is kept for the next message.
const keepBuffer = 64 << 10

// appendPooled appends what write writes to such an encoder.
func appendPooled(dst []byte, write func(*encoder) error) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.free()
	if err := write(e); err != nil {
		return dst, err
	}
	return append(dst, e.bytes()...), nil
}

func (e *encoder) free() {
	if len(e.buf) > keepBuffer {
		return
	}
	e.pos = len(e.buf)
	encoders.Put(e)
}

// room makes room for n bytes, moves to their beginning and returns them
// empty, with capacity for n.
func (e *encoder) room(n int) []byte {
	if e.pos < n {
		e.grow(n)
	}
	e.pos -= n
	return e.buf[e.pos : e.pos : e.pos+n]
}

func (e *encoder) grow(n int) {
	used := e.len()
	bigger := make([]byte, max(2*len(e.buf), used+n))
	copy(bigger[len(bigger)-used:], e.buf[e.pos:])
	e.buf, e.pos = bigger, len(bigger)-used
}

func (e *encoder) byte(b byte) {
	if e.pos == 0 {
		e.grow(1)
	}
	e.pos--
	e.buf[e.pos] = b
}

func (e *encoder) varint(v uint64) {
	if v < 0x80 {
		e.byte(byte(v))
		return
	}
	e.longVarint(v)
}

func (e *encoder) longVarint(v uint64) {
	n := protowire.SizeVarint(v)
	b := e.room(n)[:n]
	for i := range b[:n-1] {
		b[i] = byte(v) | 0x80
		v >>= 7
	}
	b[n-1] = byte(v)
}

func (e *encoder) tag(n protowire.Number, t protowire.Type) { e.varint(protowire.EncodeTag(n, t)) }

// head writes the tag of the field's records.
func (e *encoder) head(f *field) {
	if f.tagSize == 1 {
		e.byte(f.tag[0])
		return
	}
	_ = append(e.room(int(f.tagSize)), f.tag[:f.tagSize]...)
}

func (e *encoder) fixed32(v uint32) { protowire.AppendFixed32(e.room(4), v) }
func (e *encoder) fixed64(v uint64) { protowire.AppendFixed64(e.room(8), v) }

// raw writes bytes without a length.
func (e *encoder) raw(b []byte) { _ = append(e.room(len(b)), b...) }

func (e *encoder) lengthAndBytes(b []byte) {
	e.raw(b)
	e.varint(uint64(len(b)))
}

func (e *encoder) str(s string) error {
	if !utf8.ValidString(s) {
		return errUTF8
	}
	_ = append(e.room(len(s)), s...)
	e.varint(uint64(len(s)))
	return nil
}

var (
	errUTF8       = errors.New("a string is not valid UTF-8")
	errNilElement = errors.New("a nil pointer in a list or map")
)
