package against

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A kind is what an element is, whatever encodes it.
type kind uint8

const (
	boolKind kind = iota
	int32Kind
	int64Kind
	uint32Kind
	uint64Kind
	floatKind
	doubleKind
	stringKind
	bytesKind
	timeKind
	durationKind
	anyKind // google.protobuf.Value
	enumKind
	messageKind
	ownKind // another message with a JSON form of its own
)

// An element is a single value: of a field, a list or a map.
type element struct {
	kind   kind
	proto  protoreflect.Kind // of which protobuf has several for one kind
	name   protoreflect.FullName
	quoted bool // JSON writes the integer as a string
}

var kinds = map[protoreflect.Kind]kind{
	protoreflect.BoolKind: boolKind, protoreflect.EnumKind: enumKind,
	protoreflect.Int32Kind: int32Kind, protoreflect.Sint32Kind: int32Kind, protoreflect.Sfixed32Kind: int32Kind,
	protoreflect.Int64Kind: int64Kind, protoreflect.Sint64Kind: int64Kind, protoreflect.Sfixed64Kind: int64Kind,
	protoreflect.Uint32Kind: uint32Kind, protoreflect.Fixed32Kind: uint32Kind,
	protoreflect.Uint64Kind: uint64Kind, protoreflect.Fixed64Kind: uint64Kind,
	protoreflect.FloatKind: floatKind, protoreflect.DoubleKind: doubleKind,
	protoreflect.StringKind: stringKind, protoreflect.BytesKind: bytesKind,
}

func elementOfField(f protoreflect.FieldDescriptor) element {
	if f.Message() != nil {
		e := elementOf(f.Message())
		e.proto = f.Kind() // a group is none
		return e
	}
	options, _ := f.Options().(*descriptorpb.FieldOptions)
	return element{kinds[f.Kind()], f.Kind(), "", options.GetJstype() == descriptorpb.FieldOptions_JS_STRING}
}

func elementOf(m protoreflect.MessageDescriptor) element {
	e := element{messageKind, protoreflect.MessageKind, m.FullName(), false}
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		e.kind = timeKind
	case "google.protobuf.Duration":
		e.kind = durationKind
	case "google.protobuf.Value":
		e.kind = anyKind
	case "google.protobuf.Struct", "google.protobuf.ListValue", "google.protobuf.Any", "google.protobuf.FieldMask", "google.protobuf.Empty",
		"google.protobuf.DoubleValue", "google.protobuf.FloatValue", "google.protobuf.Int64Value", "google.protobuf.UInt64Value",
		"google.protobuf.Int32Value", "google.protobuf.UInt32Value", "google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		e.kind = ownKind
	}
	return e
}

// A field is one with what is around its elements.
type field struct {
	element
	key      element
	isMap    bool
	isList   bool
	presence bool // of a scalar: absent is not zero
	required bool
}

func fieldOf(f protoreflect.FieldDescriptor) field {
	if f.IsMap() {
		return field{element: elementOfField(f.MapValue()), key: elementOfField(f.MapKey()), isMap: true}
	}
	return field{
		element: elementOfField(f), isList: f.IsList(),
		presence: f.HasPresence() && f.Message() == nil,
		required: f.Cardinality() == protoreflect.Required,
	}
}

// textOf is a field's type as .proto files write it.
func textOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s, %s>", textOf(f.MapKey()), textOf(f.MapValue()))
	case f.IsList():
		return "repeated " + typeText(f)
	case f.Cardinality() == protoreflect.Required:
		return "required " + typeText(f)
	case f.HasOptionalKeyword() && f.Message() == nil:
		return "optional " + typeText(f)
	}
	return typeText(f)
}

func typeText(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().FullName())
	case f.Enum() != nil:
		return string(f.Enum().FullName())
	}
	text := f.Kind().String()
	if elementOfField(f).quoted {
		text += " as string"
	}
	return text
}

// isPlain reports whether a plain struct could be the message: encodings that
// carry no others do not carry it otherwise.
func isPlain(m protoreflect.MessageDescriptor, via []protoreflect.FullName) bool {
	switch elementOf(m).kind {
	case timeKind, durationKind, anyKind:
		return true
	case ownKind:
		return false
	}
	if slices.Contains(via, m.FullName()) {
		return true
	}
	via = append(via, m.FullName())
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		switch {
		case f.Enum() != nil, exclusive(f) != "", f.Cardinality() == protoreflect.Required, f.Kind() == protoreflect.GroupKind:
			return false
		case f.IsMap():
			f = f.MapValue()
			if f.Enum() != nil {
				return false
			}
		}
		if f.Message() != nil && !isPlain(f.Message(), via) {
			return false
		}
	}
	return true
}
