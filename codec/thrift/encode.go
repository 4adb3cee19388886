package thrift

import (
	"encoding/binary"
	"math"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// An encoder appends values to b.
type encoder struct {
	b       []byte
	compact bool
	depth   int
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

func (e *encoder) release() {
	*e = encoder{}
	encoders.Put(e)
}

// enter counts one more level of nesting. The caller leaves it by depth--,
// unless there was an error, which ends the encoding.
func (e *encoder) enter() error {
	if e.depth++; e.depth > schema.MaxDepth {
		return plain.ErrDepth
	}
	return nil
}

// fieldHeader writes the type and the id of a field; the one before it in the
// struct is last.
func (e *encoder) fieldHeader(t wireType, id, last int16) {
	if e.compact {
		e.compactHeader(types[t].compact, id, last)
		return
	}
	e.b = append(e.b, byte(t), byte(id>>8), byte(id))
}

func (e *encoder) compactHeader(code byte, id, last int16) {
	if delta := int(id) - int(last); delta <= 15 { // ids ascend
		e.b = append(e.b, byte(delta)<<4|code) //nolint:gosec // at most 15
		return
	}
	e.b = append(e.b, code)
	e.b = binary.AppendVarint(e.b, int64(id)) // which is zigzag
}

func (e *encoder) stop() { e.b = append(e.b, byte(typeStop)) }

func (e *encoder) bool(v bool) {
	switch {
	case v:
		e.b = append(e.b, 1)
	case e.compact:
		e.b = append(e.b, compactFalse)
	default:
		e.b = append(e.b, 0)
	}
}

func (e *encoder) i32(n int32) {
	if e.compact {
		e.b = binary.AppendVarint(e.b, int64(n))
		return
	}
	e.b = binary.BigEndian.AppendUint32(e.b, uint32(n)) //nolint:gosec // two's complement
}

func (e *encoder) i64(n int64) {
	if e.compact {
		e.b = binary.AppendVarint(e.b, n)
		return
	}
	e.b = binary.BigEndian.AppendUint64(e.b, uint64(n)) //nolint:gosec // two's complement
}

func (e *encoder) double(f float64) {
	if e.compact {
		e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(f))
		return
	}
	e.b = binary.BigEndian.AppendUint64(e.b, math.Float64bits(f))
}

// size writes a length or count that stands alone.
func (e *encoder) size(n int) error {
	if n > math.MaxInt32 {
		return plain.Errorf("%d bytes or elements are more than Thrift can count", n)
	}
	if e.compact {
		e.b = binary.AppendUvarint(e.b, uint64(n)) //nolint:gosec // not negative
	} else {
		e.b = binary.BigEndian.AppendUint32(e.b, uint32(n)) //nolint:gosec // checked above
	}
	return nil
}

func (e *encoder) bytes(b []byte) error {
	if err := e.size(len(b)); err != nil {
		return err
	}
	e.b = append(e.b, b...)
	return nil
}

func (e *encoder) str(s string) error {
	if !utf8.ValidString(s) {
		return plain.ErrUTF8
	}
	if err := e.size(len(s)); err != nil {
		return err
	}
	e.b = append(e.b, s...)
	return nil
}

func (e *encoder) listHeader(elem wireType, n int) error {
	switch {
	case !e.compact:
		e.b = append(e.b, byte(elem))
	case n < 15:
		e.b = append(e.b, byte(n)<<4|types[elem].compact) //nolint:gosec // below 15
		return nil
	default:
		e.b = append(e.b, 0xf0|types[elem].compact)
	}
	return e.size(n)
}

func (e *encoder) mapHeader(key, value wireType, n int) error {
	if !e.compact {
		e.b = append(e.b, byte(key), byte(value))
		return e.size(n)
	}
	err := e.size(n)
	if n > 0 { // an empty map is the count alone
		e.b = append(e.b, types[key].compact<<4|types[value].compact)
	}
	return err
}

// secondsNanos writes the struct that a time and a duration both are.
func (e *encoder) secondsNanos(seconds int64, nanos int32) {
	e.fieldHeader(typeI64, 1, 0)
	e.i64(seconds)
	e.fieldHeader(typeI32, 2, 1)
	e.i32(nanos)
	e.stop()
}

// message writes a struct. What has no presence is written also when it is zero,
// as generated code writes fields that are neither optional nor required.
func (e *encoder) message(p *plan, v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	last := int16(0)
	for i := range p.fields {
		f := &p.fields[i]
		fv := v.Field(f.index)
		if f.pointer && fv.IsNil() {
			continue
		}
		if f.scalar {
			fv = fv.Elem()
		}
		if f.wire == typeBool && e.compact {
			code := byte(compactFalse)
			if fv.Bool() {
				code = compactTrue
			}
			e.compactHeader(code, f.id, last)
		} else {
			e.fieldHeader(f.wire, f.id, last)
			if err := e.field(f, fv); err != nil {
				return plain.At(f.name, err)
			}
		}
		last = f.id
	}
	e.stop()
	e.depth--
	return nil
}

func (e *encoder) field(f *field, v reflect.Value) error {
	switch f.wire {
	case typeList:
		if err := e.enter(); err != nil {
			return err
		}
		if err := e.listHeader(f.elem, v.Len()); err != nil {
			return err
		}
		err := f.list.append(e, v)
		e.depth--
		return err
	case typeMap:
		return e.mapField(f, v)
	}
	return e.element(f, v)
}

func (e *encoder) mapField(f *field, v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	if err := e.mapHeader(f.key.elem, f.elem, v.Len()); err != nil || v.Len() == 0 {
		e.depth--
		return err
	}
	keys, err := plain.SortedKeys(v, f.key.kind, f.key.text)
	if err != nil {
		return err
	}
	value := reflect.New(f.typ).Elem() // a map's own cannot be addressed, which elements need
	for _, k := range keys {
		if f.key.text {
			err = e.str(k.Written.String())
		} else {
			err = e.element(f.key, k.Value)
		}
		if err == nil {
			value.Set(v.MapIndex(k.Value))
			err = e.element(f, value)
		}
		if err != nil {
			return plain.AtKey(k.Written, err)
		}
	}
	e.depth--
	return nil
}

// element writes one value, which can be addressed if it is no key of a map.
func (e *encoder) element(f *field, v reflect.Value) error {
	switch f.kind {
	case schema.Bool:
		e.bool(v.Bool())
	case schema.Int32:
		e.i32(int32(v.Int())) //nolint:gosec // the type has at most 32 bits
	case schema.Int64:
		e.i64(v.Int())
	case schema.Uint32, schema.Uint64:
		e.i64(int64(v.Uint())) //nolint:gosec // 64 bits are in two's complement
	case schema.Float32, schema.Float64:
		e.double(v.Float())
	case schema.String:
		if !f.text {
			return e.str(v.String())
		}
		b, err := plain.Text(v)
		if err != nil {
			return err
		}
		return e.bytes(b)
	case schema.Bytes:
		return e.bytes(v.Bytes())
	case schema.Time, schema.Duration:
		seconds, nanos, err := plain.Seconds(f.kind, v)
		if err != nil {
			return err
		}
		e.secondsNanos(seconds, nanos)
	case schema.Struct:
		v, err := plain.Struct(v)
		if err != nil {
			return err
		}
		return e.message(f.message, v)
	default: // Any
		doc, err := plain.AppendDocument(nil, v)
		if err != nil {
			return err
		}
		return e.bytes(doc)
	}
	return nil
}
