package protobuf

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/schema"
)

// decode merges the fields of data into the struct at m.
func (p *plan) decode(m unsafe.Pointer, data []byte, depth int) error {
	if depth > schema.MaxDepth {
		return errDepth
	}
	for len(data) > 0 {
		number, wire, tagSize := consumeTag(data)
		if tagSize < 0 {
			return parseError(tagSize)
		}
		f := p.field(number)
		// As in generated code, a record whose wire type does not fit the
		// field is an unknown one.
		if f == nil || !f.accepts(wire) {
			n, err := skip(number, wire, data[tagSize:])
			if err != nil {
				return err
			}
			n += tagSize
			if p.keeps {
				kept := (*[]byte)(unsafe.Add(m, p.unknown))
				*kept = append(*kept, data[:n]...)
			}
			data = data[n:]
			continue
		}
		data = data[tagSize:]
		n, err := f.decode(unsafe.Add(m, f.offset), wire, data, depth)
		if err != nil {
			return at(f.name, err)
		}
		data = data[n:]
	}
	return nil
}

// consumeTag is protowire.ConsumeTag, which lets field numbers pass that are too
// large.
func consumeTag(data []byte) (protowire.Number, protowire.Type, int) {
	if len(data) > 0 && data[0] < 0x80 && data[0] >= 1<<3 {
		return protowire.Number(data[0] >> 3), protowire.Type(data[0] & 7), 1
	}
	number, wire, n := protowire.ConsumeTag(data)
	if n > 0 && number > protowire.MaxValidNumber {
		return 0, 0, badNumber
	}
	return number, wire, n
}

// consumeBytes is protowire.ConsumeBytes, but quicker for short ones.
func consumeBytes(data []byte) ([]byte, int) {
	if len(data) > 0 && int(data[0]) < min(0x80, len(data)) {
		n := int(data[0]) + 1
		return data[1:n], n
	}
	return protowire.ConsumeBytes(data)
}

// skip returns the length of the value that data begins with.
func skip(number protowire.Number, wire protowire.Type, data []byte) (int, error) {
	n := protowire.ConsumeFieldValue(number, wire, data)
	if n < 0 {
		return 0, parseError(n)
	}
	return n, nil
}

// badNumber stands beside protowire's own negative codes.
const badNumber = -100

func parseError(n int) error {
	if n == badNumber {
		return errors.New("invalid field number")
	}
	err := protowire.ParseError(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the input ends in the middle of a value")
	}
	// The protobuf module puts a no-break space into its errors at random.
	return errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: "))
}

func (f *field) accepts(wire protowire.Type) bool {
	return wire == f.wire || f.shape == list && wire == protowire.BytesType
}

// decode reads one record of the field at v and returns its length.
func (f *field) decode(v unsafe.Pointer, wire protowire.Type, data []byte, depth int) (int, error) {
	switch f.shape {
	case optional:
		at := (*unsafe.Pointer)(v)
		if *at == nil {
			*at = reflect.New(f.typ).UnsafePointer()
		}
		v = *at
	case list:
		if depth+1 > schema.MaxDepth {
			return 0, errDepth
		}
		if f.packed && wire == protowire.BytesType {
			list, n := consumeBytes(data)
			if n < 0 {
				return 0, parseError(n)
			}
			return n, f.packedList(v, list)
		}
		i := (*slice)(v).len
		n, err := f.element(f.extend(v), data, depth+1)
		if err != nil {
			return 0, atIndex(i, err)
		}
		return n, nil
	case mapping:
		entry, n := consumeBytes(data)
		if n < 0 {
			return 0, parseError(n)
		}
		return n, f.mapEntry(v, entry, depth+1)
	}
	return f.element(v, data, depth)
}

// extend makes the list at v longer by a zero element and returns that.
func (f *field) extend(v unsafe.Pointer) unsafe.Pointer {
	s := (*slice)(v)
	if s.len == s.cap {
		f.grow(v, 1)
	}
	s.len++
	return s.at(s.len-1, f.size) // never used before, so zero
}

func (f *field) grow(v unsafe.Pointer, n int) { reflect.NewAt(f.whole, v).Elem().Grow(n) }

func (f *field) packedList(v unsafe.Pointer, list []byte) error {
	count := len(list)
	switch f.wire {
	case protowire.Fixed32Type:
		count /= 4
	case protowire.Fixed64Type:
		count /= 8
	default:
		count = 0
		for _, b := range list {
			if b < 0x80 { // the last byte of a varint
				count++
			}
		}
	}
	f.grow(v, count) // at most one element for each byte of input
	switch {
	case f.form == formInt64:
		return varints((*[]int64)(v), list)
	case f.form == formUint64:
		return varints((*[]uint64)(v), list)
	case f.form == formInt32 && !f.wide:
		return varints((*[]int32)(v), list)
	case f.form == formUint32 && !f.wide:
		return varints((*[]uint32)(v), list)
	}
	for len(list) > 0 {
		i := (*slice)(v).len
		n, err := f.scalar(f.extend(v), list)
		if err != nil {
			return atIndex(i, err)
		}
		list = list[n:]
	}
	return nil
}

func varints[T int32 | int64 | uint32 | uint64](to *[]T, list []byte) error {
	values := *to
	for len(list) > 0 {
		x, n := uint64(list[0]), 1
		if x >= 0x80 {
			if x, n = protowire.ConsumeVarint(list); n < 0 {
				return atIndex(len(values), parseError(n))
			}
		}
		values = append(values, T(x))
		list = list[n:]
	}
	*to = values
	return nil
}

// element reads one value, whose wire type is f.wire, to where v points and
// returns its length.
func (f *field) element(v unsafe.Pointer, data []byte, depth int) (int, error) {
	if f.form < formText {
		return f.scalar(v, data)
	}
	b, n := consumeBytes(data)
	if n < 0 {
		return 0, parseError(n)
	}
	switch f.form {
	case formStruct:
		return n, f.message.decode(v, b, depth+1)
	case formStructPointer:
		at := (*unsafe.Pointer)(v)
		if *at == nil {
			*at = reflect.New(f.typ.Elem()).UnsafePointer()
		}
		return n, f.message.decode(*at, b, depth+1)
	case formText:
		return n, f.readText(v, b)
	case formProto:
		o := proto.UnmarshalOptions{Merge: true, RecursionLimit: schema.MaxDepth - depth}
		if o.RecursionLimit <= 0 { // which would mean the default
			return 0, errDepth
		}
		m := f.pointerAt(v).Elem()
		if m.IsNil() {
			m.Set(reflect.New(f.typ.Elem()))
		}
		return n, o.Unmarshal(b, m.Interface().(proto.Message))
	}
	to := f.documentAt(v)
	value, err := decodeValue(*to, b, depth+1)
	*to = value
	return n, err
}

// documentAt returns where the value of the any, Document or *Document at v is;
// the last is made if need be.
func (f *field) documentAt(v unsafe.Pointer) *any {
	switch f.form {
	case formAny:
		return (*any)(v)
	case formDocument:
		return &(*schema.Document)(v).Value
	}
	at := (**schema.Document)(v)
	if *at == nil {
		*at = new(schema.Document)
	}
	return &(*at).Value
}

// scalar is element for the forms before formText, see [encoder.scalar].
func (f *field) scalar(v unsafe.Pointer, data []byte) (int, error) {
	switch f.wire {
	case protowire.VarintType:
		if len(data) > 0 && data[0] < 0x80 {
			return 1, f.setVarint(v, uint64(data[0]))
		}
		x, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return 0, parseError(n)
		}
		return n, f.setVarint(v, x)
	case protowire.Fixed32Type:
		x, n := protowire.ConsumeFixed32(data)
		if n < 0 {
			return 0, parseError(n)
		}
		*(*float32)(v) = math.Float32frombits(x)
		return n, nil
	case protowire.Fixed64Type:
		x, n := protowire.ConsumeFixed64(data)
		if n < 0 {
			return 0, parseError(n)
		}
		*(*float64)(v) = math.Float64frombits(x)
		return n, nil
	}
	b, n := consumeBytes(data)
	if n < 0 {
		return 0, parseError(n)
	}
	switch f.form {
	case formString:
		if !utf8.Valid(b) {
			return 0, errUTF8
		}
		*(*string)(v) = string(b)
		return n, nil
	case formBytes:
		*(*[]byte)(v) = append([]byte(nil), b...)
		return n, nil
	case formTime:
		return n, readTime((*time.Time)(v), b)
	default:
		return n, readDuration((*time.Duration)(v), b)
	}
}

// setVarint sets an integer or bool. As in all of protobuf, a varint of more
// than 32 bits loses its upper ones in a 32-bit field; but what then does not
// fit a Go type narrower than the protobuf type is an error.
func (f *field) setVarint(v unsafe.Pointer, x uint64) error {
	switch f.form {
	case formBool:
		*(*bool)(v) = protowire.DecodeBool(x)
	case formInt64:
		*(*int64)(v) = int64(x)
	case formUint64:
		*(*uint64)(v) = x
	case formInt32:
		*(*int32)(v) = int32(x)
		if f.wide && int64(x) != int64(int32(x)) {
			return f.misfit(int64(x))
		}
	case formUint32:
		*(*uint32)(v) = uint32(x)
		if f.wide && x != uint64(uint32(x)) {
			return f.misfit(x)
		}
	case formInt8:
		*(*int8)(v) = int8(x)
		if int32(x) != int32(int8(x)) {
			return f.misfit(int32(x))
		}
	case formInt16:
		*(*int16)(v) = int16(x)
		if int32(x) != int32(int16(x)) {
			return f.misfit(int32(x))
		}
	case formUint8:
		*(*uint8)(v) = uint8(x)
		if uint32(x) != uint32(uint8(x)) {
			return f.misfit(uint32(x))
		}
	case formUint16:
		*(*uint16)(v) = uint16(x)
		if uint32(x) != uint32(uint16(x)) {
			return f.misfit(uint32(x))
		}
	}
	return nil
}

func (f *field) misfit(x any) error { return fmt.Errorf("%d does not fit %s", x, f.typ) }

func (f *field) readText(v unsafe.Pointer, b []byte) error {
	if !utf8.Valid(b) {
		return errUTF8
	}
	to := f.pointerAt(v)
	to.Elem().SetZero()
	if len(b) == 0 { // how proto3 writes the zero value
		return nil
	}
	// A copy, so that a careless type keeps no part of the input.
	return to.Interface().(encoding.TextUnmarshaler).UnmarshalText(bytes.Clone(b))
}
