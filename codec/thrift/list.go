package thrift

import (
	"reflect"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/plain"
)

// A listForm writes and reads the elements of a list field.
type listForm struct {
	append func(e *encoder, v reflect.Value) error
	// read reads n elements into v, which is nil.
	read func(d *decoder, v reflect.Value, n int) error
}

// listFormOf returns the form of lists of type t, whose elements are f. The
// most common lists of scalars go without reflection for each element.
func listFormOf(t reflect.Type, f *field) listForm {
	switch t {
	case reflect.TypeFor[[]int64]():
		return scalars(func(e *encoder, n int64) error { e.i64(n); return nil }, (*decoder).i64)
	case reflect.TypeFor[[]int32]():
		return scalars(func(e *encoder, n int32) error { e.i32(n); return nil }, (*decoder).i32)
	case reflect.TypeFor[[]uint64]():
		return scalars(func(e *encoder, n uint64) error { e.i64(int64(n)); return nil }, //nolint:gosec // two's complement
			func(d *decoder) (uint64, error) { n, err := d.i64(); return uint64(n), err }) //nolint:gosec // two's complement
	case reflect.TypeFor[[]float64]():
		return scalars(func(e *encoder, n float64) error { e.double(n); return nil }, (*decoder).double)
	case reflect.TypeFor[[]string]():
		return scalars((*encoder).str, (*decoder).str)
	}
	return listForm{
		append: func(e *encoder, v reflect.Value) error {
			for i := range v.Len() {
				if err := e.element(f, v.Index(i)); err != nil {
					return plain.AtIndex(i, err)
				}
			}
			return nil
		},
		read: func(d *decoder, v reflect.Value, n int) error {
			v.Grow(min(n, reserve))
			for i := range n {
				v.Grow(1)
				v.SetLen(i + 1)
				if err := d.element(f, v.Index(i)); err != nil {
					return plain.AtIndex(i, err)
				}
			}
			return nil
		},
	}
}

func scalars[T any](write func(*encoder, T) error, read func(*decoder) (T, error)) listForm {
	return listForm{
		append: func(e *encoder, v reflect.Value) error {
			for i, x := range *v.Addr().Interface().(*[]T) {
				if err := write(e, x); err != nil {
					return plain.AtIndex(i, err)
				}
			}
			return nil
		},
		read: func(d *decoder, v reflect.Value, n int) error {
			// There is a byte or more for each, and nothing can claim the same
			// bytes again: memory for all is a small multiple of them.
			list := make([]T, 0, n)
			for i := range n {
				x, err := read(d)
				if err != nil {
					return plain.AtIndex(i, err)
				}
				list = append(list, x)
			}
			*v.Addr().Interface().(*[]T) = list
			return nil
		},
	}
}

func (d *decoder) str() (string, error) {
	start := d.pos
	b, err := d.bytes()
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", plain.From(start, plain.ErrUTF8)
	}
	return string(b), nil
}
