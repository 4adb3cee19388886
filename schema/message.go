package schema

import (
	"reflect"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxDepth is how deeply messages, lists and maps may nest in every codec,
// when written and when read. It bounds the stack that a hostile input can
// make a decoder use.
const MaxDepth = 500

// Kind is what a field holds, before repetition and optionality.
type Kind uint8

// The kinds of docs/spec/types.md.
const (
	Invalid  Kind = iota
	Bool          // bool
	Int32         // int8, int16, int32
	Int64         // int, int64
	Uint32        // uint8, uint16, uint32
	Uint64        // uint, uint64
	Float32       // float32
	Float64       // float64
	String        // string, and types with encoding.TextMarshaler and TextUnmarshaler
	Bytes         // []byte
	Time          // time.Time
	Duration      // time.Duration
	Struct        // a plain struct, or a pointer to one
	Proto         // a pointer to a generated message
	Any           // any, or Document: whatever JSON can say
)

// Message describes one message type.
//
// Exactly one of three holds: Desc is set and the type is a generated message;
// Document is true and the type is [Document]; or the type is a plain struct
// described by Fields.
type Message struct {
	// Name is the full protobuf name, such as "arith.SumRequest".
	Name protoreflect.FullName
	// Type is the struct type (never the pointer).
	Type reflect.Type
	// Fields are a plain struct's fields, in ascending order of Number.
	Fields []*Field
	// Desc is a generated message's own descriptor, else nil.
	Desc protoreflect.MessageDescriptor
	// Document is true for the type [Document] itself.
	Document bool
	// Unknown is the index of the struct's field that keeps the protobuf fields
	// which the struct does not know, or -1. It is no field of the message.
	Unknown int

	byName   map[string]*Field
	byQuery  map[string]*Field
	byNumber map[protoreflect.FieldNumber]*Field
}

// Field describes one field of a plain struct.
type Field struct {
	// Number is the protobuf field number.
	Number protoreflect.FieldNumber
	// Name is the protobuf name, such as "page_size".
	Name string
	// JSONName is the key in JSON and MessagePack, such as "pageSize".
	JSONName string
	// Index is the field's index in the struct.
	Index int
	// Kind is what one element holds.
	Kind Kind
	// Type is the Go type of one element: the slice's or map's element type,
	// or what an optional's pointer points at. For Struct and Proto kinds it
	// is the type as written, pointer or not.
	Type reflect.Type
	// Repeated is true for a slice other than []byte.
	Repeated bool
	// MapKey is the kind of the keys of a map field, else Invalid.
	MapKey Kind
	// TextKey is true for a map whose keys go through encoding.TextMarshaler.
	TextKey bool
	// Optional is true for a pointer to a scalar: nil means absent.
	Optional bool
	// Quoted is true if the field's tag asks for 64-bit integers to be
	// written as strings in JSON (json:",string").
	Quoted bool
	// Text is true for a String kind that goes through encoding.TextMarshaler.
	Text bool
	// Message describes the element of Struct and Proto kinds.
	Message *Message
	// HTTP says where the field stands in HTTP messages.
	HTTP HTTPPlace
	// Doc says what the field is for, to people: the struct tag doc:"…".
	Doc string
}

// ByName returns the field whose JSON name or protobuf name is name, or nil.
func (m *Message) ByName(name string) *Field { return m.byName[name] }

// ByNameBytes is ByName for a name still in its buffer; it does not allocate.
func (m *Message) ByNameBytes(name []byte) *Field { return m.byName[string(name)] }

// ByNumber returns the field with the given number, or nil.
func (m *Message) ByNumber(n protoreflect.FieldNumber) *Field { return m.byNumber[n] }

// New returns a pointer to a new zero value of the message's type.
func (m *Message) New() any { return reflect.New(m.Type).Interface() }

// HasFields reports whether the message can hold anything at all.
func (m *Message) HasFields() bool {
	return m.Document || len(m.Fields) > 0 || m.Desc != nil && m.Desc.Fields().Len() > 0
}

// IsObject reports whether the message looks like an object in JSON. Documents
// and protobuf's well-known types such as Timestamp and Value do not: their
// JSON form may be any value.
func (m *Message) IsObject() bool {
	switch {
	case m.Document:
		return false
	case m.Desc == nil:
		return true
	}
	switch m.Desc.FullName() {
	case "google.protobuf.Value", "google.protobuf.ListValue",
		"google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask",
		"google.protobuf.DoubleValue", "google.protobuf.FloatValue",
		"google.protobuf.Int64Value", "google.protobuf.UInt64Value",
		"google.protobuf.Int32Value", "google.protobuf.UInt32Value",
		"google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		return false
	}
	return true
}
