package describe

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// A member is a field of a message, plain or generated.
type member struct {
	name      string // in JSON
	protoName string
	schema    *jsonSchema
	place     schema.HTTPPlace
	single    bool // it is no list and no map
	isMap     bool
	optional  bool // it has presence
	// message describes the inner fields: a *schema.Message or a
	// protoreflect.MessageDescriptor; nil for values without fields.
	message any
}

// members are the fields of a message by number, or nothing if its JSON form is
// not made of fields.
func (ts *types) members(message any) []member {
	var all []member
	switch m := message.(type) {
	case *schema.Message:
		if m == nil || m.Document {
			return nil
		}
		if m.Desc != nil {
			return ts.members(m.Desc)
		}
		for _, f := range m.Fields {
			one := member{
				name: f.JSONName, protoName: f.Name, schema: ts.field(f), place: f.HTTP,
				single: !f.Repeated && f.MapKey == schema.Invalid, isMap: f.MapKey != schema.Invalid, optional: !alwaysWritten(m, f),
			}
			if f.Message != nil {
				one.message = ts.inner(f.Message)
			}
			all = append(all, one)
		}
	case protoreflect.MessageDescriptor:
		if ts.wellKnown(m) != nil {
			return nil
		}
		for _, fd := range fieldsOf(m) {
			one := member{
				name: fd.JSONName(), protoName: string(fd.Name()), schema: ts.generatedField(fd),
				single: !fd.IsList() && !fd.IsMap(), isMap: fd.IsMap(), optional: fd.HasPresence(),
			}
			if fd.Message() != nil && !fd.IsMap() && ts.wellKnown(fd.Message()) == nil {
				one.message = fd.Message()
			}
			all = append(all, one)
		}
	}
	return all
}

// inner is what [member.message] has for a message.
func (ts *types) inner(m *schema.Message) any {
	switch {
	case m.Desc == nil:
		return m
	case ts.wellKnown(m.Desc) == nil:
		return m.Desc
	}
	return nil
}

// textual reports whether a value of the member can stand in a path, a header
// or a query.
func (m *member) textual() bool {
	return m.message == nil && m.schema.isTextual()
}

// isTextual reports whether values have a form as plain text: they are no
// objects, no arrays and not just anything.
func (s *jsonSchema) isTextual() bool {
	switch {
	case s.Type == "array":
		return s.Items != nil && s.Items.isTextual() && s.Items.Type != "array"
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].isTextual()
	}
	return s.Ref == "" && len(s.AllOf) == 0 && s.Type != "" && s.Type != "object" && s.Type != "null"
}

func (m *member) called(name string) bool { return m.name == name || m.protoName == name }

// input is what describes a method's request: see [types.members].
func input(m *everywire.Method) any {
	if m.Input == nil && m.Desc != nil {
		return m.Desc.Input()
	}
	return m.Input
}

func output(m *everywire.Method) any {
	if m.Output == nil && m.Desc != nil {
		return m.Desc.Output()
	}
	return m.Output
}

// whole is the schema of a message.
func (ts *types) whole(message any) *jsonSchema {
	switch m := message.(type) {
	case *schema.Message:
		return ts.message(m)
	case protoreflect.MessageDescriptor:
		return ts.generated(m)
	}
	return &jsonSchema{}
}
