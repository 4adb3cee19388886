package describe

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire/schema"
)

// generated is the schema of a generated message.
func (ts *types) generated(d protoreflect.MessageDescriptor) *jsonSchema {
	if s := ts.wellKnown(d); s != nil {
		return s
	}
	return ts.reference(d.FullName(), d.FullName(), func(s *jsonSchema) {
		for _, fd := range fieldsOf(d) {
			s.Properties = append(s.Properties, property{fd.JSONName(), ts.generatedField(fd)})
			if !fd.HasPresence() {
				s.always = append(s.always, fd.JSONName())
			}
		}
		s.Description = sentences(comment(d), alternatives(d))
	})
}

// fieldsOf lists the fields in the order of their numbers.
func fieldsOf(d protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	fds := make([]protoreflect.FieldDescriptor, d.Fields().Len())
	for i := range fds {
		fds[i] = d.Fields().Get(i)
	}
	slices.SortFunc(fds, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	return fds
}

// alternatives says in words which members exclude each other.
func alternatives(d protoreflect.MessageDescriptor) string {
	var lines []string
	for i := range d.Oneofs().Len() {
		o := d.Oneofs().Get(i)
		if o.IsSynthetic() {
			continue
		}
		var names []string
		for j := range o.Fields().Len() {
			names = append(names, o.Fields().Get(j).JSONName())
		}
		lines = append(lines, "At most one of "+strings.Join(names, ", ")+".")
	}
	return strings.Join(lines, " ")
}

// wellKnown is the schema of a message with a JSON form of its own, or nil.
func (ts *types) wellKnown(d protoreflect.MessageDescriptor) *jsonSchema {
	switch d.FullName() {
	case "google.protobuf.Timestamp":
		return timestamp()
	case "google.protobuf.Duration":
		return duration()
	case "google.protobuf.FieldMask":
		return &jsonSchema{Type: "string"}
	case "google.protobuf.Value":
		return &jsonSchema{}
	case "google.protobuf.Struct", "google.protobuf.Empty":
		return &jsonSchema{Type: "object"}
	case "google.protobuf.ListValue":
		return &jsonSchema{Type: "array"}
	case "google.protobuf.Any":
		return &jsonSchema{Type: "object", Properties: ordered[*jsonSchema]{{"@type", &jsonSchema{Type: "string"}}}, AdditionalProperties: &jsonSchema{}, Required: []string{"@type"}}
	case "google.protobuf.DoubleValue", "google.protobuf.FloatValue",
		"google.protobuf.Int64Value", "google.protobuf.UInt64Value",
		"google.protobuf.Int32Value", "google.protobuf.UInt32Value",
		"google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		return ts.generatedElement(d.Fields().ByNumber(1))
	}
	return nil
}

func (ts *types) generatedField(fd protoreflect.FieldDescriptor) *jsonSchema {
	var s *jsonSchema
	switch {
	case fd.IsMap():
		s = mapOf(keysOf(keyKind(fd.MapKey())), ts.generatedElement(fd.MapValue()))
	case fd.IsList():
		s = listOf(ts.generatedElement(fd))
	default:
		s = ts.generatedElement(fd)
	}
	return described(s, comment(fd))
}

func keyKind(fd protoreflect.FieldDescriptor) schema.Kind {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return schema.Bool
	case protoreflect.StringKind:
		return schema.String
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return schema.Uint64
	}
	return schema.Int64
}

func (ts *types) generatedElement(fd protoreflect.FieldDescriptor) *jsonSchema {
	options, _ := fd.Options().(*descriptorpb.FieldOptions)
	quoted := options.GetJstype() == descriptorpb.FieldOptions_JS_STRING
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return &jsonSchema{Type: "boolean"}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return integer(32, true, false)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return integer(64, true, quoted)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return integer(32, false, false)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return integer(64, false, quoted)
	case protoreflect.FloatKind:
		return float("float")
	case protoreflect.DoubleKind:
		return float("double")
	case protoreflect.StringKind:
		return &jsonSchema{Type: "string"}
	case protoreflect.BytesKind:
		return ts.bytes()
	case protoreflect.EnumKind:
		return enum(fd.Enum())
	}
	return ts.generated(fd.Message())
}

// enum allows numbers too, which stand for values that have no name.
func enum(d protoreflect.EnumDescriptor) *jsonSchema {
	if d.FullName() == "google.protobuf.NullValue" {
		return &jsonSchema{Type: "null"}
	}
	names := make([]any, d.Values().Len())
	for i := range names {
		names[i] = string(d.Values().Get(i).Name())
	}
	return &jsonSchema{AnyOf: []*jsonSchema{{Type: "string", Enum: names}, integer(32, true, false)}}
}
