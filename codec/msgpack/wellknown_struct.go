package msgpack

import (
	"encoding/base64"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

func (e *encoder) structMessage(m *structpb.Struct) error {
	if err := e.enter(); err != nil {
		return err
	}
	e.b = AppendMapHeader(e.b, len(m.GetFields()))
	for _, key := range slices.Sorted(maps.Keys(m.GetFields())) {
		err := e.str(key)
		if err == nil {
			err = e.value(m.Fields[key])
		}
		if err != nil {
			return atKey(key, err)
		}
	}
	e.depth--
	return nil
}

func (e *encoder) listValue(m *structpb.ListValue) error {
	if err := e.enter(); err != nil {
		return err
	}
	e.b = AppendArrayHeader(e.b, len(m.GetValues()))
	for i, v := range m.GetValues() {
		if err := e.value(v); err != nil {
			return atIndex(i, err)
		}
	}
	e.depth--
	return nil
}

// maxExact is the largest magnitude up to which every integer is a double.
const maxExact = 1 << 53

// value writes what the Value holds. Its numbers are doubles; those that are
// integers are written as such, as they are in JSON.
func (e *encoder) value(m *structpb.Value) error {
	switch k := m.GetKind().(type) {
	case *structpb.Value_NullValue:
		e.b = AppendNil(e.b)
	case *structpb.Value_BoolValue:
		e.b = AppendBool(e.b, k.BoolValue)
	case *structpb.Value_NumberValue:
		f := k.NumberValue
		if f == math.Trunc(f) && math.Abs(f) <= maxExact && !(f == 0 && math.Signbit(f)) {
			e.b = AppendInt(e.b, int64(f))
		} else {
			e.b = AppendFloat64(e.b, f)
		}
	case *structpb.Value_StringValue:
		return e.str(k.StringValue)
	case *structpb.Value_StructValue:
		return e.structMessage(k.StructValue)
	case *structpb.Value_ListValue:
		return e.listValue(k.ListValue)
	default:
		return errorf("a google.protobuf.Value that holds nothing; nil is a NullValue")
	}
	return nil
}

func (d *decoder) structMessage(m *structpb.Struct) error {
	n, err := d.object()
	if err != nil {
		return err
	}
	m.Fields = make(map[string]*structpb.Value, min(n, reserve))
	for range n {
		key, start, err := d.key()
		if err != nil {
			return err
		}
		k := d.names.String(key)
		if m.Fields[k] != nil {
			return d.duplicate(start)
		}
		m.Fields[k] = new(structpb.Value)
		if err := d.value(m.Fields[k]); err != nil {
			return atKey(k, err)
		}
	}
	d.depth--
	return nil
}

func (d *decoder) listValue(m *structpb.ListValue) error {
	n, err := d.array()
	if err != nil {
		return err
	}
	for i := range n {
		v := new(structpb.Value)
		if err := d.value(v); err != nil {
			return atIndex(i, err)
		}
		m.Values = append(m.Values, v)
	}
	d.depth--
	return nil
}

// value reads whatever stands there. Bytes are kept as base64 and a time as
// RFC 3339, as they are in JSON.
func (d *decoder) value(m *structpb.Value) error {
	h, err := d.peek()
	if err != nil {
		return err
	}
	switch h.typ {
	case Nil:
		m.Kind = &structpb.Value_NullValue{}
		return d.Nil()
	case Bool:
		b, err := d.Bool()
		m.Kind = &structpb.Value_BoolValue{BoolValue: b}
		return err
	case Int:
		f := float64(h.bits)
		exact := f < 1<<64 && uint64(f) == h.bits
		if h.negative() {
			f = float64(int64(h.bits))
			exact = int64(f) == int64(h.bits)
		}
		if !exact {
			return d.errorf("google.protobuf.Value cannot hold the integer %s: its numbers are doubles", d.shown(h))
		}
		d.pass(h)
		m.Kind = &structpb.Value_NumberValue{NumberValue: f}
	case Float:
		f, err := d.Float64()
		m.Kind = &structpb.Value_NumberValue{NumberValue: f}
		return err
	case Str:
		s, err := d.Str()
		m.Kind = &structpb.Value_StringValue{StringValue: string(s)}
		return err
	case Bin:
		s := base64.StdEncoding.EncodeToString(d.payload(h))
		m.Kind = &structpb.Value_StringValue{StringValue: s}
	case Array:
		list := new(structpb.ListValue)
		m.Kind = &structpb.Value_ListValue{ListValue: list}
		return d.listValue(list)
	case Map:
		s := new(structpb.Struct)
		m.Kind = &structpb.Value_StructValue{StructValue: s}
		return d.structMessage(s)
	default:
		s, err := d.ownText(h)
		m.Kind = &structpb.Value_StringValue{StringValue: s}
		return err
	}
	return nil
}
