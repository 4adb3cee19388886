package capnp

import (
	"reflect"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// reserve is how many structs memory is made for before they are read: they may
// be much larger than the words that they come from.
const reserve = 64

// list reads a list. Its elements may be larger than those of the field, since
// a later version of a schema may have made structs of them; see "Protocol
// Evolution" in Cap'n Proto's description of its language.
func (d *decoder) list(f *field, segment, at int, v reflect.Value) error {
	l, ok, err := d.listAt(segment, at)
	if !ok {
		return err
	}
	if err := d.enter(at); err != nil {
		return err
	}
	switch {
	case f.bits > 0:
		err = d.numbers(f, &l, at, v)
	case f.kind == schema.Struct, f.kind == schema.Time, f.kind == schema.Duration:
		err = d.structs(f, &l, at, v)
	default:
		err = d.pointers(f, &l, at, v)
	}
	d.depth--
	return err
}

func (d *decoder) structs(f *field, l *list, at int, v reflect.Value) error {
	if err := d.structList(l, at); err != nil {
		return err
	}
	v.Grow(min(l.n, reserve))
	for i := range l.n {
		v.Grow(1)
		v.SetLen(i + 1)
		if err := d.structure(&f.value, l.element(i), v.Index(i)); err != nil {
			return plain.AtIndex(i, err)
		}
	}
	return nil
}

// structList checks that a list can be one of structs, and counts what is made
// of them: a list of smaller elements may be read as one of structs.
func (d *decoder) structList(l *list, at int) error {
	switch l.elements {
	case compositeElements, pointerElements, eightByteElements, voidElements:
		return nil // one word or more, which has been counted, as a void has
	case bitElements:
		return d.errorf(at, "a list of bits where structs are needed")
	}
	return d.read(at, l.n)
}

func (d *decoder) pointers(f *field, l *list, at int, v reflect.Value) error {
	if l.pointers == 0 && l.n > 0 {
		return d.errorf(at, "a list of elements without pointers where pointers are needed")
	}
	v.Grow(l.n) // each is at least a word
	v.SetLen(l.n)
	for i := range l.n {
		s := l.element(i)
		if err := d.value(&f.value, s.segment, s.pointersAt, v.Index(i)); err != nil {
			return plain.AtIndex(i, err)
		}
	}
	return nil
}

// numbers reads a list of numbers or bools. The most common ones go without
// reflection for each element.
func (d *decoder) numbers(f *field, l *list, at int, v reflect.Value) error {
	if l.n == 0 {
		return nil
	}
	if l.bits < f.bits || (f.bits == 1) != (l.elements == bitElements) {
		return d.errorf(at, "a list of other elements where ones of %d bits are needed", f.bits)
	}
	if l.step == f.bits && plain.Numbers(d.data[l.at:], l.n, v) {
		return nil
	}
	v.Grow(l.n) // of which each is at most eight times its bits
	v.SetLen(l.n)
	for i := range l.n {
		if err := d.scalar(f.kind, l.at, i*l.step, v.Index(i)); err != nil {
			return plain.AtIndex(i, err)
		}
	}
	return nil
}

// mapField reads a list of entries, in whatever order they are.
func (d *decoder) mapField(f *field, segment, at int, v reflect.Value) error {
	l, ok, err := d.listAt(segment, at)
	if !ok {
		return err
	}
	if err := d.structList(&l, at); err != nil {
		return err
	}
	if err := d.enter(at); err != nil {
		return err
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), min(l.n, reserve)))
	for i := range l.n {
		s := l.element(i)
		key, val := reflect.New(f.entry.keyType).Elem(), reflect.New(f.typ).Elem()
		plain.Target(val) // an entry without a value has an empty one, not nil
		if err := d.entry(f.entry, s, key, val); err != nil {
			return err
		}
		if v.MapIndex(key).IsValid() {
			return plain.AtKey(key, plain.From(s.at, plain.ErrSameKey))
		}
		v.SetMapIndex(key, val)
	}
	d.depth--
	return nil
}

// entry reads an entry into the key and the value of a map.
func (d *decoder) entry(e *entry, s structure, key, val reflect.Value) error {
	if !e.keyText {
		return d.fields(&e.structPlan, s, reflect.Value{}, &[2]reflect.Value{key, val})
	}
	var text string
	if err := d.fields(&e.structPlan, s, reflect.Value{}, &[2]reflect.Value{reflect.ValueOf(&text).Elem(), val}); err != nil {
		return err
	}
	if err := plain.SetString(key, true, []byte(text)); err != nil {
		return plain.From(s.at, plain.AtKey(text, err))
	}
	return nil
}
