package msgpack

import (
	"encoding"
	"math"
	"reflect"
	"slices"

	"github.com/everywire/everywire/schema"
)

// any writes a document's value.
func (e *encoder) any(v any) error {
	switch v := v.(type) {
	case nil:
		e.b = AppendNil(e.b)
	case bool:
		e.b = AppendBool(e.b, v)
	case string:
		return e.str(v)
	case int64:
		e.b = AppendInt(e.b, v)
	case uint64:
		e.b = AppendUint(e.b, v)
	case float64:
		e.b = AppendFloat64(e.b, v)
	case float32:
		e.b = AppendFloat32(e.b, v)
	case []byte:
		e.b = AppendBinary(e.b, v)
	case []any:
		if err := e.enter(); err != nil {
			return err
		}
		e.b = AppendArrayHeader(e.b, len(v))
		for i, elem := range v {
			if err := e.any(elem); err != nil {
				return atIndex(i, err)
			}
		}
		e.depth--
	case map[string]any:
		if err := e.enter(); err != nil {
			return err
		}
		e.b = AppendMapHeader(e.b, len(v))
		base := len(e.keys)
		for key := range v {
			e.keys = append(e.keys, key)
		}
		slices.Sort(e.keys[base:])
		for i := range len(v) {
			key := e.keys[base+i]
			err := e.str(key)
			if err == nil {
				err = e.any(v[key])
			}
			if err != nil {
				return atKey(key, err)
			}
		}
		e.keys = e.keys[:base]
		e.depth--
	case schema.Document:
		return e.any(v.Value)
	case *schema.Document:
		if v == nil {
			return e.any(nil)
		}
		return e.any(v.Value)
	default:
		if ok, err := e.own(v); ok {
			return err
		}
		return e.anyNumber(v)
	}
	return nil
}

// anyNumber writes the numeric types that documents seldom hold.
func (e *encoder) anyNumber(v any) error {
	rv := reflect.ValueOf(v)
	_, text := v.(encoding.TextMarshaler)
	switch {
	case text:
	case rv.CanInt():
		e.b = AppendInt(e.b, rv.Int())
		return nil
	case rv.CanUint():
		e.b = AppendUint(e.b, rv.Uint())
		return nil
	case rv.Kind() == reflect.Float32:
		e.b = AppendFloat32(e.b, float32(rv.Float()))
		return nil
	case rv.Kind() == reflect.Float64:
		e.b = AppendFloat64(e.b, rv.Float())
		return nil
	}
	return errorf("a document cannot hold a value of the Go type %T", v)
}

// any reads whatever stands there, by the rules of [schema.Document].
func (d *decoder) any() (any, error) {
	if n, negative, ok := d.integer(); ok {
		if !negative && n > math.MaxInt64 {
			return n, nil
		}
		return int64(n), nil
	}
	h, err := d.peek()
	if err != nil {
		return nil, err
	}
	switch h.typ {
	case Nil:
		return nil, d.Nil()
	case Bool:
		return d.Bool()
	case Float:
		return d.Float64()
	case Str:
		s, err := d.Str()
		if err != nil {
			return nil, err
		}
		return string(s), nil
	case Bin:
		return append([]byte{}, d.payload(h)...), nil
	case Array:
		return d.anyArray()
	case Map:
		return d.anyMap()
	default:
		return d.own(h)
	}
}

func (d *decoder) anyArray() (any, error) {
	n, err := d.array()
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, min(n, reserve))
	for i := range n {
		v, err := d.any()
		if err != nil {
			return nil, atIndex(i, err)
		}
		list = append(list, v)
	}
	d.depth--
	return list, nil
}

func (d *decoder) anyMap() (any, error) {
	n, err := d.object()
	if err != nil {
		return nil, err
	}
	m := make(map[string]any, min(n, reserve))
	for range n {
		key, start, err := d.key()
		if err != nil {
			return nil, err
		}
		if _, ok := m[string(key)]; ok {
			return nil, d.duplicate(start)
		}
		k := d.names.String(key)
		if m[k], err = d.any(); err != nil {
			return nil, atKey(k, err)
		}
	}
	d.depth--
	return m, nil
}

// key reads the key of a map whose keys are strings, and returns where it is.
func (d *decoder) key() (key []byte, start int, err error) {
	start = d.pos
	if key, err = d.Str(); err != nil {
		if h, notEnd := d.peek(); notEnd == nil && !h.text() {
			err = d.errorf("%v as a key where a string is needed", h.typ)
		}
	}
	return key, start, err
}

// duplicate is the error for the key at start.
func (d *decoder) duplicate(start int) error {
	d.pos = start
	key, err := d.Str()
	if err != nil {
		return err
	}
	d.pos = start
	return d.errorf("the key %q occurs twice", short(string(key)))
}
