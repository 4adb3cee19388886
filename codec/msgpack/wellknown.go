package msgpack

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire/codec/internal/text"
)

// A wellKnown is the special form of one of protobuf's well-known types.
type wellKnown struct {
	append func(*encoder, protoreflect.Message) error
	read   func(*decoder, protoreflect.Message) error
}

// knownForm returns the special form of a message type, or nil.
func knownForm(name protoreflect.FullName) *wellKnown {
	switch name {
	case "google.protobuf.Any":
		return knownAs((*encoder).anyMessage, (*decoder).anyMessage, func() *anypb.Any { return new(anypb.Any) })
	case "google.protobuf.Timestamp":
		return knownAs((*encoder).timestamp, (*decoder).timestamp, func() *timestamppb.Timestamp { return new(timestamppb.Timestamp) })
	case "google.protobuf.Duration":
		return knownAs((*encoder).durationMessage, (*decoder).durationMessage, func() *durationpb.Duration { return new(durationpb.Duration) })
	case "google.protobuf.FieldMask":
		return knownAs((*encoder).fieldMask, (*decoder).fieldMask, func() *fieldmaskpb.FieldMask { return new(fieldmaskpb.FieldMask) })
	case "google.protobuf.Struct":
		return knownAs((*encoder).structMessage, (*decoder).structMessage, func() *structpb.Struct { return new(structpb.Struct) })
	case "google.protobuf.Value":
		return knownAs((*encoder).value, (*decoder).value, func() *structpb.Value { return new(structpb.Value) })
	case "google.protobuf.ListValue":
		return knownAs((*encoder).listValue, (*decoder).listValue, func() *structpb.ListValue { return new(structpb.ListValue) })
	case "google.protobuf.DoubleValue", "google.protobuf.FloatValue",
		"google.protobuf.Int64Value", "google.protobuf.UInt64Value",
		"google.protobuf.Int32Value", "google.protobuf.UInt32Value",
		"google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		return &wellKnown{
			func(e *encoder, m protoreflect.Message) error {
				fd := m.Descriptor().Fields().ByNumber(1)
				return e.protoValue(fd, m.Get(fd))
			},
			func(d *decoder, m protoreflect.Message) error {
				return d.protoField(m, m.Descriptor().Fields().ByNumber(1))
			},
		}
	}
	return nil
}

// knownAs makes a wellKnown of functions on the Go type T. A message with the
// descriptor but of another Go type, such as a dynamic one, is converted.
func knownAs[T proto.Message](write func(*encoder, T) error, read func(*decoder, T) error, newT func() T) *wellKnown {
	return &wellKnown{
		append: func(e *encoder, m protoreflect.Message) error {
			t, ok := m.Interface().(T)
			if !ok {
				t = newT()
				if err := convert(t, m.Interface()); err != nil {
					return err
				}
			}
			return write(e, t)
		},
		read: func(d *decoder, m protoreflect.Message) error {
			if t, ok := m.Interface().(T); ok {
				return read(d, t)
			}
			t := newT()
			if err := read(d, t); err != nil {
				return err
			}
			return convert(m.Interface(), t)
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

func (e *encoder) timestamp(m *timestamppb.Timestamp) error {
	if err := m.CheckValid(); err != nil {
		return errorf("the Timestamp of %d seconds and %d nanoseconds is out of range", m.GetSeconds(), m.GetNanos())
	}
	e.b = AppendTime(e.b, m.AsTime())
	return nil
}

func (d *decoder) timestamp(m *timestamppb.Timestamp) error {
	t, err := d.time()
	if err == nil {
		m.Seconds, m.Nanos = t.Unix(), int32(t.Nanosecond())
	}
	return err
}

func (e *encoder) durationMessage(m *durationpb.Duration) error {
	if err := m.CheckValid(); err != nil {
		return errorf("the Duration of %d seconds and %d nanoseconds is out of range or of two signs", m.GetSeconds(), m.GetNanos())
	}
	e.duration(m.GetSeconds(), m.GetNanos())
	return nil
}

func (d *decoder) durationMessage(m *durationpb.Duration) error {
	seconds, nanos, err := d.seconds()
	m.Seconds, m.Nanos = seconds, nanos
	return err
}

// fieldMask writes the paths in lowerCamelCase, joined by commas, as ProtoJSON
// does.
func (e *encoder) fieldMask(m *fieldmaskpb.FieldMask) error {
	camel := make([]string, len(m.GetPaths()))
	for i, path := range m.GetPaths() {
		c, ok := text.CamelPath(path)
		if !ok {
			return at("paths", atIndex(i, errorf("the path %q has no JSON form", short(path))))
		}
		camel[i] = c
	}
	return e.str(strings.Join(camel, ","))
}

func (d *decoder) fieldMask(m *fieldmaskpb.FieldMask) error {
	start := d.pos
	s, err := d.Str()
	if err != nil || len(s) == 0 {
		return err
	}
	for path := range strings.SplitSeq(string(s), ",") {
		p, ok := text.SnakePath(path)
		if !ok {
			d.pos = start
			return d.errorf("%q is not a path of a field mask", short(path))
		}
		m.Paths = append(m.Paths, p)
	}
	return nil
}
