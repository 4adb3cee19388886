package json

import (
	"bytes"
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

func appendList(elem appendFunc) appendFunc {
	return func(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
		if err := e.enter(); err != nil {
			return b, err
		}
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = elem(e, b, v.Index(i)); err != nil {
				return b, atIndex(err, i)
			}
		}
		e.depth--
		return append(b, ']'), nil
	}
}

func readList(elem readFunc) readFunc {
	return func(d *decoder, v reflect.Value) error {
		if err := d.enter('[', "an array"); err != nil {
			return err
		}
		for i := 0; ; i++ {
			if ok, err := d.element(i == 0); err != nil || !ok {
				return err
			}
			if i == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(i + 1)
			if err := elem(d, v.Index(i)); err != nil {
				return atIndex(err, i)
			}
		}
	}
}

// fastList returns the functions of the most common lists of scalars, which go
// without reflection for each element; nil for others.
func fastList(f *schema.Field, t reflect.Type) (appendFunc, readFunc) {
	quoted := f.Quoted
	switch t {
	case reflect.TypeFor[[]int64]():
		return listOf(func(b []byte, n int64) ([]byte, error) { return appendInt(b, n, quoted), nil },
			func(d *decoder) (int64, error) { return d.int(64, "int64") })
	case reflect.TypeFor[[]int]():
		return listOf(func(b []byte, n int) ([]byte, error) { return appendInt(b, int64(n), quoted), nil },
			func(d *decoder) (int, error) { n, err := d.int(strconv.IntSize, "int"); return int(n), err })
	case reflect.TypeFor[[]int32]():
		return listOf(func(b []byte, n int32) ([]byte, error) { return appendInt(b, int64(n), false), nil },
			func(d *decoder) (int32, error) { n, err := d.int(32, "int32"); return int32(n), err }) //nolint:gosec // int checked it
	case reflect.TypeFor[[]uint64]():
		return listOf(func(b []byte, n uint64) ([]byte, error) { return appendUint(b, n, quoted), nil },
			func(d *decoder) (uint64, error) { return d.uint(64, "uint64") })
	case reflect.TypeFor[[]float64]():
		return listOf(func(b []byte, n float64) ([]byte, error) { return appendFloat(b, n, 64), nil },
			func(d *decoder) (float64, error) { return d.float(64) })
	case reflect.TypeFor[[]string]():
		return listOf(appendString, func(d *decoder) (string, error) {
			s, err := d.text("a string")
			return string(s), err
		})
	}
	return nil, nil
}

func listOf[T any](elem func([]byte, T) ([]byte, error), read func(*decoder) (T, error)) (appendFunc, readFunc) {
	a := func(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
		if err := e.enter(); err != nil {
			return b, err
		}
		b = append(b, '[')
		for i, x := range *v.Addr().Interface().(*[]T) {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = elem(b, x); err != nil {
				return b, atIndex(err, i)
			}
		}
		e.depth--
		return append(b, ']'), nil
	}
	r := func(d *decoder, v reflect.Value) error {
		if err := d.enter('[', "an array"); err != nil {
			return err
		}
		list := v.Addr().Interface().(*[]T)
		for i := 0; ; i++ {
			if ok, err := d.element(i == 0); err != nil || !ok {
				return err
			}
			if i == 0 {
				*list = make([]T, 0, d.count())
			}
			x, err := read(d)
			if err != nil {
				return atIndex(err, i)
			}
			*list = append(*list, x)
		}
	}
	return a, r
}

// count guesses how many scalars the array has whose first is at pos: one more
// than there are commas before the next bracket. That is exact for numbers; for
// strings, which may hold commas, the guess stays small.
func (d *decoder) count() int {
	rest := d.data[d.pos:]
	if end := bytes.IndexByte(rest, ']'); end >= 0 {
		rest = rest[:end]
	}
	n := 1 + bytes.Count(rest, []byte{','})
	if d.peek() == '"' {
		return min(n, 64)
	}
	return n
}

// An entry is a map entry on its way into sorted output.
type entry struct {
	key   string
	value reflect.Value
}

// appendMap writes an object whose names are the keys as text, sorted.
func appendMap(f *schema.Field, elem appendFunc) appendFunc {
	return func(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
		if err := e.enter(); err != nil {
			return b, err
		}
		entries := make([]entry, 0, v.Len())
		for it := v.MapRange(); it.Next(); {
			// Elements of a map are not addressable, but some lists inside
			// structs need it.
			value := reflect.New(f.Type).Elem()
			value.Set(it.Value())
			key, err := keyText(it.Key(), f.TextKey)
			if err != nil {
				return b, err
			}
			entries = append(entries, entry{key, value})
		}
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
		b = append(b, '{')
		for i, en := range entries {
			if i > 0 {
				b = append(b, ',')
			}
			if i > 0 && entries[i-1].key == en.key {
				return b, atKey(errorf("two keys have this text"), en.key)
			}
			var err error
			if b, err = appendKey(b, en.key); err == nil {
				b, err = elem(e, b, en.value)
			}
			if err != nil {
				return b, atKey(err, en.key)
			}
		}
		e.depth--
		return append(b, '}'), nil
	}
}

func keyText(k reflect.Value, isText bool) (string, error) {
	if isText {
		text, err := k.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return "", &Error{Reason: err.Error(), cause: err}
		}
		return string(text), nil
	}
	switch {
	case k.Kind() == reflect.String:
		return k.String(), nil
	case k.Kind() == reflect.Bool:
		return strconv.FormatBool(k.Bool()), nil
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10), nil
	}
	return strconv.FormatUint(k.Uint(), 10), nil
}

// readMap reads an object into a map. An empty one is left nil.
func readMap(f *schema.Field, t reflect.Type, elem readFunc) readFunc {
	keyType := t.Key()
	return func(d *decoder, v reflect.Value) error {
		if err := d.enter('{', "an object"); err != nil {
			return err
		}
		for first := true; ; first = false {
			name, ok, err := d.member(first)
			if err != nil || !ok {
				return err
			}
			if first {
				v.Set(reflect.MakeMap(t))
			}
			shown := string(name)
			key := reflect.New(keyType).Elem()
			if err := d.setKey(key, name, f); err != nil {
				return err
			}
			if v.MapIndex(key).IsValid() {
				return d.duplicate([]byte(shown))
			}
			value := reflect.New(f.Type).Elem()
			if err := elem(d, value); err != nil {
				return atKey(err, shown)
			}
			v.SetMapIndex(key, value)
		}
	}
}

// setKey sets a map's key from a member's name, which has just been read.
func (d *decoder) setKey(key reflect.Value, name []byte, f *schema.Field) error {
	switch f.MapKey {
	case schema.String:
		if f.TextKey {
			if err := key.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(bytes.Clone(name)); err != nil {
				return &Error{offset: d.named, Reason: err.Error(), cause: err}
			}
			return nil
		}
		key.SetString(string(name))
		return nil
	case schema.Bool:
		k, err := d.boolKey(name)
		key.SetBool(k)
		return err
	case schema.Int32, schema.Int64:
		k, err := d.intKey(name, key.Type().Bits(), key.Kind().String())
		key.SetInt(k)
		return err
	}
	k, err := d.uintKey(name, key.Type().Bits(), key.Kind().String())
	key.SetUint(k)
	return err
}

func (d *decoder) boolKey(name []byte) (bool, error) {
	switch string(name) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, d.badKey(name, "bool")
}

func (d *decoder) intKey(name []byte, bits int, typ string) (int64, error) {
	if n, _ := text.NumberLen(name); n > 0 && n == len(name) {
		if k, err := toInt(name, bits); err == nil {
			return k, nil
		}
	}
	return 0, d.badKey(name, typ)
}

func (d *decoder) uintKey(name []byte, bits int, typ string) (uint64, error) {
	if n, _ := text.NumberLen(name); n > 0 && n == len(name) {
		if k, err := toUint(name, bits); err == nil {
			return k, nil
		}
	}
	return 0, d.badKey(name, typ)
}

func (d *decoder) badKey(name []byte, typ string) error {
	return d.errorf(d.named, "the key %q is no %s, or out of its range", text.Short(string(name)), typ)
}
