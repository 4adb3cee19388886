package protobuf

import (
	"encoding"
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// The fields of google.protobuf.Value, a oneof; of Struct, a map from string
// to Value; and of ListValue, a list of Values. See struct.proto.
const (
	valueNull   = 1
	valueNumber = 2
	valueString = 3
	valueBool   = 4
	valueStruct = 5
	valueList   = 6

	structFields = 1
	entryKey     = 1
	entryValue   = 2
	listValues   = 1
)

// document writes v as the fields of a google.protobuf.Value.
func (e *encoder) document(v any, depth int) error {
	switch v := v.(type) {
	case nil:
		e.varint(0)
		e.tag(valueNull, protowire.VarintType)
	case bool:
		e.varint(protowire.EncodeBool(v))
		e.tag(valueBool, protowire.VarintType)
	case string:
		return e.valueString(v)
	case float64:
		e.number(v)
	case int64:
		return e.integer(v)
	case uint64:
		return e.unsigned(v)
	case []any:
		if depth > schema.MaxDepth {
			return errDepth
		}
		start := e.len()
		for i := len(v) - 1; i >= 0; i-- {
			if err := e.valueRecord(listValues, v[i], depth+1); err != nil {
				return atIndex(i, err)
			}
		}
		e.varint(uint64(e.len() - start))
		e.tag(valueList, protowire.BytesType)
	case map[string]any:
		if depth > schema.MaxDepth {
			return errDepth
		}
		start := e.len()
		for key, value := range v {
			entry := e.len()
			if err := e.valueRecord(entryValue, value, depth+1); err != nil {
				return atKey(key, err)
			}
			if err := e.str(key); err != nil {
				return atKey(key, err)
			}
			e.tag(entryKey, protowire.BytesType)
			e.varint(uint64(e.len() - entry))
			e.tag(structFields, protowire.BytesType)
		}
		e.varint(uint64(e.len() - start))
		e.tag(valueStruct, protowire.BytesType)
	case []byte:
		return e.valueString(base64.StdEncoding.EncodeToString(v))
	case time.Time:
		if !text.InYears(v) {
			return fmt.Errorf("the time %v is outside the years 1 to 9999", v)
		}
		return e.valueString(string(text.AppendTime(nil, v)))
	case schema.Document:
		return e.document(v.Value, depth)
	case *schema.Document:
		if v == nil {
			return e.document(nil, depth)
		}
		return e.document(v.Value, depth)
	case schema.Number:
		return fmt.Errorf("google.protobuf.Value cannot hold the integer %s: its numbers are doubles", v)
	default:
		return e.otherValue(reflect.ValueOf(v))
	}
	return nil
}

// otherValue writes the numeric types that Documents seldom hold.
func (e *encoder) otherValue(v reflect.Value) error {
	_, text := v.Interface().(encoding.TextMarshaler)
	switch {
	case text:
	case v.CanInt():
		return e.integer(v.Int())
	case v.CanUint():
		return e.unsigned(v.Uint())
	case v.CanFloat():
		e.number(v.Float())
		return nil
	}
	return fmt.Errorf("a document cannot hold a value of the Go type %s", v.Type())
}

// valueRecord writes v as one record, a Value in the given field.
func (e *encoder) valueRecord(n protowire.Number, v any, depth int) error {
	start := e.len()
	if err := e.document(v, depth); err != nil {
		return err
	}
	e.varint(uint64(e.len() - start))
	e.tag(n, protowire.BytesType)
	return nil
}

func (e *encoder) valueString(s string) error {
	if err := e.str(s); err != nil {
		return err
	}
	e.tag(valueString, protowire.BytesType)
	return nil
}

func (e *encoder) number(f float64) {
	e.fixed64(math.Float64bits(f))
	e.tag(valueNumber, protowire.Fixed64Type)
}

func (e *encoder) integer(i int64) error {
	f := float64(i)
	if f >= 1<<63 || int64(f) != i { // 1<<63 is no int64
		return fmt.Errorf("google.protobuf.Value cannot hold the integer %d: its numbers are doubles", i)
	}
	e.number(f)
	return nil
}

func (e *encoder) unsigned(u uint64) error {
	f := float64(u)
	if f >= 1<<64 || uint64(f) != u {
		return fmt.Errorf("google.protobuf.Value cannot hold the integer %d: its numbers are doubles", u)
	}
	e.number(f)
	return nil
}

// maxExact is the largest magnitude up to which every integer is a double.
const maxExact = 1 << 53

// decodeValue merges the google.protobuf.Value in data into what has been read
// so far, and returns the result.
func decodeValue(have any, data []byte, depth int) (any, error) {
	for len(data) > 0 {
		number, wire, n := consumeTag(data)
		if n < 0 {
			return have, parseError(n)
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, wire, data); n < 0 {
			return have, parseError(n)
		}
		value := data[:n]
		data = data[n:]
		var err error
		switch {
		case number == valueNull && wire == protowire.VarintType:
			have = nil
		case number == valueNumber && wire == protowire.Fixed64Type:
			bits, _ := protowire.ConsumeFixed64(value)
			have = numberOf(math.Float64frombits(bits))
		case number == valueString && wire == protowire.BytesType:
			b, _ := protowire.ConsumeBytes(value)
			if !utf8.Valid(b) {
				return have, errUTF8
			}
			have = string(b)
		case number == valueBool && wire == protowire.VarintType:
			x, _ := protowire.ConsumeVarint(value)
			have = protowire.DecodeBool(x)
		case number == valueStruct && wire == protowire.BytesType:
			b, _ := protowire.ConsumeBytes(value)
			m, ok := have.(map[string]any)
			if !ok {
				m = map[string]any{}
			}
			have, err = m, decodeStruct(m, b, depth)
		case number == valueList && wire == protowire.BytesType:
			b, _ := protowire.ConsumeBytes(value)
			list, ok := have.([]any)
			if !ok {
				list = []any{}
			}
			have, err = decodeList(list, b, depth)
		}
		if err != nil {
			return have, err
		}
	}
	return have, nil
}

func numberOf(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) <= maxExact && !(f == 0 && math.Signbit(f)) {
		return int64(f)
	}
	return f
}

func decodeList(list []any, data []byte, depth int) ([]any, error) {
	if depth > schema.MaxDepth {
		return list, errDepth
	}
	for len(data) > 0 {
		number, b, n := consumeRecord(data)
		if n < 0 {
			return list, parseError(n)
		}
		data = data[n:]
		if number != listValues {
			continue
		}
		value, err := decodeValue(nil, b, depth+1)
		if err != nil {
			return list, atIndex(len(list), err)
		}
		list = append(list, value)
	}
	return list, nil
}

func decodeStruct(m map[string]any, data []byte, depth int) error {
	if depth > schema.MaxDepth {
		return errDepth
	}
	for len(data) > 0 {
		number, entry, n := consumeRecord(data)
		if n < 0 {
			return parseError(n)
		}
		data = data[n:]
		if number != structFields {
			continue
		}
		var key string
		var value any
		for len(entry) > 0 {
			number, b, n := consumeRecord(entry)
			if n < 0 {
				return parseError(n)
			}
			entry = entry[n:]
			switch number {
			case entryKey:
				if !utf8.Valid(b) {
					return errUTF8
				}
				key = string(b)
			case entryValue:
				var err error
				if value, err = decodeValue(value, b, depth+1); err != nil {
					return atKey(key, err)
				}
			}
		}
		m[key] = value
	}
	return nil
}

// consumeRecord reads one record and returns its bytes and its length. For a
// record of another wire type, which can only be unknown, the number is 0.
func consumeRecord(data []byte) (protowire.Number, []byte, int) {
	number, wire, n := consumeTag(data)
	if n < 0 {
		return 0, nil, n
	}
	m := protowire.ConsumeFieldValue(number, wire, data[n:])
	if m < 0 {
		return 0, nil, m
	}
	if wire != protowire.BytesType {
		return 0, nil, n + m
	}
	b, _ := protowire.ConsumeBytes(data[n:])
	return number, b, n + m
}
