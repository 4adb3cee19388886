package avro

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
)

// reserve is for how many elements memory is reserved before they are read, if
// they may be larger than the bytes they came in.
const reserve = 64

// array resolves the items of an array. The most common lists of scalars go
// without reflection for each element.
func (r resolver) array(w *avsc.Type, f *field) (readFunc, error) {
	switch {
	case w.Kind == avsc.Long && f.whole == reflect.TypeFor[[]int64]():
		return items((*decoder).long), nil
	case w.Kind == avsc.Double && f.whole == reflect.TypeFor[[]float64]():
		return items((*decoder).double), nil
	case w.Kind == avsc.String && f.whole == reflect.TypeFor[[]string]():
		return items((*decoder).str), nil
	}
	read, err := r.element(w, f)
	if err != nil {
		return nil, err
	}
	return func(d *decoder, v reflect.Value) error {
		if err := d.enter(); err != nil {
			return err
		}
		for {
			n, _, err := d.block(w.Least)
			if err != nil {
				return err
			}
			if n == 0 {
				d.depth--
				return nil
			}
			v.Grow(min(n, reserve))
			for range n {
				i := v.Len()
				v.Grow(1)
				v.SetLen(i + 1)
				elem := v.Index(i)
				elem.SetZero()
				if err := read(d, elem); err != nil {
					return plain.AtIndex(i, err)
				}
			}
		}
	}, nil
}

func items[T any](read func(*decoder) (T, error)) readFunc {
	return func(d *decoder, v reflect.Value) error {
		if err := d.enter(); err != nil {
			return err
		}
		list := v.Addr().Interface().(*[]T)
		for {
			n, _, err := d.block(1)
			if err != nil {
				return err
			}
			if n == 0 {
				d.depth--
				return nil
			}
			// There is a byte or more for each, and nothing can claim the same
			// bytes again: memory for all is a small multiple of them.
			*list = slices.Grow(*list, n)
			for range n {
				x, err := read(d)
				if err != nil {
					return plain.AtIndex(len(*list), err)
				}
				*list = append(*list, x)
			}
		}
	}
}

// mapField resolves the values of a map. Keys are strings.
func (r resolver) mapField(w *avsc.Type, f *field) (readFunc, error) {
	read, err := r.element(w, f)
	if err != nil {
		return nil, err
	}
	return func(d *decoder, v reflect.Value) error {
		if err := d.enter(); err != nil {
			return err
		}
		for {
			n, _, err := d.block(1 + w.Least)
			if err != nil {
				return err
			}
			if n == 0 {
				d.depth--
				return nil
			}
			if v.IsNil() {
				v.Set(reflect.MakeMapWithSize(v.Type(), min(n, reserve)))
			}
			for range n {
				if err := d.entry(f, read, v); err != nil {
					return err
				}
			}
		}
	}, nil
}

// entry reads a key and a value of the map m.
func (d *decoder) entry(f *field, read readFunc, m reflect.Value) error {
	start := d.pos
	s, err := d.str()
	if err != nil {
		return err
	}
	key := reflect.New(f.key.typ).Elem()
	if err := setKey(f.key, key, s); err != nil {
		return plain.AtKey(s, plain.From(start, err))
	}
	value := reflect.New(f.typ).Elem()
	if err := read(d, value); err != nil {
		return plain.AtKey(s, err)
	}
	before := m.Len()
	if m.SetMapIndex(key, value); m.Len() == before {
		return plain.AtKey(s, plain.From(start, plain.ErrSameKey))
	}
	return nil
}

// setKey sets a key from its text, which is as in JSON.
func setKey(f *field, v reflect.Value, s string) error {
	switch f.kind {
	case schema.String:
		return plain.SetString(v, f.text, []byte(s))
	case schema.Bool:
		if s != "true" && s != "false" {
			return fmt.Errorf("the key is no bool")
		}
		v.SetBool(s == "true")
		return nil
	case schema.Int32, schema.Int64:
		n, err := strconv.ParseInt(s, 10, v.Type().Bits())
		v.SetInt(n)
		return keyError(err, v)
	default:
		n, err := strconv.ParseUint(s, 10, v.Type().Bits())
		v.SetUint(n)
		return keyError(err, v)
	}
}

func keyError(err error, v reflect.Value) error {
	if err != nil {
		return fmt.Errorf("the key is no %s", v.Kind())
	}
	return nil
}
