package json

import (
	"bytes"
	"encoding"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// any reads whatever stands there, by the rules of schema.Document.
func (d *decoder) any() (any, error) {
	switch c := d.peek(); {
	case c == '"':
		s, err := d.str()
		if err != nil {
			return nil, err
		}
		return string(s), nil
	case c == '-' || c >= '0' && c <= '9':
		return d.anyNumber()
	case c == '{':
		return d.anyObject()
	case c == '[':
		return d.anyArray()
	case c == 't':
		return true, d.literal("true")
	case c == 'f':
		return false, d.literal("false")
	case c == 'n':
		return nil, d.literal("null")
	}
	return nil, d.syntax("a value")
}

func (d *decoder) anyNumber() (any, error) {
	start := d.pos
	if n, ok := d.smallInt(); ok && (n != 0 || d.data[start] != '-') {
		return n, nil
	}
	d.pos = start
	lit, whole, err := d.number()
	if err != nil {
		return nil, err
	}
	if !whole || string(lit) == "-0" { // no integer is a negative zero
		return d.parseFloat(lit, start, 64)
	}
	neg, abs, err := integer(lit)
	switch {
	case err == nil && neg && abs <= 1<<63:
		return -int64(abs), nil //nolint:gosec // -(1<<63) wraps to itself, as it should
	case err == nil && !neg && abs <= math.MaxInt64:
		return int64(abs), nil
	case err == nil && !neg:
		return abs, nil
	}
	return schema.Number(lit), nil
}

func (d *decoder) anyArray() (any, error) {
	if err := d.enter('[', ""); err != nil {
		return nil, err
	}
	list := []any{}
	for i := 0; ; i++ {
		if ok, err := d.element(i == 0); err != nil {
			return nil, err
		} else if !ok {
			return list, nil
		}
		v, err := d.any()
		if err != nil {
			return nil, atIndex(err, i)
		}
		if i == 0 {
			list = make([]any, 0, 4)
		}
		list = append(list, v)
	}
}

func (d *decoder) anyObject() (any, error) {
	if err := d.enter('{', ""); err != nil {
		return nil, err
	}
	m := map[string]any{}
	for n := 0; ; n++ {
		name, ok, err := d.member(n == 0)
		if err != nil {
			return nil, err
		} else if !ok {
			return m, nil
		}
		key := d.names.String(name)
		if _, dup := m[key]; dup {
			return nil, d.duplicate(name)
		}
		v, err := d.any()
		if err != nil {
			return nil, atKey(err, key)
		}
		m[key] = v
	}
}

// any writes a document's value.
func (e *encoder) any(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case float64:
		return appendAnyFloat(b, v, 64)
	case float32:
		return appendAnyFloat(b, float64(v), 32)
	case map[string]any:
		return e.anyObject(b, v)
	case []any:
		return e.anyArray(b, v)
	case schema.Number:
		if n, whole := text.NumberLen([]byte(v)); n == 0 || n != len(v) || !whole {
			return b, errorf("the Number %q is not an integer", text.Short(string(v)))
		}
		return append(b, v...), nil
	case []byte:
		return e.bytes(b, v)
	case time.Time:
		return appendTime(b, v)
	case schema.Document:
		return e.any(b, v.Value)
	case *schema.Document:
		if v == nil {
			return append(b, "null"...), nil
		}
		return e.any(b, v.Value)
	}
	if _, text := v.(encoding.TextMarshaler); !text {
		switch rv := reflect.ValueOf(v); rv.Kind() {
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			return strconv.AppendInt(b, rv.Int(), 10), nil
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
			return strconv.AppendUint(b, rv.Uint(), 10), nil
		case reflect.Float32:
			return appendAnyFloat(b, rv.Float(), 32)
		case reflect.Float64:
			return appendAnyFloat(b, rv.Float(), 64)
		}
	}
	return b, errorf("a document cannot hold a value of the Go type %T", v)
}

// appendAnyFloat writes a float with a fraction or an exponent, so that it is
// read as a float again: in a document nothing else says so.
func appendAnyFloat(b []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, errorf("a document cannot hold %v", f)
	}
	start := len(b)
	b = appendFloat(b, f, bits)
	if bytes.IndexByte(b[start:], '.') < 0 && bytes.IndexByte(b[start:], 'e') < 0 {
		b = append(b, '.', '0')
	}
	return b, nil
}

func (e *encoder) anyArray(b []byte, list []any) ([]byte, error) {
	if err := e.enter(); err != nil {
		return b, err
	}
	b = append(b, '[')
	var err error
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = e.any(b, v); err != nil {
			return b, atIndex(err, i)
		}
	}
	e.depth--
	return append(b, ']'), nil
}

func (e *encoder) anyObject(b []byte, m map[string]any) ([]byte, error) {
	if err := e.enter(); err != nil {
		return b, err
	}
	b = append(b, '{')
	base := len(e.keys)
	for key := range m {
		e.keys = append(e.keys, key)
	}
	slices.Sort(e.keys[base:])
	var err error
	for i := range len(m) {
		key := e.keys[base+i]
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendKey(b, key); err == nil {
			b, err = e.any(b, m[key])
		}
		if err != nil {
			return b, atKey(err, key)
		}
	}
	e.keys = e.keys[:base]
	e.depth--
	return append(b, '}'), nil
}
