package json

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire/codec/internal/text"
)

// A wellKnown is the special form that ProtoJSON gives to a message type of
// google.protobuf.
type wellKnown struct {
	append func(e *encoder, b []byte, m protoreflect.Message) ([]byte, error)
	read   func(d *decoder, m protoreflect.Message) error
}

// knownForm returns the special form of a message type, or nil.
func knownForm(desc protoreflect.MessageDescriptor) *wellKnown {
	switch desc.FullName() {
	case "google.protobuf.Any":
		return knownAs(appendAnyMessage, readAnyMessage)
	case "google.protobuf.Timestamp":
		return knownAs(appendTimestamp, readTimestamp)
	case "google.protobuf.Duration":
		return knownAs(appendDurationMessage, readDurationMessage)
	case "google.protobuf.FieldMask":
		return knownAs(appendFieldMask, readFieldMask)
	case "google.protobuf.Struct":
		return knownAs((*encoder).structMessage, (*decoder).structMessage)
	case "google.protobuf.Value":
		return knownAs((*encoder).value, (*decoder).value)
	case "google.protobuf.ListValue":
		return knownAs((*encoder).listValue, (*decoder).listValue)
	case "google.protobuf.DoubleValue", "google.protobuf.FloatValue",
		"google.protobuf.Int64Value", "google.protobuf.UInt64Value",
		"google.protobuf.Int32Value", "google.protobuf.UInt32Value",
		"google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		return wrapperForm(protoPlanner{}.field(desc.Fields().ByNumber(1)))
	}
	return nil
}

// knownAs makes a wellKnown of functions on the Go type T. A message that has
// the descriptor but another Go type, such as a dynamic message, is converted.
func knownAs[T proto.Message](
	appendTo func(*encoder, []byte, T) ([]byte, error),
	read func(*decoder, T) error,
) *wellKnown {
	var zero T
	newT := func() T { return zero.ProtoReflect().New().Interface().(T) }
	return &wellKnown{
		append: func(e *encoder, b []byte, m protoreflect.Message) ([]byte, error) {
			t, ok := m.Interface().(T)
			if !ok {
				t = newT()
				if err := convert(t, m.Interface()); err != nil {
					return b, protoError(0, err)
				}
			}
			return appendTo(e, b, t)
		},
		read: func(d *decoder, m protoreflect.Message) error {
			if t, ok := m.Interface().(T); ok {
				return read(d, t)
			}
			t, start := newT(), d.pos
			if err := read(d, t); err != nil {
				return err
			}
			if err := convert(m.Interface(), t); err != nil {
				return protoError(start, err)
			}
			return nil
		},
	}
}

func convert(dst, src proto.Message) error {
	data, err := proto.MarshalOptions{AllowPartial: true}.Marshal(src)
	if err != nil {
		return err
	}
	return proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(data, dst)
}

// wrapperForm is the form of a message with the one field f: its value alone.
func wrapperForm(f *protoField) *wellKnown {
	return &wellKnown{
		append: func(e *encoder, b []byte, m protoreflect.Message) ([]byte, error) {
			return f.append(e, b, m.Get(f.desc))
		},
		read: f.read,
	}
}

func appendTimestamp(_ *encoder, b []byte, t *timestamppb.Timestamp) ([]byte, error) {
	if err := t.CheckValid(); err != nil {
		return b, errorf("the Timestamp of %d seconds and %d nanoseconds is out of range", t.GetSeconds(), t.GetNanos())
	}
	return appendTime(b, t.AsTime())
}

func readTimestamp(d *decoder, m *timestamppb.Timestamp) error {
	t, err := d.time()
	if err == nil {
		m.Seconds, m.Nanos = t.Unix(), int32(t.Nanosecond()) //nolint:gosec // below 1e9
	}
	return err
}

func appendDurationMessage(_ *encoder, b []byte, m *durationpb.Duration) ([]byte, error) {
	s, n := m.GetSeconds(), m.GetNanos()
	if s < -text.MaxDuration || s > text.MaxDuration || n <= -1e9 || n >= 1e9 || s > 0 && n < 0 || s < 0 && n > 0 {
		return b, errorf("the Duration of %d seconds and %d nanoseconds is out of range or of two signs", s, n)
	}
	return appendDuration(b, s, n), nil
}

func readDurationMessage(d *decoder, m *durationpb.Duration) error {
	s, n, err := d.seconds()
	m.Seconds, m.Nanos = s, n
	return err
}

// appendFieldMask writes paths in lowerCamelCase, joined by commas.
func appendFieldMask(_ *encoder, b []byte, m *fieldmaskpb.FieldMask) ([]byte, error) {
	camel := make([]string, len(m.GetPaths()))
	for i, path := range m.GetPaths() {
		c, ok := text.CamelPath(path)
		if !ok {
			return b, within(errorf("the path %q has no JSON form", text.Short(path)), "paths["+strconv.Itoa(i)+"]")
		}
		camel[i] = c
	}
	return appendString(b, strings.Join(camel, ","))
}

func readFieldMask(d *decoder, m *fieldmaskpb.FieldMask) error {
	d.peek()
	start := d.pos
	s, err := d.text("a field mask")
	if err != nil || len(s) == 0 {
		return err
	}
	for path := range strings.SplitSeq(string(s), ",") {
		p, ok := text.SnakePath(path)
		if !ok {
			return d.errorf(start, "%q is not a path of a field mask", text.Short(path))
		}
		m.Paths = append(m.Paths, p)
	}
	return nil
}

func (e *encoder) structMessage(b []byte, m *structpb.Struct) ([]byte, error) {
	if err := e.enter(); err != nil {
		return b, err
	}
	b = append(b, '{')
	base := len(e.keys)
	for key := range m.GetFields() {
		e.keys = append(e.keys, key)
	}
	slices.Sort(e.keys[base:])
	var err error
	for i := range len(m.GetFields()) {
		key := e.keys[base+i]
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendKey(b, key); err == nil {
			b, err = e.value(b, m.Fields[key])
		}
		if err != nil {
			return b, atKey(err, key)
		}
	}
	e.keys = e.keys[:base]
	e.depth--
	return append(b, '}'), nil
}

func (e *encoder) listValue(b []byte, m *structpb.ListValue) ([]byte, error) {
	if err := e.enter(); err != nil {
		return b, err
	}
	b = append(b, '[')
	var err error
	for i, v := range m.GetValues() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = e.value(b, v); err != nil {
			return b, atIndex(err, i)
		}
	}
	e.depth--
	return append(b, ']'), nil
}

func (e *encoder) value(b []byte, m *structpb.Value) ([]byte, error) {
	switch k := m.GetKind().(type) {
	case *structpb.Value_NullValue:
		return append(b, "null"...), nil
	case *structpb.Value_BoolValue:
		if k.BoolValue {
			return append(b, "true"...), nil
		}
		return append(b, "false"...), nil
	case *structpb.Value_NumberValue:
		if f := k.NumberValue; f-f != 0 {
			return b, errorf("a google.protobuf.Value cannot hold %v", f)
		}
		return appendFloat(b, k.NumberValue, 64), nil
	case *structpb.Value_StringValue:
		return appendString(b, k.StringValue)
	case *structpb.Value_StructValue:
		return e.structMessage(b, k.StructValue)
	case *structpb.Value_ListValue:
		return e.listValue(b, k.ListValue)
	}
	return b, errorf("a google.protobuf.Value that holds nothing; null is a NullValue")
}

func (d *decoder) structMessage(m *structpb.Struct) error {
	if err := d.enter('{', "an object"); err != nil {
		return err
	}
	m.Fields = map[string]*structpb.Value{}
	for first := true; ; first = false {
		name, ok, err := d.member(first)
		if err != nil || !ok {
			return err
		}
		key := d.names.String(name)
		if _, dup := m.Fields[key]; dup {
			return d.duplicate(name)
		}
		v := new(structpb.Value)
		if err := d.value(v); err != nil {
			return atKey(err, key)
		}
		m.Fields[key] = v
	}
}

func (d *decoder) listValue(m *structpb.ListValue) error {
	if err := d.enter('[', "an array"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if ok, err := d.element(i == 0); err != nil || !ok {
			return err
		}
		v := new(structpb.Value)
		if err := d.value(v); err != nil {
			return atIndex(err, i)
		}
		m.Values = append(m.Values, v)
	}
}

func (d *decoder) value(m *structpb.Value) (err error) {
	switch c := d.peek(); {
	case c == '"':
		var s []byte
		if s, err = d.str(); err == nil {
			m.Kind = &structpb.Value_StringValue{StringValue: string(s)}
		}
	case c == '-' || c >= '0' && c <= '9':
		var f float64
		f, err = d.float(64)
		m.Kind = &structpb.Value_NumberValue{NumberValue: f}
	case c == '{':
		s := new(structpb.Struct)
		err = d.structMessage(s)
		m.Kind = &structpb.Value_StructValue{StructValue: s}
	case c == '[':
		l := new(structpb.ListValue)
		err = d.listValue(l)
		m.Kind = &structpb.Value_ListValue{ListValue: l}
	case c == 't' || c == 'f':
		var t bool
		t, err = d.bool()
		m.Kind = &structpb.Value_BoolValue{BoolValue: t}
	case c == 'n':
		err = d.literal("null")
		m.Kind = &structpb.Value_NullValue{}
	default:
		err = d.syntax("a value")
	}
	return err
}
