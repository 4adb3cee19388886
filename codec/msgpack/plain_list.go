package msgpack

import (
	"reflect"
	"strconv"
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
		return scalars(func(e *encoder, n int64) error { e.b = AppendInt(e.b, n); return nil },
			func(d *decoder) (int64, error) { return d.int(64, "int64") })
	case reflect.TypeFor[[]int]():
		return scalars(func(e *encoder, n int) error { e.b = AppendInt(e.b, int64(n)); return nil },
			func(d *decoder) (int, error) { n, err := d.int(strconv.IntSize, "int"); return int(n), err })
	case reflect.TypeFor[[]int32]():
		return scalars(func(e *encoder, n int32) error { e.b = AppendInt(e.b, int64(n)); return nil },
			func(d *decoder) (int32, error) { n, err := d.int(32, "int32"); return int32(n), err })
	case reflect.TypeFor[[]uint64]():
		return scalars(func(e *encoder, n uint64) error { e.b = AppendUint(e.b, n); return nil },
			func(d *decoder) (uint64, error) { return d.uint(64, "uint64") })
	case reflect.TypeFor[[]float64]():
		return scalars(func(e *encoder, n float64) error { e.b = AppendFloat64(e.b, n); return nil },
			func(d *decoder) (float64, error) { return d.float(64) })
	case reflect.TypeFor[[]string]():
		return scalars((*encoder).str, func(d *decoder) (string, error) { s, err := d.Str(); return string(s), err })
	}
	return listForm{
		append: func(e *encoder, v reflect.Value) error {
			for i := range v.Len() {
				if err := e.element(f, v.Index(i)); err != nil {
					return atIndex(i, err)
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
					return atIndex(i, err)
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
					return atIndex(i, err)
				}
			}
			return nil
		},
		read: func(d *decoder, v reflect.Value, n int) error {
			// Scalars do not nest, so that nothing can claim the bytes that
			// follow once more: memory for all n is a small multiple of them.
			list := make([]T, 0, n)
			for i := range n {
				x, err := read(d)
				if err != nil {
					return atIndex(i, err)
				}
				list = append(list, x)
			}
			*v.Addr().Interface().(*[]T) = list
			return nil
		},
	}
}
