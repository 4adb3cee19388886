package msgpack

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/schema"
)

// message writes a plain struct.
func (e *encoder) message(p *structPlan, v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	n := len(p.fields)
	for _, f := range p.optional {
		if v.Field(f.index).IsNil() {
			n--
		}
	}
	e.b = AppendMapHeader(e.b, n)
	for _, f := range p.fields {
		fv := v.Field(f.index)
		if f.omitNil && fv.IsNil() {
			continue
		}
		e.b = append(e.b, f.encoded...)
		if err := e.field(f, fv); err != nil {
			return at(f.name, err)
		}
	}
	e.depth--
	return nil
}

func (e *encoder) field(f *field, v reflect.Value) error {
	switch {
	case f.single:
		return e.element(f, v)
	case f.optional:
		return e.element(f, v.Elem())
	case f.key != nil:
		return e.mapField(f, v)
	}
	if err := e.enter(); err != nil {
		return err
	}
	e.b = AppendArrayHeader(e.b, v.Len())
	err := f.list.append(e, v)
	e.depth--
	return err
}

func (e *encoder) mapField(f *field, v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	keys, err := sortedKeys(f.key, v)
	if err != nil {
		return err
	}
	e.b = AppendMapHeader(e.b, len(keys))
	value := reflect.New(f.typ).Elem() // a map's own cannot be addressed, which elements need
	for i, k := range keys {
		if f.key.text {
			if i > 0 && k.text == keys[i-1].text {
				return atKey(k.text, errorf("two keys have this text"))
			}
			err = e.str(k.text)
		} else {
			err = e.element(f.key, k.key)
		}
		if err == nil {
			value.Set(v.MapIndex(k.key))
			err = e.element(f, value)
		}
		if err != nil {
			return atKey(k.key, err)
		}
	}
	e.depth--
	return nil
}

type mapKey struct {
	key  reflect.Value
	text string // of a key that is written as text
}

// sortedKeys returns a map's keys in the order in which they are written:
// false before true, numbers by value, strings by bytes.
func sortedKeys(f *field, m reflect.Value) ([]mapKey, error) {
	keys := make([]mapKey, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		k := mapKey{key: it.Key()}
		if f.text {
			b, err := k.key.Interface().(encoding.TextMarshaler).MarshalText()
			if err != nil {
				return nil, atKey(k.key, err)
			}
			k.text = string(b)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b mapKey) int {
		switch {
		case f.text:
			return cmp.Compare(a.text, b.text)
		case f.kind == schema.String:
			return cmp.Compare(a.key.String(), b.key.String())
		case a.key.CanInt():
			return cmp.Compare(a.key.Int(), b.key.Int())
		case a.key.CanUint():
			return cmp.Compare(a.key.Uint(), b.key.Uint())
		case b.key.Bool() && !a.key.Bool():
			return -1
		default: // the two bools differ
			return 1
		}
	})
	return keys, nil
}

// element writes one value, which can be addressed if it is no key of a map.
func (e *encoder) element(f *field, v reflect.Value) error {
	switch f.kind {
	case schema.Bool:
		e.b = AppendBool(e.b, v.Bool())
	case schema.Int32, schema.Int64:
		e.b = AppendInt(e.b, v.Int())
	case schema.Uint32, schema.Uint64:
		e.b = AppendUint(e.b, v.Uint())
	case schema.Float32:
		e.b = AppendFloat32(e.b, float32(v.Float()))
	case schema.Float64:
		e.b = AppendFloat64(e.b, v.Float())
	case schema.String:
		if !f.text {
			return e.str(v.String())
		}
		b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return err
		}
		return e.strBytes(b)
	case schema.Bytes:
		e.b = AppendBinary(e.b, v.Bytes())
	case schema.Time:
		return e.time(*v.Addr().Interface().(*time.Time))
	case schema.Duration:
		e.duration(v.Int()/int64(time.Second), int32(v.Int()%int64(time.Second)))
	case schema.Struct:
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return errNilElement()
			}
			v = v.Elem()
		}
		return e.message(f.message, v)
	case schema.Proto:
		if v.IsNil() {
			return errNilElement()
		}
		return e.generated(v.Interface().(proto.Message))
	default: // Any
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return errNilElement()
			}
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			v = v.Field(0)
		}
		return e.any(v.Interface())
	}
	return nil
}

// errNilElement is for a nil pointer in a list or map: protobuf cannot say it.
func errNilElement() error { return errorf("a nil pointer in a list or map") }
