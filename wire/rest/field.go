package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// A field is a top-level field of a message as paths and queries see it.
type field struct {
	name   string // in JSON
	form   form
	list   bool
	absent string // the JSON of a field that the codec left out
	index  int    // in the message's table
}

// A form says how a field's value looks as plain text.
type form uint8

const (
	// noForm: messages, maps and documents cannot be in a path or a query.
	noForm form = iota
	// textForm: the JSON string's content. Bytes are base64, times RFC 3339.
	textForm
	// numberForm: a JSON number; other text, such as NaN, is a JSON string.
	numberForm
	// boolForm: true or false.
	boolForm
	// enumForm: the value's name or number.
	enumForm
)

// fieldsOf returns a message's fields by each name they go by: the JSON name
// and the protobuf name. It is empty for messages that are not objects.
func fieldsOf(m *schema.Message) map[string]*field {
	fields := map[string]*field{}
	switch {
	case m == nil || !m.IsObject():
	case m.Desc != nil:
		return fieldsOfDesc(m.Desc)
	default:
		for i, f := range m.Fields {
			x := &field{name: f.JSONName, form: formOf(f), list: f.Repeated, index: i}
			x.absent = absentJSON(x, f.MapKey != schema.Invalid, f.Optional || f.Kind == schema.Proto)
			fields[f.JSONName], fields[f.Name] = x, x
		}
	}
	return fields
}

func formOf(f *schema.Field) form {
	if f.MapKey != schema.Invalid {
		return noForm
	}
	switch f.Kind {
	case schema.Bool:
		return boolForm
	case schema.Int32, schema.Int64, schema.Uint32, schema.Uint64, schema.Float32, schema.Float64:
		return numberForm
	case schema.String, schema.Bytes, schema.Time, schema.Duration:
		return textForm
	case schema.Proto:
		return wellKnown[f.Message.Name]
	}
	return noForm
}

func fieldsOfDesc(d protoreflect.MessageDescriptor) map[string]*field {
	fields := map[string]*field{}
	switch d.FullName() {
	case "google.protobuf.Struct", "google.protobuf.Any":
		return fields // objects in JSON, but not with these fields as members
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		x := &field{name: f.JSONName(), form: formOfDesc(f), list: f.IsList(), index: i}
		x.absent = absentJSON(x, f.IsMap(), f.HasPresence())
		fields[f.JSONName()], fields[string(f.Name())] = x, x
	}
	return fields
}

func formOfDesc(f protoreflect.FieldDescriptor) form {
	if f.IsMap() {
		return noForm
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return boolForm
	case protoreflect.EnumKind:
		return enumForm
	case protoreflect.StringKind, protoreflect.BytesKind:
		return textForm
	case protoreflect.MessageKind:
		return wellKnown[f.Message().FullName()]
	case protoreflect.GroupKind:
		return noForm
	}
	return numberForm
}

// wellKnown are the messages whose JSON form is no object or array.
var wellKnown = map[protoreflect.FullName]form{
	"google.protobuf.Timestamp":   textForm,
	"google.protobuf.Duration":    textForm,
	"google.protobuf.FieldMask":   textForm,
	"google.protobuf.StringValue": textForm,
	"google.protobuf.BytesValue":  textForm,
	"google.protobuf.DoubleValue": numberForm,
	"google.protobuf.FloatValue":  numberForm,
	"google.protobuf.Int64Value":  numberForm,
	"google.protobuf.UInt64Value": numberForm,
	"google.protobuf.Int32Value":  numberForm,
	"google.protobuf.UInt32Value": numberForm,
	"google.protobuf.BoolValue":   boolForm,
}

// input describes a method's request; it is nil only if nothing does.
func input(m *everywire.Method) map[string]*field {
	if m.Input == nil && m.Desc != nil {
		return fieldsOfDesc(m.Desc.Input())
	}
	return fieldsOf(m.Input)
}

func output(m *everywire.Method) map[string]*field {
	if m.Output == nil && m.Desc != nil {
		return fieldsOfDesc(m.Desc.Output())
	}
	return fieldsOf(m.Output)
}

// appendJSON appends text as the JSON value of one element. Text that does not
// suit the form is written as a string, which the codec then refuses in its
// own words.
func (f form) appendJSON(dst []byte, text string) ([]byte, error) {
	switch {
	case (f == numberForm || f == enumForm) && isNumber(text),
		f == boolForm && (text == "true" || text == "false"):
		return append(dst, text...), nil
	case !utf8.ValidString(text):
		return dst, errors.New("the value is not valid UTF-8")
	}
	return appendQuoted(dst, text), nil
}

// text is the inverse of appendJSON.
func (f form) text(value []byte) (string, error) {
	if value[0] != '"' {
		return string(value), nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", fmt.Errorf("malformed string: %w", err)
	}
	return s, nil
}

// zero is the text of a field that the codec left out; "" if it has none.
func (f form) zero() string {
	switch f {
	case numberForm, enumForm:
		return "0"
	case boolForm:
		return "false"
	}
	return ""
}

// absentJSON is what a field that the codec left out looks like by itself.
func absentJSON(f *field, isMap, optional bool) string {
	switch {
	case isMap:
		return "{}"
	case f.list:
		return "[]"
	case optional || f.form == noForm:
		return "null"
	case f.form == textForm:
		return `""`
	}
	return f.form.zero()
}
