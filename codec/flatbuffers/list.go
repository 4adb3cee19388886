package flatbuffers

import (
	"reflect"

	"github.com/everywire/everywire/codec/internal/plain"
)

// list writes a vector: first the elements that it has in itself, or offsets,
// and behind it what they lead to.
func (e *encoder) list(f *field, v reflect.Value, at int) error {
	if err := e.enter(); err != nil {
		return err
	}
	n := v.Len()
	elements := e.elements(at, n, f.size)
	if !plain.PutNumbers(e.b[elements:], v) {
		for i := range n {
			if err := e.value(&f.value, v.Index(i), elements+i*f.size); err != nil {
				return plain.AtIndex(i, err)
			}
		}
	}
	e.depth--
	return nil
}

// elements begins a vector of n elements, all zero, and returns where they are.
func (e *encoder) elements(at, n, size int) int {
	start := e.vector(at, min(size, 8))
	e.setLen(start, n)
	return e.zeros(n * size)
}

// mapField writes a map as a vector of tables, sorted by key as FlatBuffers'
// look-up by key needs it.
func (e *encoder) mapField(f *field, v reflect.Value, at int) error {
	if err := e.enter(); err != nil {
		return err
	}
	keys, err := plain.SortedKeys(v, f.entry.keyKind, f.entry.keyText)
	if err != nil {
		return err
	}
	elements := e.elements(at, len(keys), offset)
	val := reflect.New(f.typ).Elem() // a map's own cannot be addressed, which values need
	for i, k := range keys {
		val.Set(v.MapIndex(k.Value))
		table, err := e.table(&f.entry.table, reflect.Value{}, &[2]reflect.Value{k.Written, val})
		if err == nil && val.Kind() == reflect.Pointer && val.IsNil() {
			err = plain.ErrNilElement
		}
		if err != nil {
			return plain.AtKey(k.Written, err)
		}
		e.point(elements+offset*i, table)
	}
	e.depth--
	return nil
}
