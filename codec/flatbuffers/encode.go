package flatbuffers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// An encoder appends one buffer to b. Places are indexes into b; alignment is
// relative to base, where the buffer begins.
type encoder struct {
	b       []byte
	base    int
	depth   int
	vtables []vtable // that are in the buffer and may be used again
}

type vtable struct {
	of         *table
	start, end int
}

// fewVtables is how many vtables are looked through for an equal one.
const fewVtables = 16

var order = binary.LittleEndian

// maxBuffer is what a signed 32-bit offset reaches.
const maxBuffer = math.MaxInt32

var errTooLarge = errors.New("the message is larger than 2 GiB")

func (e *encoder) root(t *table, v reflect.Value) error {
	e.zeros(offset)
	if err := e.enter(); err != nil {
		return err
	}
	at, err := e.table(t, v, nil)
	if err != nil {
		return err
	}
	e.point(e.base, at)
	if len(e.b)-e.base > maxBuffer {
		return errTooLarge
	}
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

// align appends what is missing so that the place after the next skip bytes is a
// multiple of n from the beginning.
func (e *encoder) align(n, skip int) {
	if over := (len(e.b) - e.base + skip) % n; over != 0 {
		e.zeros(n - over)
	}
}

// point makes the offset at a place lead to another one, which is further on.
func (e *encoder) point(from, to int) { order.PutUint32(e.b[from:], uint32(to-from)) } //nolint:gosec // root checks the size of all

// table writes a table and all that its offsets lead to, and returns where it
// is. Its fields are those of the struct v, or the two of a map's entry.
func (e *encoder) table(t *table, v reflect.Value, entry *[2]reflect.Value) (int, error) {
	of := func(f *field) reflect.Value {
		if entry != nil {
			return entry[f.index]
		}
		return v.Field(f.index)
	}
	vt, size, wide := e.vtable(t, of)
	if e.align(offset, 0); wide {
		e.align(8, offset) // the largest fields come first, behind what leads to the vtable
	}
	at := e.zeros(size)
	order.PutUint32(e.b[at:], uint32(at-vt)) //nolint:gosec // root checks the size of all
	for _, f := range t.fields {
		slot := vt + 4 + 2*f.slot
		if slot >= vt+int(order.Uint16(e.b[vt:])) {
			break
		}
		place := int(order.Uint16(e.b[slot:]))
		if place == 0 {
			continue
		}
		if err := e.field(f, of(f), at+place); err != nil {
			if entry != nil {
				return 0, err
			}
			return 0, plain.At(f.name, err)
		}
	}
	return at, nil
}

// vtable writes the vtable of a table with the fields that are present, or
// finds one that is the same. It returns where that is, the table's size, and
// whether the table has fields that are aligned to eight bytes.
func (e *encoder) vtable(t *table, of func(*field) reflect.Value) (at, size int, wide bool) {
	e.align(2, 0)
	at = e.zeros(4 + 2*t.slots)
	size = offset
	end := at + 4
	for _, f := range t.bySize {
		if !f.present(of(f)) {
			continue
		}
		slot := at + 4 + 2*f.slot
		order.PutUint16(e.b[slot:], uint16(size)) //nolint:gosec // at most 16 times MaxNumber
		size += f.inline
		wide = wide || f.inline >= 8
		end = max(end, slot+2)
	}
	order.PutUint16(e.b[at:], uint16(end-at)) //nolint:gosec // at most 4 + 2 times MaxNumber
	order.PutUint16(e.b[at+2:], uint16(size)) //nolint:gosec // as above
	e.b = e.b[:end]
	for i, tries := len(e.vtables)-1, 0; i >= 0 && tries < fewVtables; i, tries = i-1, tries+1 {
		if old := e.vtables[i]; old.of == t && bytes.Equal(e.b[old.start:old.end], e.b[at:]) {
			e.b = e.b[:at]
			return old.start, size, wide
		}
	}
	e.vtables = append(e.vtables, vtable{t, at, end})
	return at, size, wide
}

func (f *field) present(v reflect.Value) bool {
	switch {
	case f.required:
		return true
	case f.optional:
		return !v.IsNil()
	case f.list, f.entry != nil:
		return v.Len() > 0
	}
	return !plain.Absent(f.kind, f.text, v)
}

func (e *encoder) field(f *field, v reflect.Value, at int) error {
	switch {
	case f.entry != nil:
		return e.mapField(f, v, at)
	case f.list:
		return e.list(f, v, at)
	case f.optional:
		v = v.Elem()
	}
	return e.value(&f.value, v, at)
}

// value writes a value: where it stands, at, if it has its bytes there, and else
// at the end, with an offset at its place.
func (e *encoder) value(f *value, v reflect.Value, at int) error {
	switch f.kind {
	case schema.Bool:
		if v.Bool() {
			e.b[at] = 1
		}
	case schema.Int32:
		order.PutUint32(e.b[at:], uint32(v.Int())) //nolint:gosec // its two's complement
	case schema.Int64:
		order.PutUint64(e.b[at:], uint64(v.Int())) //nolint:gosec // its two's complement
	case schema.Uint32:
		order.PutUint32(e.b[at:], uint32(v.Uint())) //nolint:gosec // of a type of at most 32 bits
	case schema.Uint64:
		order.PutUint64(e.b[at:], v.Uint())
	case schema.Float32:
		order.PutUint32(e.b[at:], math.Float32bits(float32(v.Float())))
	case schema.Float64:
		order.PutUint64(e.b[at:], math.Float64bits(v.Float()))
	case schema.Time, schema.Duration:
		seconds, nanos, err := plain.Seconds(f.kind, v)
		if err != nil {
			return err
		}
		order.PutUint64(e.b[at:], uint64(seconds)) //nolint:gosec // its two's complement
		order.PutUint32(e.b[at+8:], uint32(nanos)) //nolint:gosec // its two's complement
	case schema.String:
		return e.str(f, v, at)
	case schema.Bytes:
		e.bytes(f, v.Bytes(), at)
	case schema.Struct:
		return e.message(f, v, at)
	default: // Any
		start := e.vector(at, 1)
		b, err := plain.AppendDocument(e.b, v)
		if err != nil {
			return err
		}
		e.b = b
		e.endString(start)
	}
	return nil
}

func (e *encoder) message(f *value, v reflect.Value, at int) error {
	if err := e.enter(); err != nil {
		return err
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return plain.ErrNilElement
		}
		v = v.Elem()
	}
	to, err := e.table(f.message, v, nil)
	if err != nil {
		return err
	}
	e.point(at, to)
	e.depth--
	return nil
}

func (e *encoder) str(f *value, v reflect.Value, at int) error {
	start := e.vector(at, 1)
	if f.text {
		b, err := plain.Text(v)
		if err != nil {
			return err
		}
		e.b = append(e.b, b...)
	} else {
		s := v.String()
		if !utf8.ValidString(s) {
			return plain.ErrUTF8
		}
		e.b = append(e.b, s...)
	}
	e.endString(start)
	return nil
}

// endString sets the length of the string that begins after start, and writes
// the zero byte that follows it.
func (e *encoder) endString(start int) {
	e.setLen(start, len(e.b)-start-offset)
	e.b = append(e.b, 0)
}

// boxSlots is the vtable of a table with one offset.
var boxSlots = []byte{6, 0, 8, 0, 4, 0}

func (e *encoder) bytes(f *value, b []byte, at int) {
	if f.boxed {
		at = e.box(at)
	}
	start := e.vector(at, 1)
	e.b = append(e.b, b...)
	e.setLen(start, len(b))
}

// box writes a table with one field, an offset, and returns its place.
func (e *encoder) box(at int) int {
	vt := -1
	for _, old := range e.vtables {
		if old.of == nil {
			vt = old.start
			break
		}
	}
	if vt < 0 {
		e.align(2, 0)
		vt = len(e.b)
		e.b = append(e.b, boxSlots...)
		e.vtables = append(e.vtables, vtable{nil, vt, len(e.b)})
	}
	e.align(offset, 0)
	table := e.zeros(2 * offset)
	order.PutUint32(e.b[table:], uint32(table-vt)) //nolint:gosec // root checks the size of all
	e.point(at, table)
	return table + offset
}

// vector begins a vector whose elements are to be aligned to size, with an
// offset to it at a place, and returns where its length stands.
func (e *encoder) vector(at, size int) int {
	e.align(offset, 0)
	if size == 8 {
		e.align(8, offset)
	}
	start := e.zeros(offset)
	e.point(at, start)
	return start
}

func (e *encoder) setLen(start, n int) { order.PutUint32(e.b[start:], uint32(n)) } //nolint:gosec // root checks the size of all
