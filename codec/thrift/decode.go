package thrift

import (
	"bytes"
	"reflect"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// reserve is for how many structs memory is reserved before they are read: one
// that is empty takes a byte.
const reserve = 64

// message reads a struct into v, which is zero.
func (d *decoder) message(p *plan, v reflect.Value) error {
	if err := d.enter(); err != nil {
		return err
	}
	var (
		seen members.Ordinals
		last int16
		next int // the field that most likely comes next
	)
	for {
		start := d.pos
		t, id, value, err := d.fieldHeader(last)
		if err != nil {
			return err
		}
		if t == typeStop {
			d.depth--
			return nil
		}
		last = id
		var f *field
		if next < len(p.fields) && p.fields[next].id == id {
			f = &p.fields[next]
		} else {
			f = p.byID[id]
		}
		if f == nil || f.wire != t {
			if err := d.skipField(t); err != nil {
				return err
			}
			continue
		}
		next = f.ordinal + 1
		if !seen.Add(f.ordinal) {
			return plain.At(f.name, d.errorf(start, "the field occurs twice"))
		}
		fv := v.Field(f.index)
		if f.scalar {
			fv = plain.Target(fv)
		}
		if t == typeBool && d.compact {
			fv.SetBool(value)
		} else if err := d.field(f, fv); err != nil {
			return plain.At(f.name, err)
		}
	}
}

func (d *decoder) field(f *field, v reflect.Value) error {
	switch f.wire {
	case typeList:
		return d.listField(f, v)
	case typeMap:
		return d.mapField(f, v)
	}
	return d.element(f, v)
}

func (d *decoder) listField(f *field, v reflect.Value) error {
	if err := d.enter(); err != nil {
		return err
	}
	start := d.pos
	elem, n, err := d.listHeader()
	if err != nil {
		return err
	}
	if n > 0 {
		if elem != f.elem {
			return d.errorf(start, "a list of %v where one of %v is needed", elem, f.elem)
		}
		if err := f.list.read(d, v, n); err != nil {
			return err
		}
	}
	d.depth--
	return nil
}

func (d *decoder) mapField(f *field, v reflect.Value) error {
	if err := d.enter(); err != nil {
		return err
	}
	start := d.pos
	k, e, n, err := d.mapHeader()
	if err != nil {
		return err
	}
	if n > 0 && (k != f.key.elem || e != f.elem) {
		return d.errorf(start, "a map from %v to %v where one from %v to %v is needed", k, e, f.key.elem, f.elem)
	}
	if n > 0 {
		v.Set(reflect.MakeMapWithSize(v.Type(), min(n, reserve)))
	}
	for i := range n {
		start := d.pos
		key := reflect.New(f.key.typ).Elem()
		if err := d.element(f.key, key); err != nil {
			return err
		}
		value := reflect.New(f.typ).Elem()
		if err := d.element(f, value); err != nil {
			return plain.AtKey(key, err)
		}
		if v.SetMapIndex(key, value); v.Len() == i {
			return plain.AtKey(key, plain.From(start, plain.ErrSameKey))
		}
	}
	d.depth--
	return nil
}

// element reads one value into v, which is zero and can be addressed.
func (d *decoder) element(f *field, v reflect.Value) error {
	start := d.pos
	if err := d.value(f, v); err != nil {
		return plain.From(start, err)
	}
	return nil
}

func (d *decoder) value(f *field, v reflect.Value) error {
	switch f.kind {
	case schema.Bool:
		b, err := d.bool()
		v.SetBool(b)
		return err
	case schema.Int32:
		n, err := d.i32()
		if err != nil {
			return err
		}
		return plain.SetInt(v, int64(n))
	case schema.Int64:
		n, err := d.i64()
		if err != nil {
			return err
		}
		return plain.SetInt(v, n)
	case schema.Uint32, schema.Uint64:
		n, err := d.i64()
		if err != nil {
			return err
		}
		return plain.SetSigned(v, n)
	case schema.Float32, schema.Float64:
		n, err := d.double()
		if err != nil {
			return err
		}
		return plain.SetFloat(v, n)
	case schema.Time, schema.Duration:
		seconds, nanos, err := d.secondsNanos()
		if err != nil {
			return err
		}
		return plain.SetSeconds(f.kind, v, seconds, nanos)
	case schema.Struct:
		return d.message(f.message, plain.Target(v))
	}
	b, err := d.bytes()
	if err != nil {
		return err
	}
	switch f.kind {
	case schema.Bytes:
		v.SetBytes(bytes.Clone(b))
		return nil
	case schema.Any:
		return plain.SetDocument(v, b)
	default:
		return plain.SetString(v, f.text, b)
	}
}

// secondsNanos reads the struct that a time and a duration both are. A part that
// is missing is zero.
func (d *decoder) secondsNanos() (seconds int64, nanos int32, err error) {
	if err := d.enter(); err != nil {
		return 0, 0, err
	}
	for last := int16(0); ; {
		t, id, _, err := d.fieldHeader(last)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case t == typeStop:
			d.depth--
			return seconds, nanos, nil
		case id == 1 && t == typeI64:
			seconds, err = d.i64()
		case id == 2 && t == typeI32:
			nanos, err = d.i32()
		default:
			err = d.skipField(t)
		}
		if err != nil {
			return 0, 0, err
		}
		last = id
	}
}
