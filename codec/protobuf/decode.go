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

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// decodeMessage merges the fields of data into the struct v.
func decodeMessage(p *plan, v reflect.Value, data []byte, depth int) error {
	if depth > schema.MaxDepth {
		return errDepth
	}
	for len(data) > 0 {
		number, wire, n := consumeTag(data)
		if n < 0 {
			return parseError(n)
		}
		data = data[n:]
		f := p.field(number)
		// As in generated code, a record whose wire type does not fit the
		// field is an unknown one.
		if f == nil || !f.accepts(wire) {
			if n = protowire.ConsumeFieldValue(number, wire, data); n < 0 {
				return parseError(n)
			}
			data = data[n:]
			continue
		}
		n, err := f.decode(v.Field(f.index), wire, data, depth)
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
	number, wire, n := protowire.ConsumeTag(data)
	if n > 0 && number > protowire.MaxValidNumber {
		return 0, 0, badNumber
	}
	return number, wire, n
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
	if f.key != nil {
		return wire == protowire.BytesType
	}
	return wire == f.wire || f.repeated && wire == protowire.BytesType
}

// decode reads one record of the field into v and returns its length.
func (f *field) decode(v reflect.Value, wire protowire.Type, data []byte, depth int) (int, error) {
	switch {
	case f.key != nil:
		entry, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return 0, parseError(n)
		}
		return n, f.mapEntry(v, entry, depth+1)
	case f.repeated:
		if depth+1 > schema.MaxDepth {
			return 0, errDepth
		}
		if f.packed() && wire == protowire.BytesType {
			list, n := protowire.ConsumeBytes(data)
			if n < 0 {
				return 0, parseError(n)
			}
			return n, f.packedList(v, list, depth+1)
		}
		i := v.Len()
		n, err := f.element(appendZero(v), data, depth+1)
		if err != nil {
			return 0, atIndex(i, err)
		}
		return n, nil
	case f.optional:
		if v.IsNil() {
			v.Set(reflect.New(f.typ))
		}
		v = v.Elem()
	}
	return f.element(v, data, depth)
}

// appendZero makes the slice v longer by a zero element and returns that.
func appendZero(v reflect.Value) reflect.Value {
	i := v.Len()
	v.Grow(1)
	v.SetLen(i + 1)
	elem := v.Index(i)
	elem.SetZero()
	return elem
}

func (f *field) packedList(v reflect.Value, list []byte, depth int) error {
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
	v.Grow(count) // at most one element for each byte of input
	if ints := int64s(v); ints != nil {
		for len(list) > 0 {
			x, n := protowire.ConsumeVarint(list)
			if n < 0 {
				return atIndex(len(*ints), parseError(n))
			}
			*ints = append(*ints, int64(x))
			list = list[n:]
		}
		return nil
	}
	for len(list) > 0 {
		i := v.Len()
		n, err := f.element(appendZero(v), list, depth)
		if err != nil {
			return atIndex(i, err)
		}
		list = list[n:]
	}
	return nil
}

// mapEntry reads one entry, a message with the key as field 1 and the value as
// field 2, either of which may be missing.
func (f *field) mapEntry(m reflect.Value, entry []byte, depth int) error {
	if depth > schema.MaxDepth {
		return errDepth
	}
	key := reflect.New(f.key.typ).Elem()
	value := reflect.New(f.value.typ).Elem()
	if value.Kind() == reflect.Pointer {
		value.Set(reflect.New(f.value.typ.Elem()))
	}
	for len(entry) > 0 {
		number, wire, n := consumeTag(entry)
		if n < 0 {
			return parseError(n)
		}
		entry = entry[n:]
		var err error
		switch {
		case number == 1 && wire == f.key.wire:
			n, err = f.key.element(key, entry, depth)
		case number == 2 && wire == f.value.wire:
			n, err = f.value.element(value, entry, depth)
			if err != nil {
				err = atKey(key, err)
			}
		default:
			if n = protowire.ConsumeFieldValue(number, wire, entry); n < 0 {
				err = parseError(n)
			}
		}
		if err != nil {
			return err
		}
		entry = entry[n:]
	}
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	m.SetMapIndex(key, value)
	return nil
}

// element reads one value, whose wire type is f.wire, into v and returns its
// length.
func (f *field) element(v reflect.Value, data []byte, depth int) (int, error) {
	switch f.wire {
	case protowire.VarintType:
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
		v.SetFloat(float64(math.Float32frombits(x)))
		return n, nil
	case protowire.Fixed64Type:
		x, n := protowire.ConsumeFixed64(data)
		if n < 0 {
			return 0, parseError(n)
		}
		v.SetFloat(math.Float64frombits(x))
		return n, nil
	}
	b, n := protowire.ConsumeBytes(data)
	if n < 0 {
		return 0, parseError(n)
	}
	return n, f.setBytes(v, b, depth)
}

// setVarint sets an integer or bool. As in all of protobuf, a varint of more
// than 32 bits loses its upper ones in a 32-bit field; but what then does not
// fit a Go type narrower than the protobuf type is an error.
func (f *field) setVarint(v reflect.Value, x uint64) error {
	switch f.kind {
	case schema.Bool:
		v.SetBool(protowire.DecodeBool(x))
	case schema.Int32, schema.Int64:
		i := int64(x)
		if f.kind == schema.Int32 {
			i = int64(int32(x))
		}
		if v.OverflowInt(i) {
			return fmt.Errorf("%d does not fit %s", i, v.Type())
		}
		v.SetInt(i)
	default:
		if f.kind == schema.Uint32 {
			x = uint64(uint32(x))
		}
		if v.OverflowUint(x) {
			return fmt.Errorf("%d does not fit %s", x, v.Type())
		}
		v.SetUint(x)
	}
	return nil
}

// setBytes sets what has a length before it.
func (f *field) setBytes(v reflect.Value, b []byte, depth int) error {
	switch f.kind {
	case schema.String:
		if !utf8.Valid(b) {
			return errUTF8
		}
		if !f.text {
			v.SetString(string(b))
			return nil
		}
		v.SetZero()
		if len(b) == 0 { // how proto3 writes the zero value
			return nil
		}
		// A copy, so that a careless type keeps no part of the input.
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(bytes.Clone(b))
	case schema.Bytes:
		v.SetBytes(append([]byte(nil), b...))
		return nil
	case schema.Time:
		t := v.Addr().Interface().(*time.Time)
		var seconds, nanos int64
		if !t.IsZero() {
			seconds, nanos = t.Unix(), int64(t.Nanosecond())
		}
		seconds, nanos, err := decodeSecondsNanos(seconds, nanos, b)
		if err != nil {
			return err
		}
		if seconds < text.MinSeconds || seconds > text.MaxSeconds || nanos < 0 || nanos >= 1e9 {
			return fmt.Errorf("the Timestamp of %d seconds and %d nanos is outside the years 1 to 9999", seconds, nanos)
		}
		*t = time.Unix(seconds, nanos).UTC()
		return nil
	case schema.Duration:
		d := time.Duration(v.Int())
		seconds, nanos, err := decodeSecondsNanos(int64(d/time.Second), int64(d%time.Second), b)
		if err != nil {
			return err
		}
		d, err = goDuration(seconds, nanos)
		v.SetInt(int64(d))
		return err
	case schema.Struct:
		return decodeMessage(f.message, target(v), b, depth+1)
	case schema.Proto:
		if v.IsNil() {
			v.Set(reflect.New(f.typ.Elem()))
		}
		o := proto.UnmarshalOptions{Merge: true, RecursionLimit: schema.MaxDepth - depth}
		if o.RecursionLimit <= 0 { // which would mean the default
			return errDepth
		}
		return o.Unmarshal(b, v.Interface().(proto.Message))
	default: // Any
		if f.typ.Kind() == reflect.Interface {
			value, err := decodeValue(v.Interface(), b, depth+1)
			if value != nil {
				v.Set(reflect.ValueOf(value))
			} else {
				v.SetZero()
			}
			return err
		}
		doc := target(v).Addr().Interface().(*schema.Document)
		value, err := decodeValue(doc.Value, b, depth+1)
		doc.Value = value
		return err
	}
}

// target returns the struct that v is or points at, which it creates if need be.
func target(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

// decodeSecondsNanos merges the message that Timestamp and Duration both are.
func decodeSecondsNanos(seconds, nanos int64, data []byte) (int64, int64, error) {
	for len(data) > 0 {
		number, wire, n := consumeTag(data)
		if n < 0 {
			return 0, 0, parseError(n)
		}
		data = data[n:]
		if wire != protowire.VarintType || number > 2 {
			if n = protowire.ConsumeFieldValue(number, wire, data); n < 0 {
				return 0, 0, parseError(n)
			}
			data = data[n:]
			continue
		}
		x, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return 0, 0, parseError(n)
		}
		if number == 1 {
			seconds = int64(x)
		} else {
			nanos = int64(int32(x))
		}
		data = data[n:]
	}
	return seconds, nanos, nil
}

func goDuration(seconds, nanos int64) (time.Duration, error) {
	const limit = math.MaxInt64 / int64(time.Second)
	switch {
	case nanos <= -1e9 || nanos >= 1e9 || seconds < 0 && nanos > 0 || seconds > 0 && nanos < 0:
		return 0, fmt.Errorf("the Duration of %d seconds and %d nanos is not valid", seconds, nanos)
	case seconds < -limit || seconds > limit,
		seconds == limit && nanos > math.MaxInt64%int64(time.Second),
		seconds == -limit && nanos < -(math.MaxInt64%int64(time.Second))-1:
		return 0, errors.New("the Duration does not fit time.Duration (about 292 years)")
	}
	return time.Duration(seconds)*time.Second + time.Duration(nanos), nil
}
