package avro

import (
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// An encoder appends values to b.
type encoder struct {
	b     []byte
	depth int
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

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

// long writes an int or a long, which is zigzag as in package binary.
func (e *encoder) long(n int64) { e.b = binary.AppendVarint(e.b, n) }

func (e *encoder) double(f float64) {
	e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(f))
}

func (e *encoder) bytes(b []byte) {
	e.long(int64(len(b)))
	e.b = append(e.b, b...)
}

func (e *encoder) str(s string) error {
	if !utf8.ValidString(s) {
		return plain.ErrUTF8
	}
	e.long(int64(len(s)))
	e.b = append(e.b, s...)
	return nil
}

func (e *encoder) message(m *message, v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	for _, f := range m.fields {
		if err := e.field(f, v.Field(f.index)); err != nil {
			return plain.At(f.name, err)
		}
	}
	e.depth--
	return nil
}

func (e *encoder) field(f *field, v reflect.Value) error {
	switch {
	case f.pointer:
		if v.IsNil() {
			e.long(0) // the branch null
			return nil
		}
		e.long(1)
		if f.scalar {
			v = v.Elem()
		}
		return e.element(f, v)
	case f.repeated:
		return e.array(f, v)
	case f.key != nil:
		return e.mapField(f, v)
	}
	return e.element(f, v)
}

// array writes all items as one block, and the empty block that is the end.
func (e *encoder) array(f *field, v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	if n := v.Len(); n > 0 {
		if f.least == 0 && n > maxEmpty {
			return plain.Errorf("%d items that take no bytes are more than the %d that are read", n, maxEmpty)
		}
		e.long(int64(n))
		if err := f.list(e, v); err != nil {
			return err
		}
	}
	e.long(0)
	e.depth--
	return nil
}

func (e *encoder) mapField(f *field, v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	if v.Len() > 0 {
		keys, err := plain.SortedKeys(v, f.key.kind, f.key.text)
		if err != nil {
			return err
		}
		e.long(int64(len(keys)))
		value := reflect.New(f.typ).Elem() // a map's own cannot be addressed, which elements need
		for _, k := range keys {
			// Keys are strings in Avro: others are as in JSON.
			if err := e.str(keyText(k.Written)); err != nil {
				return plain.AtKey(k.Written, err)
			}
			value.Set(v.MapIndex(k.Value))
			if err := e.element(f, value); err != nil {
				return plain.AtKey(k.Written, err)
			}
		}
	}
	e.long(0)
	e.depth--
	return nil
}

// keyText is a key as JSON has it.
func keyText(v reflect.Value) string {
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	default:
		return v.String()
	}
}

// element writes one value, which can be addressed.
func (e *encoder) element(f *field, v reflect.Value) error {
	switch f.kind {
	case schema.Bool:
		e.bool(v.Bool())
	case schema.Int32, schema.Int64:
		e.long(v.Int())
	case schema.Uint32, schema.Uint64:
		e.long(int64(v.Uint())) //nolint:gosec // 64 bits are in two's complement
	case schema.Float32:
		e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(float32(v.Float())))
	case schema.Float64:
		e.double(v.Float())
	case schema.String:
		if !f.text {
			return e.str(v.String())
		}
		b, err := plain.Text(v)
		if err != nil {
			return err
		}
		e.bytes(b)
	case schema.Bytes:
		e.bytes(v.Bytes())
	case schema.Time, schema.Duration:
		seconds, nanos, err := plain.Seconds(f.kind, v)
		if err != nil {
			return err
		}
		e.long(seconds)
		e.long(int64(nanos))
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
		e.bytes(doc)
	}
	return nil
}

// listForm returns how the elements f of a list are written. The most common
// lists of scalars go without reflection for each element.
func listForm(f *field) func(e *encoder, v reflect.Value) error {
	switch f.whole {
	case reflect.TypeFor[[]int64]():
		return scalars(func(e *encoder, n int64) error { e.long(n); return nil })
	case reflect.TypeFor[[]int32]():
		return scalars(func(e *encoder, n int32) error { e.long(int64(n)); return nil })
	case reflect.TypeFor[[]float64]():
		return scalars(func(e *encoder, n float64) error { e.double(n); return nil })
	case reflect.TypeFor[[]string]():
		return scalars((*encoder).str)
	}
	return func(e *encoder, v reflect.Value) error {
		for i := range v.Len() {
			if err := e.element(f, v.Index(i)); err != nil {
				return plain.AtIndex(i, err)
			}
		}
		return nil
	}
}

func scalars[T any](write func(*encoder, T) error) func(e *encoder, v reflect.Value) error {
	return func(e *encoder, v reflect.Value) error {
		for i, x := range *v.Addr().Interface().(*[]T) {
			if err := write(e, x); err != nil {
				return plain.AtIndex(i, err)
			}
		}
		return nil
	}
}
