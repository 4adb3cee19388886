package capnp

import (
	"reflect"
	"slices"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// appendBytes writes a list of bytes, and as many zero bytes behind it that count as
// elements: a text has one.
func appendBytes[T ~string | ~[]byte](e *encoder, at int, b T, zeros int) error {
	n := len(b) + zeros
	if n > maxList {
		return errList(n)
	}
	e.point(at, listPointer, listUpper(n, byteElements))
	// The words of the list are made from what there is to copy, without
	// clearing first what is overwritten then.
	end := len(e.b) + n
	e.b = append(slices.Grow(e.b, n+word), b...)
	e.zeros(end - len(e.b) + -n&(word-1))
	return nil
}

// listUpper is how a list pointer says the number of elements and their size.
func listUpper(n, elements int) uint32 { return uint32(n)<<3 | uint32(elements) } //nolint:gosec // at most 29 and 3 bits

// elements appends a list of n elements that are no structs, all zero, with a
// pointer to it at a place.
func (e *encoder) elements(at, n, bits, kind int) (int, error) {
	if n > maxList {
		return 0, errList(n)
	}
	e.point(at, listPointer, listUpper(n, kind))
	return e.zeros((n*bits + 63) / 64 * word), nil
}

// structs appends a list of n structs, all zero, with a pointer to it at a
// place, and returns where the first one is.
func (e *encoder) structs(at, n int, s size) (int, error) {
	if n > maxList || n > maxList/max(1, s.words()) {
		return 0, errList(n)
	}
	e.point(at, listPointer, listUpper(n*s.words(), compositeElements))
	tag := e.zeros(word * (1 + n*s.words()))
	order.PutUint32(e.b[tag:], uint32(n)<<2|structPointer) //nolint:gosec // at most 29 bits
	order.PutUint32(e.b[tag+4:], s.upper())
	return tag + word, nil
}

func (e *encoder) list(f *field, v reflect.Value, at int) error {
	if err := e.enter(); err != nil {
		return err
	}
	var err error
	switch f.kind {
	case schema.Struct, schema.Time, schema.Duration:
		err = e.structList(f, v, at)
	case schema.String, schema.Bytes, schema.Any:
		if at, err = e.elements(at, v.Len(), 8*word, pointerElements); err != nil {
			return err
		}
		for i := range v.Len() {
			if err := e.value(&f.value, v.Index(i), at+word*i); err != nil {
				return plain.AtIndex(i, err)
			}
		}
	default:
		err = e.numbers(f, v, at)
	}
	e.depth--
	return err
}

// elementSize is the size of structs in a list. One without fields gets a word
// all the same, as a later version of it may have, so that what claims many
// elements is long.
func elementSize(s size) size {
	if s.words() == 0 {
		s.data = 1
	}
	return s
}

func (e *encoder) structList(f *field, v reflect.Value, at int) error {
	s := seconds
	if f.kind == schema.Struct {
		s = elementSize(f.message.size)
	}
	at, err := e.structs(at, v.Len(), s)
	if err != nil {
		return err
	}
	for i := range v.Len() {
		if err := e.structElement(&f.value, v.Index(i), at+i*word*s.words()); err != nil {
			return plain.AtIndex(i, err)
		}
	}
	return nil
}

func (e *encoder) structElement(f *value, v reflect.Value, at int) error {
	if f.kind != schema.Struct {
		return e.seconds(f.kind, v, at)
	}
	v, err := plain.Struct(v)
	if err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return err
	}
	if err := e.fields(f.message, v, nil, at); err != nil {
		return err
	}
	e.depth--
	return nil
}

// numbers writes a list of numbers or bools. The most common ones go without
// reflection for each element.
func (e *encoder) numbers(f *field, v reflect.Value, at int) error {
	kind := eightByteElements
	switch f.bits {
	case 1:
		kind = bitElements
	case 32:
		kind = fourByteElements
	}
	at, err := e.elements(at, v.Len(), f.bits, kind)
	if err != nil {
		return err
	}
	if plain.PutNumbers(e.b[at:], v) {
		return nil
	}
	for i := range v.Len() {
		e.scalar(f.kind, v.Index(i), at, i*f.bits)
	}
	return nil
}

// mapField writes a map as a list of entries, sorted by key.
func (e *encoder) mapField(f *field, v reflect.Value, at int) error {
	if err := e.enter(); err != nil {
		return err
	}
	keys, err := plain.SortedKeys(v, f.entry.keyKind, f.entry.keyText)
	if err != nil {
		return err
	}
	s := f.entry.size
	if at, err = e.structs(at, len(keys), s); err != nil {
		return err
	}
	val := reflect.New(f.typ).Elem() // a map's own cannot be addressed, which values need
	for i, k := range keys {
		val.Set(v.MapIndex(k.Value))
		err := plain.ErrNilElement
		if val.Kind() != reflect.Pointer || !val.IsNil() {
			err = e.fields(&f.entry.structPlan, reflect.Value{}, &[2]reflect.Value{k.Written, val}, at+i*word*s.words())
		}
		if err != nil {
			return plain.AtKey(k.Written, err)
		}
	}
	e.depth--
	return nil
}
