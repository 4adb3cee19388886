package flatbuffers

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// What is read in all may be this many times as much as there is, since offsets
// may share what they lead to, and as writers do share equal strings. Without a
// bound a few levels of shared vectors would be read for ever.
const (
	maxReread = 8
	minReread = 4 << 10 // in short buffers
)

// A decoder reads one buffer. Places are indexes into data.
type decoder struct {
	data  []byte
	depth int
	left  int // bytes that may still be read
}

// errorf is an error at a place.
func (d *decoder) errorf(at int, format string, args ...any) error {
	return plain.From(at, fmt.Errorf(format, args...))
}

func (d *decoder) root(t *table, v reflect.Value) error {
	if len(d.data) < offset {
		return d.errorf(0, "%d bytes are no buffer: it begins with an offset of 4", len(d.data))
	}
	at, err := d.follow(0)
	if err != nil {
		return err
	}
	if err := d.enter(at); err != nil {
		return err
	}
	return d.table(t, at, v, nil)
}

func (d *decoder) enter(at int) error {
	if d.depth++; d.depth > schema.MaxDepth {
		return plain.From(at, plain.ErrDepth)
	}
	return nil
}

var errReread = errors.New("the offsets lead to the same bytes too often")

// read counts n bytes as read.
func (d *decoder) read(at, n int) error {
	if d.left -= n; d.left < 0 {
		return plain.From(at, errReread)
	}
	return nil
}

// follow returns where the offset at a place leads: to at least four bytes,
// further on, so that no offsets make a circle.
func (d *decoder) follow(at int) (int, error) {
	n := order.Uint32(d.data[at:])
	switch {
	case n == 0:
		return 0, d.errorf(at, "an offset of 0")
	case uint64(n) > uint64(len(d.data)-at-offset): //nolint:gosec // four bytes are at this place
		return 0, d.errorf(at, "the offset %d leads beyond the end, %d bytes further", n, len(d.data)-at)
	}
	return at + int(n), nil
}

// table reads the table at a place, of which four bytes are there, into the
// struct v, which is zero, or into the two values of a map's entry.
func (d *decoder) table(t *table, at int, v reflect.Value, entry *[2]reflect.Value) error {
	vt := int64(at) - int64(int32(order.Uint32(d.data[at:]))) //nolint:gosec // signed, as the format has it
	if vt < 0 || vt > int64(len(d.data)-4) {
		return d.errorf(at, "the vtable's offset leads out of the buffer")
	}
	slots := d.data[vt:]
	length, size := int(order.Uint16(slots)), int(order.Uint16(slots[2:]))
	switch {
	case length < 4 || length%2 != 0 || length > len(slots):
		return d.errorf(int(vt), "a vtable of %d bytes with %d bytes left", length, len(slots))
	case size < offset || size > len(d.data)-at:
		return d.errorf(at, "a table of %d bytes with %d bytes left", size, len(d.data)-at)
	}
	if err := d.read(at, 2*offset+size); err != nil { // with the offset to it, and for what is made of it
		return err
	}
	for _, f := range t.fields {
		slot := 4 + 2*f.slot
		if slot >= length {
			break
		}
		place := int(order.Uint16(slots[slot:]))
		if place == 0 {
			continue
		}
		var to reflect.Value
		if entry != nil {
			to = entry[f.index]
		} else {
			to = v.Field(f.index)
		}
		var err error
		if place < offset || place+f.inline > size {
			err = d.errorf(int(vt)+slot, "the field is at byte %d of a table of %d bytes", place, size)
		} else {
			err = d.field(f, at+place, to)
		}
		switch {
		case err != nil && entry != nil && f.index == 1:
			return plain.AtKey(entry[0], err)
		case err != nil && entry != nil:
			return err
		case err != nil:
			return plain.At(f.name, err)
		}
	}
	return nil
}

func (d *decoder) field(f *field, at int, v reflect.Value) error {
	switch {
	case f.entry != nil:
		return d.mapField(f, at, v)
	case f.list:
		return d.list(f, at, v)
	case f.optional:
		v.Set(reflect.New(f.typ))
		v = v.Elem()
	}
	return d.value(&f.value, at, v)
}

// value reads the value at a place, of which f.size bytes are there.
func (d *decoder) value(f *value, at int, v reflect.Value) (err error) {
	b := d.data[at : at+f.size]
	switch f.kind {
	case schema.Bool:
		v.SetBool(b[0] != 0)
		return nil
	case schema.Int32:
		err = plain.SetInt(v, int64(int32(order.Uint32(b)))) //nolint:gosec // its two's complement
	case schema.Int64:
		err = plain.SetInt(v, int64(order.Uint64(b))) //nolint:gosec // its two's complement
	case schema.Uint32:
		err = plain.SetUint(v, uint64(order.Uint32(b)))
	case schema.Uint64:
		err = plain.SetUint(v, order.Uint64(b))
	case schema.Float32:
		v.SetFloat(float64(math.Float32frombits(order.Uint32(b))))
		return nil
	case schema.Float64:
		v.SetFloat(math.Float64frombits(order.Uint64(b)))
		return nil
	case schema.Time, schema.Duration:
		err = plain.SetSeconds(f.kind, v, int64(order.Uint64(b)), int32(order.Uint32(b[8:]))) //nolint:gosec // its two's complement
	case schema.Struct:
		return d.message(f, at, v)
	default:
		return d.chars(f, at, v)
	}
	if err != nil {
		return plain.From(at, err)
	}
	return nil
}

func (d *decoder) message(f *value, at int, v reflect.Value) error {
	to, err := d.follow(at)
	if err != nil {
		return err
	}
	if err := d.enter(to); err != nil {
		return err
	}
	err = d.table(f.message, to, plain.Target(v), nil)
	d.depth--
	return err
}

// chars reads what is a vector of bytes: a string, bytes, a document.
func (d *decoder) chars(f *value, at int, v reflect.Value) error {
	if f.boxed {
		return d.boxed(at, v)
	}
	start, n, err := d.vector(at, 1)
	if err != nil {
		return err
	}
	b := d.data[start : start+n]
	if f.kind == schema.Bytes {
		v.SetBytes(append(make([]byte, 0, n), b...))
		return nil
	}
	if start+n >= len(d.data) || d.data[start+n] != 0 {
		return d.errorf(start+n, "the string does not end with a zero byte")
	}
	if f.kind == schema.Any {
		err = plain.SetDocument(v, b)
	} else {
		err = plain.SetString(v, f.text, b)
	}
	if err != nil {
		return plain.From(start, err)
	}
	return nil
}

// box is a table with one field, bytes.
var box = &table{fields: []*field{{value: value{kind: schema.Bytes, size: offset}, name: "value", inline: offset}}, slots: 1}

func (d *decoder) boxed(at int, v reflect.Value) error {
	to, err := d.follow(at)
	if err != nil {
		return err
	}
	return d.table(box, to, reflect.Value{}, &[2]reflect.Value{v})
}

// vector returns where the elements of a vector begin, to which the offset at a
// place leads, and how many there are, all of which are in the buffer.
func (d *decoder) vector(at, size int) (start, n int, err error) {
	to, err := d.follow(at)
	if err != nil {
		return 0, 0, err
	}
	start = to + offset
	length := order.Uint32(d.data[to:])
	if uint64(length) > uint64((len(d.data)-start)/size) { //nolint:gosec // not negative
		return 0, 0, d.errorf(to, "a vector claims a length of %d with %d bytes left", length, len(d.data)-start)
	}
	n = int(length)
	return start, n, d.read(to, offset+n*size)
}

func (d *decoder) list(f *field, at int, v reflect.Value) error {
	start, n, err := d.vector(at, f.size)
	if err != nil {
		return err
	}
	if err := d.enter(at); err != nil {
		return err
	}
	if !plain.Numbers(d.data[start:], n, v) {
		if v.Grow(min(n, reserve)); f.kind != schema.Struct {
			v.Grow(n) // of which each is at most a few times its bytes
		}
		for i := range n {
			v.Grow(1)
			v.SetLen(i + 1)
			if err := d.value(&f.value, start+i*f.size, v.Index(i)); err != nil {
				return plain.AtIndex(i, err)
			}
		}
	}
	d.depth--
	return nil
}

// reserve is how many structs memory is made for before they are read: they may
// be much larger than the bytes that they come from.
const reserve = 64

// mapField reads a vector of entries, in whatever order they are.
func (d *decoder) mapField(f *field, at int, v reflect.Value) error {
	start, n, err := d.vector(at, offset)
	if err != nil {
		return err
	}
	if err := d.enter(at); err != nil {
		return err
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), min(n, reserve)))
	for i := range n {
		to, err := d.follow(start + offset*i)
		if err != nil {
			return plain.AtIndex(i, err)
		}
		key, val := reflect.New(f.entry.keyType).Elem(), reflect.New(f.typ).Elem()
		plain.Target(val) // an entry without a value has an empty one, not nil
		if err := d.entry(f.entry, to, key, val); err != nil {
			return err
		}
		if v.MapIndex(key).IsValid() {
			return plain.AtKey(key, plain.From(to, plain.ErrSameKey))
		}
		v.SetMapIndex(key, val)
	}
	d.depth--
	return nil
}

// entry reads an entry's table into the key and the value of a map.
func (d *decoder) entry(e *entry, at int, key, val reflect.Value) error {
	if !e.keyText {
		return d.table(&e.table, at, reflect.Value{}, &[2]reflect.Value{key, val})
	}
	var text string
	if err := d.table(&e.table, at, reflect.Value{}, &[2]reflect.Value{reflect.ValueOf(&text).Elem(), val}); err != nil {
		return err
	}
	if err := plain.SetString(key, true, []byte(text)); err != nil {
		return plain.From(at, plain.AtKey(text, err))
	}
	return nil
}
