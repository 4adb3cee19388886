package capnp

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// What is read in all may be this many times as much as there is, in words:
// some writers let pointers share what they lead to.
const (
	maxReread = 8
	minReread = 1 << 10 // in short messages
)

// maxSegments is what the reference implementation reads.
const maxSegments = 512

// A decoder reads one message. Places are indexes into data.
type decoder struct {
	data     []byte
	segments []segment
	depth    int
	left     int // words that may still be read
}

// A segment is a part of the message that pointers other than far ones stay in.
type segment struct{ start, end int }

func (d *decoder) release() {
	*d = decoder{segments: d.segments[:0]}
	decoders.Put(d)
}

// errorf is an error at a place.
func (d *decoder) errorf(at int, format string, args ...any) error {
	return plain.From(at, fmt.Errorf(format, args...))
}

func (d *decoder) message(data []byte, p *structPlan, v reflect.Value) error {
	d.data, d.left = data, max(len(data)/word*maxReread, minReread)
	if err := d.table(); err != nil {
		return err
	}
	root := d.segments[0].start
	if !d.inside(0, root, 1) {
		return d.errorf(root, "the first segment is empty: there is no message")
	}
	if err := d.enter(root); err != nil {
		return err
	}
	s, ok, err := d.structAt(0, root)
	if !ok {
		return err // a null pointer is a message of zeros
	}
	return d.fields(p, s, v, nil)
}

// table reads the segment table.
func (d *decoder) table() error {
	if len(d.data) < 4 {
		return d.errorf(0, "%d bytes are no message: it begins with the number of segments, of 4", len(d.data))
	}
	n := uint64(order.Uint32(d.data)) + 1
	if n > maxSegments {
		return d.errorf(0, "%d segments: a message has at most %d", n, maxSegments)
	}
	at := (4 + 4*int(n) + word - 1) / word * word //nolint:gosec // at most maxSegments
	if at > len(d.data) {
		return d.errorf(0, "the input ends within the table of %d segments", n)
	}
	for i := range int(n) { //nolint:gosec // as above
		words := order.Uint32(d.data[4+4*i:])
		if uint64(words) > uint64((len(d.data)-at)/word) { //nolint:gosec // not negative
			return d.errorf(4+4*i, "segment %d claims %d words with %d bytes left", i, words, len(d.data)-at)
		}
		end := at + word*int(words)
		d.segments = append(d.segments, segment{at, end})
		at = end
	}
	if at < len(d.data) {
		return d.errorf(at, "%d bytes after the end of the message", len(d.data)-at)
	}
	return nil
}

func (d *decoder) enter(at int) error {
	if d.depth++; d.depth > schema.MaxDepth {
		return plain.From(at, plain.ErrDepth)
	}
	return nil
}

var errReread = errors.New("the pointers lead to more than the message has")

// read counts words as read.
func (d *decoder) read(at, words int) error {
	if d.left -= words; d.left < 0 {
		return plain.From(at, errReread)
	}
	return nil
}

// fields reads a struct into v, which is zero, or into the two values of a map's
// entry. What is beyond the ends of its sections is zero: the writer knew fewer
// fields.
func (d *decoder) fields(p *structPlan, s structure, v reflect.Value, entry *[2]reflect.Value) error {
	for _, f := range p.fields {
		var to reflect.Value
		if entry != nil {
			to = entry[f.index]
		} else {
			to = v.Field(f.index)
		}
		var err error
		switch {
		case !f.pointer && f.place+f.bits <= s.bits:
			err = d.scalar(f.kind, s.at, f.place, to)
		case f.pointer && f.place < s.pointers:
			err = d.field(f, s.segment, s.pointersAt+word*f.place, to)
		}
		switch {
		case err == nil:
		case entry == nil:
			return plain.At(f.name, err)
		case f.index == 1:
			return plain.AtKey(entry[0], err)
		default:
			return err
		}
	}
	return nil
}

// field reads the field whose pointer is at a place.
func (d *decoder) field(f *field, segment, at int, v reflect.Value) error {
	switch {
	case d.load(at) == 0:
		return nil
	case f.entry != nil:
		return d.mapField(f, segment, at, v)
	case f.list:
		return d.list(f, segment, at, v)
	case f.optional:
		v.Set(reflect.New(f.typ))
		return d.present(&f.value, segment, at, v.Elem())
	}
	return d.value(&f.value, segment, at, v)
}

// present reads an optional value that is there.
func (d *decoder) present(f *value, segment, at int, v reflect.Value) error {
	if f.bits == 0 {
		return d.value(f, segment, at, v)
	}
	s, ok, err := d.structAt(segment, at)
	if !ok || s.bits < f.bits {
		return err
	}
	return d.scalar(f.kind, s.at, 0, v)
}

// scalar reads the value that many bits after a place.
func (d *decoder) scalar(kind schema.Kind, at, bits int, v reflect.Value) (err error) {
	at += bits / 8
	b := d.data[at:]
	switch kind {
	case schema.Bool:
		v.SetBool(b[0]>>(bits%8)&1 != 0)
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
	default: // Float64
		v.SetFloat(math.Float64frombits(order.Uint64(b)))
	}
	if err != nil {
		return plain.From(at, err)
	}
	return nil
}

// value reads what the pointer at a place leads to.
func (d *decoder) value(f *value, segment, at int, v reflect.Value) error {
	switch f.kind {
	case schema.String, schema.Bytes, schema.Any:
		return d.bytes(f, segment, at, v)
	}
	s, ok, err := d.structAt(segment, at)
	if err != nil {
		return err
	}
	if !ok {
		// Null, as an element or an optional value, is the zero value.
		plain.Target(v)
		return nil
	}
	return d.structure(f, s, v)
}

// structure reads a struct: a message, a time or a duration.
func (d *decoder) structure(f *value, s structure, v reflect.Value) error {
	if f.kind != schema.Struct {
		return d.seconds(f.kind, s, v)
	}
	if err := d.enter(s.at); err != nil {
		return err
	}
	err := d.fields(f.message, s, plain.Target(v), nil)
	d.depth--
	return err
}

func (d *decoder) seconds(kind schema.Kind, s structure, v reflect.Value) error {
	var seconds int64
	var nanos int32
	if s.bits >= 64 {
		seconds = int64(d.load(s.at)) //nolint:gosec // its two's complement
	}
	if s.bits >= 96 {
		nanos = int32(order.Uint32(d.data[s.at+word:])) //nolint:gosec // its two's complement
	}
	if err := plain.SetSeconds(kind, v, seconds, nanos); err != nil {
		return plain.From(s.at, err)
	}
	return nil
}

// bytes reads a list of bytes: a text, data, a document.
func (d *decoder) bytes(f *value, segment, at int, v reflect.Value) error {
	l, ok, err := d.listAt(segment, at)
	switch {
	case err != nil:
		return err
	case !ok:
		plain.Target(v) // of a *schema.Document in a list
		return nil
	case l.elements != byteElements:
		return d.errorf(at, "a list of other elements where bytes are needed")
	}
	b := d.data[l.at : l.at+l.n]
	if f.kind == schema.Bytes {
		v.SetBytes(append(make([]byte, 0, l.n), b...))
		return nil
	}
	if l.n == 0 || b[l.n-1] != 0 {
		return d.errorf(at, "the text does not end with a zero byte")
	}
	b = b[:l.n-1]
	if f.kind == schema.Any {
		err = plain.SetDocument(v, b)
	} else {
		err = plain.SetString(v, f.text, b)
	}
	if err != nil {
		return plain.From(l.at, err)
	}
	return nil
}
