package avro

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
)

// A readFunc reads one value into v, which is zero and can be addressed.
type readFunc func(d *decoder, v reflect.Value) error

// A resolver works out how values of a writer's schema are read into Go values:
// "Schema Resolution" in the specification. What was written with the schema of
// our own message is one case of it.
type resolver map[resolving]*readFunc

// resolving is a record that is read into a struct; both may be recursive.
type resolving struct {
	written *avsc.Type
	message *message
}

// mismatch is the error for types that do not fit.
func mismatch(w *avsc.Type, f *field) error {
	return fmt.Errorf("the writer's %s cannot be read into the Go type %s", w, f.typ)
}

// field resolves a field of a struct.
func (r resolver) field(w *avsc.Type, f *field) (readFunc, error) {
	switch {
	case w.Kind == avsc.Union:
		return r.union(w, func(b *avsc.Type) (readFunc, error) {
			if b.Kind == avsc.Null { // absent, and zero if there is no absence
				return func(*decoder, reflect.Value) error { return nil }, nil
			}
			return r.field(b, f)
		})
	case f.repeated:
		if w.Kind != avsc.Array {
			return nil, mismatch(w, f)
		}
		return r.array(w.Elem, f)
	case f.key != nil:
		if w.Kind != avsc.Map {
			return nil, mismatch(w, f)
		}
		return r.mapField(w.Elem, f)
	}
	read, err := r.element(w, f)
	if err != nil || !f.scalar {
		return read, err
	}
	return func(d *decoder, v reflect.Value) error { return read(d, plain.Target(v)) }, nil
}

// union resolves the branches of a writer's union. One that does not fit is an
// error when it comes, if another one fits.
func (r resolver) union(w *avsc.Type, resolve func(*avsc.Type) (readFunc, error)) (readFunc, error) {
	reads := make([]readFunc, len(w.Branches))
	var first error
	fits := false
	for i, b := range w.Branches {
		read, err := resolve(b)
		if err != nil {
			if first == nil {
				first = err
			}
			read = func(d *decoder, _ reflect.Value) error { return d.errorf(d.pos, "%v", err) }
		}
		fits = fits || err == nil && b.Kind != avsc.Null
		reads[i] = read
	}
	if !fits && first != nil {
		return nil, first
	}
	return func(d *decoder, v reflect.Value) error {
		i, err := d.branch(len(reads))
		if err != nil {
			return err
		}
		return reads[i](d, v)
	}, nil
}

// element resolves one value that is no list and no map.
func (r resolver) element(w *avsc.Type, f *field) (readFunc, error) {
	if w.Kind == avsc.Union {
		return r.union(w, func(b *avsc.Type) (readFunc, error) { return r.element(b, f) })
	}
	var read readFunc
	switch f.kind {
	case schema.Struct:
		return r.record(w, f)
	case schema.Time, schema.Duration:
		return r.secondsNanos(w, f)
	case schema.Bool:
		if w.Kind == avsc.Boolean {
			read = func(d *decoder, v reflect.Value) error {
				b, err := d.bool()
				v.SetBool(b)
				return err
			}
		}
	case schema.Int32, schema.Int64, schema.Uint32, schema.Uint64:
		read = integer(w, f.kind)
	case schema.Float32, schema.Float64:
		read = number(w, f.kind)
	default:
		read = characters(w, f)
	}
	if read == nil {
		return nil, mismatch(w, f)
	}
	return func(d *decoder, v reflect.Value) error {
		start := d.pos
		if err := read(d, v); err != nil {
			return plain.From(start, err)
		}
		return nil
	}, nil
}

// integer reads an int, and a long where that is what our own schema has.
func integer(w *avsc.Type, kind schema.Kind) readFunc {
	read := (*decoder).int
	switch {
	case w.Kind == avsc.Long && kind != schema.Int32:
		read = (*decoder).long
	case w.Kind != avsc.Int:
		return nil
	}
	set := plain.SetInt
	if kind == schema.Uint32 || kind == schema.Uint64 {
		set = plain.SetSigned
	}
	return func(d *decoder, v reflect.Value) error {
		n, err := read(d)
		if err != nil {
			return err
		}
		return set(v, n)
	}
}

// number reads a float, and whatever the specification promotes to it.
func number(w *avsc.Type, kind schema.Kind) readFunc {
	var read func(d *decoder) (float64, error)
	switch {
	case w.Kind == avsc.Int:
		read = func(d *decoder) (float64, error) { n, err := d.int(); return float64(n), err }
	case w.Kind == avsc.Long:
		read = func(d *decoder) (float64, error) { n, err := d.long(); return float64(n), err }
	case w.Kind == avsc.Float:
		read = (*decoder).float
	case w.Kind == avsc.Double && kind == schema.Float64:
		read = (*decoder).double
	default:
		return nil
	}
	return func(d *decoder, v reflect.Value) error {
		n, err := read(d)
		if err != nil {
			return err
		}
		return plain.SetFloat(v, n)
	}
}

// characters reads strings and bytes, which the specification promotes to each
// other. A plain struct has no enums and no arrays of bytes: there a symbol is a
// string, and a fixed is bytes.
func characters(w *avsc.Type, f *field) readFunc {
	var read func(d *decoder) ([]byte, error)
	switch {
	case w.Kind == avsc.String || w.Kind == avsc.Bytes:
		read = (*decoder).bytes
	case w.Kind == avsc.Fixed && f.kind == schema.Bytes:
		read = func(d *decoder) ([]byte, error) { return d.take(w.Size) }
	case w.Kind == avsc.Enum && f.kind == schema.String:
		read = func(d *decoder) ([]byte, error) {
			i, err := d.branch(len(w.Symbols))
			if err != nil {
				return nil, err
			}
			return []byte(w.Symbols[i]), nil
		}
	default:
		return nil
	}
	return func(d *decoder, v reflect.Value) error {
		b, err := read(d)
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
}

// sameRecord reports whether records have one name, of which the specification
// compares the last part.
func sameRecord(a, b string) bool {
	return a[strings.LastIndexByte(a, '.')+1:] == b[strings.LastIndexByte(b, '.')+1:]
}

// A step reads one field of a writer's record, or passes over it.
type step struct {
	name  string
	index int
	read  readFunc
	skip  *avsc.Type
}

// record resolves a record whose fields are matched by name with a struct's. Those
// that the struct does not have are skipped, those that the writer does not have
// are zero.
func (r resolver) record(w *avsc.Type, f *field) (readFunc, error) {
	if w.Kind != avsc.Record || !sameRecord(w.Name, f.message.name) {
		return nil, mismatch(w, f)
	}
	key := resolving{w, f.message}
	if known := r[key]; known != nil {
		return func(d *decoder, v reflect.Value) error { return (*known)(d, v) }, nil
	}
	read := new(readFunc)
	r[key] = read
	steps := make([]step, len(w.Fields))
	var seen []*field
	for i, wf := range w.Fields {
		steps[i] = step{name: wf.Name, skip: wf.Type}
		own := f.message.byName[wf.Name]
		if own == nil {
			continue
		}
		if slices.Contains(seen, own) {
			return nil, fmt.Errorf("two fields of the writer's %s are the field %s", w, own.name)
		}
		seen = append(seen, own)
		one, err := r.field(wf.Type, own)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", wf.Name, err)
		}
		steps[i].index, steps[i].read = own.index, one
	}
	*read = func(d *decoder, v reflect.Value) error {
		if err := d.enter(); err != nil {
			return err
		}
		v = plain.Target(v)
		for i := range steps {
			s := &steps[i]
			var err error
			if s.read != nil {
				err = s.read(d, v.Field(s.index))
			} else {
				err = d.skip(s.skip)
			}
			if err != nil {
				return plain.At(s.name, err)
			}
		}
		d.depth--
		return nil
	}
	return *read, nil
}

// secondsNanos resolves the record of a time or a duration.
func (r resolver) secondsNanos(w *avsc.Type, f *field) (readFunc, error) {
	name := avsc.TimestampName
	if f.kind == schema.Duration {
		name = avsc.DurationName
	}
	if w.Kind != avsc.Record || !sameRecord(w.Name, name) {
		return nil, mismatch(w, f)
	}
	for _, wf := range w.Fields {
		if (wf.Name == "seconds" || wf.Name == "nanos") && wf.Type.Kind != avsc.Int && wf.Type.Kind != avsc.Long {
			return nil, fmt.Errorf("%s: the writer's %s is no integer", wf.Name, wf.Type)
		}
	}
	return func(d *decoder, v reflect.Value) error {
		start := d.pos
		var seconds, nanos int64
		for i := range w.Fields {
			var err error
			switch w.Fields[i].Name {
			case "seconds":
				seconds, err = d.long()
			case "nanos":
				nanos, err = d.int()
			default:
				err = d.skip(w.Fields[i].Type)
			}
			if err != nil {
				return err
			}
		}
		if err := plain.SetSeconds(f.kind, v, seconds, int32(nanos)); err != nil { //nolint:gosec // checked
			return plain.From(start, err)
		}
		return nil
	}, nil
}
