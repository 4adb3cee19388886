package msgpack

import (
	"bytes"
	"encoding"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/schema"
)

// message reads a map into a plain struct, which is zero.
func (d *decoder) message(p *structPlan, v reflect.Value) error {
	n, err := d.object()
	if err != nil {
		return err
	}
	var (
		seen    members.Ordinals
		unknown members.Names
		next    int // the field that most likely comes next
	)
	for range n {
		start := d.pos
		var f *field
		if next < len(p.fields) && bytes.HasPrefix(d.data[start:], p.fields[next].encoded) {
			f = p.fields[next]
			d.pos += len(f.encoded)
		} else {
			key, _, err := d.key()
			if err != nil {
				return err
			}
			if f = p.byName[string(key)]; f == nil {
				if !unknown.Add(key) {
					return d.duplicate(start)
				}
				if err := d.Skip(); err != nil {
					return at(short(string(key)), err)
				}
				continue
			}
		}
		next = f.ordinal + 1
		if !seen.Add(f.ordinal) {
			return d.duplicate(start)
		}
		if err := d.field(f, v.Field(f.index)); err != nil {
			return at(f.name, err)
		}
	}
	d.depth--
	return nil
}

func (d *decoder) field(f *field, v reflect.Value) error {
	if !f.keepsNil && d.null() {
		return nil
	}
	switch {
	case f.single:
		return d.element(f, v)
	case f.optional:
		v.Set(reflect.New(f.typ))
		return d.element(f, v.Elem())
	case f.key != nil:
		return d.mapField(f, v)
	}
	n, err := d.array()
	if err != nil {
		return err
	}
	err = f.list.read(d, v, n)
	d.depth--
	return err
}

func (d *decoder) mapField(f *field, v reflect.Value) error {
	n, err := d.object()
	if err != nil {
		return err
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), min(n, reserve)))
	for range n {
		start := d.pos
		key := reflect.New(f.key.typ).Elem()
		if err := d.mapKey(f.key, key); err != nil {
			return err
		}
		if v.MapIndex(key).IsValid() {
			d.pos = start
			return atKey(key, d.errorf("the key occurs twice"))
		}
		value := reflect.New(f.typ).Elem()
		if err := d.element(f, value); err != nil {
			return atKey(key, err)
		}
		v.SetMapIndex(key, value)
	}
	d.depth--
	return nil
}

// mapKey reads a key. Integers and bools are accepted as text too, which is
// what JSON makes of them.
func (d *decoder) mapKey(f *field, v reflect.Value) error {
	if f.kind != schema.Bool {
		return d.element(f, v)
	}
	b, err := d.boolKey()
	v.SetBool(b)
	return err
}

func (d *decoder) boolKey() (bool, error) {
	h, err := d.peek()
	if err != nil || !h.text() {
		return d.Bool()
	}
	start := d.pos
	s, err := d.Str()
	if err != nil {
		return false, err
	}
	if t := string(s); t == "true" || t == "false" {
		return t == "true", nil
	}
	d.pos = start
	return false, d.errorf("%q where a bool is needed", short(string(s)))
}

// element reads one value into v, which is zero.
func (d *decoder) element(f *field, v reflect.Value) error {
	switch f.kind {
	case schema.Bool:
		b, err := d.Bool()
		v.SetBool(b)
		return err
	case schema.Int32, schema.Int64:
		n, err := d.int(f.bits, f.typeName)
		v.SetInt(n)
		return err
	case schema.Uint32, schema.Uint64:
		n, err := d.uint(f.bits, f.typeName)
		v.SetUint(n)
		return err
	case schema.Float32, schema.Float64:
		n, err := d.float(f.bits)
		v.SetFloat(n)
		return err
	case schema.String:
		if f.text {
			return d.text(v)
		}
		s, err := d.Str()
		v.SetString(string(s))
		return err
	case schema.Bytes:
		b, err := d.bytes()
		v.SetBytes(b)
		return err
	case schema.Time:
		t, err := d.time()
		*v.Addr().Interface().(*time.Time) = t
		return err
	case schema.Duration:
		t, err := d.duration()
		v.SetInt(int64(t))
		return err
	case schema.Struct:
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		return d.message(f.message, v)
	case schema.Proto:
		v.Set(reflect.New(v.Type().Elem()))
		return d.generated(v.Interface().(proto.Message))
	default: // Any
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			v = v.Field(0)
		}
		value, err := d.any()
		if value != nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	}
}

func (d *decoder) text(v reflect.Value) error {
	start := d.pos
	s, err := d.Str()
	if err != nil {
		return err
	}
	// A copy, so that a careless type keeps no part of the input.
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(bytes.Clone(s)); err != nil {
		d.pos = start
		return d.errorf("%v", err)
	}
	return nil
}
