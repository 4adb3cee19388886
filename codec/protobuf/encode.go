package protobuf

import (
	"encoding"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/schema"
)

// message writes the fields of the struct at m, without a length before them.
func (e *encoder) message(p *plan, m unsafe.Pointer, depth int) error {
	if depth > schema.MaxDepth {
		return errDepth
	}
	if p.keeps {
		if err := e.unknown(*(*[]byte)(unsafe.Add(m, p.unknown))); err != nil {
			return err
		}
	}
	for i := len(p.fields) - 1; i >= 0; i-- {
		f := &p.fields[i]
		if err := e.field(f, unsafe.Add(m, f.offset), depth); err != nil {
			return at(f.name, err)
		}
	}
	return nil
}

// unknown writes records that were kept.
func (e *encoder) unknown(records []byte) error {
	for rest := records; len(rest) > 0; {
		number, wire, n := consumeTag(rest)
		if n > 0 {
			rest = rest[n:]
			n = protowire.ConsumeFieldValue(number, wire, rest)
		}
		if n < 0 {
			return fmt.Errorf("the unknown fields that the message keeps: %w", parseError(n))
		}
		rest = rest[n:]
	}
	e.raw(records)
	return nil
}

// field writes the records of one field. A value that is what a missing field
// is decoded as is not written.
func (e *encoder) field(f *field, v unsafe.Pointer, depth int) error {
	switch f.shape {
	case optional:
		if v = *(*unsafe.Pointer)(v); v == nil {
			return nil
		}
		if err := e.element(f, v, depth); err != nil {
			return err
		}
		e.head(f)
		return nil
	case list:
		return e.list(f, (*slice)(v), depth+1)
	case mapping:
		return e.mapField(f, v, depth+1)
	}
	switch f.form {
	case formBool:
		if !*(*bool)(v) {
			return nil
		}
		e.byte(1)
	case formInt32:
		x := *(*int32)(v)
		if x == 0 {
			return nil
		}
		e.varint(uint64(x))
	case formInt64, formUint64:
		x := *(*uint64)(v)
		if x == 0 {
			return nil
		}
		e.varint(x)
	case formFloat32:
		x := math.Float32bits(*(*float32)(v)) // -0 is written
		if x == 0 {
			return nil
		}
		e.fixed32(x)
	case formFloat64:
		x := math.Float64bits(*(*float64)(v))
		if x == 0 {
			return nil
		}
		e.fixed64(x)
	case formString:
		s := *(*string)(v)
		if s == "" {
			return nil
		}
		if err := e.str(s); err != nil {
			return err
		}
	case formBytes:
		b := *(*[]byte)(v)
		if len(b) == 0 {
			return nil
		}
		e.lengthAndBytes(b)
	case formText:
		start := e.len()
		if err := e.text(f, v); err != nil {
			return err
		}
		if e.len() == start+1 {
			// The text is empty, which is how proto3 writes an absent string.
			e.pos++
			return nil
		}
	case formStruct: // always there
		if err := e.nested(f, v, depth+1); err != nil {
			return err
		}
	default:
		if f.absent(v) {
			return nil
		}
		if err := e.element(f, v, depth); err != nil {
			return err
		}
	}
	e.head(f)
	return nil
}

// absent reports whether v is what a missing field is decoded as, for the forms
// where [encoder.field] does not see it on the way.
func (f *field) absent(v unsafe.Pointer) bool {
	switch f.form {
	case formTime:
		return (*time.Time)(v).IsZero()
	case formDuration:
		return *(*time.Duration)(v) == 0
	case formStructPointer, formProto, formDocumentPointer:
		return *(*unsafe.Pointer)(v) == nil
	case formAny:
		return *(*any)(v) == nil
	case formDocument:
		return (*schema.Document)(v).Value == nil
	default:
		return f.integer(v) == 0
	}
}

// integer returns the integer at v as its varint.
func (f *field) integer(v unsafe.Pointer) uint64 {
	switch f.form {
	case formInt8:
		return uint64(*(*int8)(v))
	case formInt16:
		return uint64(*(*int16)(v))
	case formInt32:
		return uint64(*(*int32)(v))
	case formUint8:
		return uint64(*(*uint8)(v))
	case formUint16:
		return uint64(*(*uint16)(v))
	case formUint32:
		return uint64(*(*uint32)(v))
	default:
		return *(*uint64)(v)
	}
}

// list writes a list, of which each element counts as one level.
func (e *encoder) list(f *field, s *slice, depth int) error {
	if s.len == 0 {
		return nil
	}
	if depth > schema.MaxDepth {
		return errDepth
	}
	start := e.len()
	if f.form == formInt64 {
		for _, x := range slices.Backward(*(*[]int64)(unsafe.Pointer(s))) {
			e.varint(uint64(x))
		}
	} else {
		for i := s.len - 1; i >= 0; i-- {
			if err := e.element(f, s.at(i, f.size), depth); err != nil {
				return atIndex(i, err)
			}
			if !f.packed {
				e.head(f)
			}
		}
	}
	if f.packed {
		e.varint(uint64(e.len() - start))
		e.head(f)
	}
	return nil
}

// element writes one value, with its length if it has one, without a tag.
func (e *encoder) element(f *field, v unsafe.Pointer, depth int) error {
	switch {
	case f.form < formText:
		return e.scalar(f, v)
	case f.form == formText:
		return e.text(f, v)
	default:
		return e.nested(f, v, depth+1)
	}
}

// scalar is element for the forms before formText. It is a function of its own
// since it lets go of v: what v points at need not be on the heap.
func (e *encoder) scalar(f *field, v unsafe.Pointer) error {
	switch f.form {
	case formBool:
		e.byte(byte(protowire.EncodeBool(*(*bool)(v))))
	case formFloat32:
		e.fixed32(math.Float32bits(*(*float32)(v)))
	case formFloat64:
		e.fixed64(math.Float64bits(*(*float64)(v)))
	case formString:
		return e.str(*(*string)(v))
	case formBytes:
		e.lengthAndBytes(*(*[]byte)(v))
	case formTime:
		return e.time(*(*time.Time)(v))
	case formDuration:
		d := *(*time.Duration)(v)
		e.secondsNanos(int64(d/time.Second), int64(d%time.Second))
	default:
		e.varint(f.integer(v))
	}
	return nil
}

// nested writes a message with its length.
func (e *encoder) nested(f *field, v unsafe.Pointer, depth int) error {
	start := e.len()
	switch f.form {
	case formStruct:
		if err := e.message(f.message, v, depth); err != nil {
			return err
		}
	case formStructPointer:
		if v = *(*unsafe.Pointer)(v); v == nil {
			return errNilElement
		}
		if err := e.message(f.message, v, depth); err != nil {
			return err
		}
	case formProto:
		if *(*unsafe.Pointer)(v) == nil {
			return errNilElement
		}
		m := f.pointerAt(v).Elem().Interface().(proto.Message)
		if err := checkDepth(m, schema.MaxDepth-depth+1); err != nil {
			return err
		}
		b, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		e.raw(b)
	default:
		value, ok := f.document(v)
		if !ok {
			return errNilElement
		}
		if err := e.document(value, depth); err != nil {
			return err
		}
	}
	e.varint(uint64(e.len() - start))
	return nil
}

// document returns what the any, Document or *Document at v holds, and false
// for a nil *Document.
func (f *field) document(v unsafe.Pointer) (any, bool) {
	switch f.form {
	case formAny:
		return *(*any)(v), true
	case formDocument:
		return (*schema.Document)(v).Value, true
	}
	d := *(**schema.Document)(v)
	if d == nil {
		return nil, false
	}
	return d.Value, true
}

func (e *encoder) text(f *field, v unsafe.Pointer) error {
	b, err := f.pointerAt(v).Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return errUTF8
	}
	e.lengthAndBytes(b)
	return nil
}
