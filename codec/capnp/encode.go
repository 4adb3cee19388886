package capnp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// An encoder appends one message to b. Places are indexes into b; base is where
// the message begins.
type encoder struct {
	b     []byte
	base  int
	depth int
}

var order = binary.LittleEndian

const (
	word = 8 // bytes
	// header is the segment table of a message of one segment: the number of
	// segments less one, and the segment's words.
	header = 8
)

// The kinds of pointers, in their lowest two bits.
const (
	structPointer = 0
	listPointer   = 1
	farPointer    = 2
)

// The sizes of elements in list pointers.
const (
	voidElements = iota
	bitElements
	byteElements
	twoByteElements
	fourByteElements
	eightByteElements
	pointerElements
	compositeElements
)

// What pointers can say.
const (
	maxList  = 1<<29 - 1 // elements, or words of structs
	maxWords = 1<<29 - 1 // that an offset reaches
)

var errTooLarge = errors.New("the message is larger than 4 GiB")

func (e *encoder) root(p *structPlan, v reflect.Value) error {
	at := e.zeros(header+word) + header
	if err := e.enter(); err != nil {
		return err
	}
	to := e.allocate(at, p.size)
	if err := e.fields(p, v, nil, to); err != nil {
		return err
	}
	words := (len(e.b) - e.base - header) / word
	if words > maxWords {
		return errTooLarge
	}
	order.PutUint32(e.b[e.base+4:], uint32(words)) //nolint:gosec // at most 29 bits
	return nil
}

func (e *encoder) enter() error {
	if e.depth++; e.depth > schema.MaxDepth {
		return plain.ErrDepth
	}
	return nil
}

// zeros appends n zero bytes and returns where they are.
func (e *encoder) zeros(n int) int {
	at := len(e.b)
	e.b = slices.Grow(e.b, n)[:at+n]
	clear(e.b[at:])
	return at
}

// point writes a pointer at a place, to where the next words will be appended.
// upper are its upper 32 bits.
func (e *encoder) point(at, kind int, upper uint32) {
	distance := (len(e.b) - at - word) / word
	order.PutUint32(e.b[at:], uint32(distance<<2|kind)) //nolint:gosec // root checks the size of all
	order.PutUint32(e.b[at+4:], upper)
}

// allocate appends a struct, all zero, with a pointer to it at a place.
func (e *encoder) allocate(at int, s size) int {
	e.point(at, structPointer, s.upper())
	if s.words() == 0 {
		// A pointer of zeros would be null. A struct without size is by
		// convention one word before the word after its pointer.
		order.PutUint32(e.b[at:], 0xfffffffc)
	}
	return e.zeros(word * s.words())
}

// upper is how a struct pointer says the size.
func (s size) upper() uint32 { return uint32(s.data) | uint32(s.pointers)<<16 } //nolint:gosec // at most MaxNumber

// fields writes the fields of a struct that is at a place, and all that its
// pointers lead to. They are those of the struct v, or the two of a map's entry.
func (e *encoder) fields(p *structPlan, v reflect.Value, entry *[2]reflect.Value, at int) error {
	for _, f := range p.fields {
		if entry != nil {
			if err := e.field(f, entry[f.index], p, at); err != nil {
				return err
			}
			continue
		}
		if err := e.field(f, v.Field(f.index), p, at); err != nil {
			return plain.At(f.name, err)
		}
	}
	return nil
}

func (e *encoder) field(f *field, v reflect.Value, p *structPlan, at int) error {
	if !f.pointer {
		e.scalar(f.kind, v, at, f.place)
		return nil
	}
	at += word * (p.data + f.place)
	switch {
	case f.entry != nil:
		if v.Len() == 0 {
			return nil
		}
		return e.mapField(f, v, at)
	case f.list:
		if v.Len() == 0 {
			return nil
		}
		return e.list(f, v, at)
	case f.optional:
		if v.IsNil() {
			return nil
		}
		return e.present(&f.value, v.Elem(), at)
	case plain.Absent(f.kind, f.text, v):
		return nil
	}
	return e.value(&f.value, v, at)
}

// present writes an optional value that is there: one with a place in a data
// section as the only field of a struct of its own, since a data section has no
// room for what is not there.
func (e *encoder) present(f *value, v reflect.Value, at int) error {
	if f.bits == 0 {
		return e.value(f, v, at)
	}
	e.scalar(f.kind, v, e.allocate(at, size{data: 1}), 0)
	return nil
}

// scalar writes a value that many bits after a place.
func (e *encoder) scalar(kind schema.Kind, v reflect.Value, at, bits int) {
	b := e.b[at+bits/8:]
	switch kind {
	case schema.Bool:
		if v.Bool() {
			b[0] |= 1 << (bits % 8)
		}
	case schema.Int32:
		order.PutUint32(b, uint32(v.Int())) //nolint:gosec // its two's complement
	case schema.Int64:
		order.PutUint64(b, uint64(v.Int())) //nolint:gosec // its two's complement
	case schema.Uint32:
		order.PutUint32(b, uint32(v.Uint())) //nolint:gosec // of a type of at most 32 bits
	case schema.Uint64:
		order.PutUint64(b, v.Uint())
	case schema.Float32:
		order.PutUint32(b, math.Float32bits(float32(v.Float())))
	default: // Float64
		order.PutUint64(b, math.Float64bits(v.Float()))
	}
}

// value writes what a pointer at a place leads to.
func (e *encoder) value(f *value, v reflect.Value, at int) error {
	switch f.kind {
	case schema.String:
		if f.text {
			b, err := plain.Text(v)
			if err != nil {
				return err
			}
			return appendBytes(e, at, b, 1)
		}
		s := v.String()
		if !utf8.ValidString(s) {
			return plain.ErrUTF8
		}
		return appendBytes(e, at, s, 1)
	case schema.Bytes:
		return appendBytes(e, at, v.Bytes(), 0)
	case schema.Time, schema.Duration:
		return e.seconds(f.kind, v, e.allocate(at, seconds))
	case schema.Any:
		start := len(e.b)
		b, err := plain.AppendDocument(e.b, v)
		if err != nil {
			return err
		}
		e.b = b[:start]
		return appendBytes(e, at, b[start:], 1) // to where it is
	}
	v, err := plain.Struct(v)
	if err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return err
	}
	if err := e.fields(f.message, v, nil, e.allocate(at, f.message.size)); err != nil {
		return err
	}
	e.depth--
	return nil
}

func (e *encoder) seconds(kind schema.Kind, v reflect.Value, at int) error {
	s, n, err := plain.Seconds(kind, v)
	if err != nil {
		return err
	}
	order.PutUint64(e.b[at:], uint64(s))      //nolint:gosec // its two's complement
	order.PutUint32(e.b[at+word:], uint32(n)) //nolint:gosec // its two's complement
	return nil
}

// errList is for lists longer than pointers can say.
func errList(n int) error {
	return fmt.Errorf("%d elements are more than a list can have, %d", n, maxList)
}
