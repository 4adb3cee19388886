package rest

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// A field is a field of a message as paths, queries, headers and cookies see
// it.
type field struct {
	name    string // in JSON
	form    form   // of the value, or of one element of a list or map
	list    bool
	isMap   bool
	message *fields // what a single message has inside, nil for all else
	absent  string  // the JSON of a field that the codec left out
	pointer bool    // a message that may be absent, which is not the same as empty
	index   int     // in the message's table
	place   schema.HTTPPlace
}

// A form says how a value looks as plain text.
type form uint8

const (
	// noForm: messages and documents have no text.
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

// single reports whether the field is one value that has a text.
func (f *field) single() bool { return f.form != noForm && !f.list && !f.isMap }

// queryName is what the client calls the field in a query.
func (f *field) queryName() string {
	if f.place.In == schema.InQuery {
		return f.place.Name
	}
	return f.name
}

// plain reports whether the codec always writes the field, as one value that
// has a text.
func (f *field) plain() bool { return f.single() && f.absent != "null" }

// fields are those of a message. It has none if it is no object in JSON, or
// one whose members are not its fields.
type fields struct {
	all    []*field
	byName map[string]*field // by JSON name and protobuf name
	// byQuery are the names in queries: those of byName, but where a tag gives
	// another name.
	byQuery map[string]*field
}

// A compiler makes endpoints. It knows each message type once, since types may
// refer to themselves.
type compiler struct {
	plain     map[*schema.Message]*fields
	generated map[protoreflect.MessageDescriptor]*fields
}

func newCompiler() *compiler {
	return &compiler{map[*schema.Message]*fields{}, map[protoreflect.MessageDescriptor]*fields{}}
}

// fieldsOf describes a message; m and desc may be nil, and it is empty if both
// are.
func (c *compiler) fieldsOf(m *schema.Message, desc protoreflect.MessageDescriptor) *fields {
	switch {
	case m == nil && desc != nil:
		return c.fieldsOfDesc(desc)
	case m == nil || !m.IsObject():
		return &fields{}
	case m.Desc != nil:
		return c.fieldsOfDesc(m.Desc)
	}
	if known := c.plain[m]; known != nil {
		return known
	}
	all := &fields{byName: map[string]*field{}, byQuery: map[string]*field{}}
	c.plain[m] = all
	for i, f := range m.Fields {
		x := &field{name: f.JSONName, list: f.Repeated, isMap: f.MapKey != schema.Invalid, index: i, place: f.HTTP}
		optional := f.Optional || f.Kind == schema.Proto || f.Kind == schema.Struct && f.Type.Kind() == reflect.Pointer
		switch f.Kind {
		case schema.Bool:
			x.form = boolForm
		case schema.Int32, schema.Int64, schema.Uint32, schema.Uint64, schema.Float32, schema.Float64:
			x.form = numberForm
		case schema.String, schema.Bytes, schema.Time, schema.Duration:
			x.form = textForm
		case schema.Proto:
			x.form = wellKnown[f.Message.Name]
		}
		if x.form == noForm && !x.list && !x.isMap && f.Message != nil {
			x.message, x.pointer = c.fieldsOf(f.Message, nil), optional
		}
		x.absent = absentJSON(x, optional)
		all.all = append(all.all, x)
		for _, name := range []string{f.JSONName, f.Name} {
			all.byName[name] = x
			if m.ByQuery(name) == f {
				all.byQuery[name] = x
			}
		}
		if f.HTTP.In == schema.InQuery {
			all.byQuery[f.HTTP.Name] = x
		}
	}
	return all
}

func (c *compiler) fieldsOfDesc(d protoreflect.MessageDescriptor) *fields {
	if known := c.generated[d]; known != nil {
		return known
	}
	all := &fields{byName: map[string]*field{}}
	all.byQuery = all.byName
	c.generated[d] = all
	if inMembers[d.FullName()] {
		return all
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		x := &field{name: f.JSONName(), list: f.IsList(), isMap: f.IsMap(), index: i}
		value := f
		if x.isMap {
			value = f.MapValue()
		}
		x.form = formOfDesc(value)
		if x.form == noForm && !x.list && !x.isMap {
			x.message, x.pointer = c.fieldsOfDesc(f.Message()), true
		}
		x.absent = absentJSON(x, f.HasPresence())
		if x.form == enumForm && x.single() && !f.HasPresence() {
			if zero := f.Enum().Values().ByNumber(0); zero != nil {
				x.absent = `"` + string(zero.Name()) + `"`
			}
		}
		all.all = append(all.all, x)
		all.byName[f.JSONName()], all.byName[string(f.Name())] = x, x
	}
	return all
}

func formOfDesc(f protoreflect.FieldDescriptor) form {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return boolForm
	case protoreflect.EnumKind:
		if f.Enum().FullName() == "google.protobuf.NullValue" {
			return noForm // null in JSON
		}
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

// inMembers are the messages whose members in JSON are not their fields.
var inMembers = map[protoreflect.FullName]bool{
	"google.protobuf.Struct": true, "google.protobuf.Any": true,
	"google.protobuf.Value": true, "google.protobuf.ListValue": true,
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

// input describes a method's request.
func (c *compiler) input(m *everywire.Method) *fields {
	if m.Desc != nil {
		return c.fieldsOf(m.Input, m.Desc.Input())
	}
	return c.fieldsOf(m.Input, nil)
}

func (c *compiler) output(m *everywire.Method) *fields {
	if m.Desc != nil {
		return c.fieldsOf(m.Output, m.Desc.Output())
	}
	return c.fieldsOf(m.Output, nil)
}

// find follows the names of a path such as book.name from field to field.
func (f *fields) find(path string) ([]*field, error) {
	var chain []*field
	for name := range strings.SplitSeq(path, ".") {
		if f == nil {
			return nil, fmt.Errorf("field %s is no message that has fields", chain[len(chain)-1].name)
		}
		x := f.byName[name]
		if x == nil {
			return nil, fmt.Errorf("there is no field %s", name)
		}
		chain = append(chain, x)
		f = x.message
	}
	return chain, nil
}

// pathOf writes a chain of fields as book.name.
func pathOf(chain []*field) string {
	if len(chain) == 1 {
		return chain[0].name
	}
	names := make([]string, len(chain))
	for i, f := range chain {
		names[i] = f.name
	}
	return strings.Join(names, ".")
}

// appendJSON appends text, which is valid UTF-8, as the JSON value of one
// element. Text that does not suit the form is written as a string, which the
// codec then refuses in its own words.
func (f form) appendJSON(dst []byte, text string) []byte {
	if (f == numberForm || f == enumForm) && isNumber(text) || f == boolForm && (text == "true" || text == "false") {
		return append(dst, text...)
	}
	return appendQuoted(dst, text)
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
func absentJSON(f *field, optional bool) string {
	switch {
	case f.isMap:
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
