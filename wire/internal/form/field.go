package form

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// A Field is one field of a message as an object shows it.
type Field struct {
	// Key is the member's name, "" for no field.
	Key string
	// Zero is the field's zero value, as a document holds it: a codec may leave
	// it out. It is nil for what may be absent.
	Zero any
	// Quoted is set for integers that JSON writes as strings.
	Quoted   bool
	Repeated bool
}

// fieldOf finds a field by its JSON or protobuf name. Of a message that is not
// known, it believes the name.
func fieldOf(m *schema.Message, name string) (Field, bool) {
	switch {
	case m == nil:
		return Field{Key: name, Repeated: true}, name != ""
	case m.Desc != nil:
		fd := m.Desc.Fields().ByTextName(name)
		if fd == nil {
			fd = m.Desc.Fields().ByJSONName(name)
		}
		if fd == nil {
			return Field{}, false
		}
		return generatedField(fd), true
	}
	if f := m.ByName(name); f != nil {
		return plainField(f), true
	}
	return Field{}, false
}

// fieldsOf lists the fields in the order of their numbers; nil if unknown.
func fieldsOf(m *schema.Message) []Field {
	if m == nil {
		return nil
	}
	if m.Desc != nil {
		return generatedFields(m.Desc)
	}
	fs := make([]Field, 0, len(m.Fields))
	for _, f := range m.Fields {
		fs = append(fs, plainField(f))
	}
	return fs
}

func plainField(f *schema.Field) Field {
	return Field{
		Key: f.JSONName, Zero: plainZero(f), Repeated: f.Repeated,
		Quoted: f.Quoted && !f.Repeated && !f.Optional && f.MapKey == schema.Invalid,
	}
}

func plainZero(f *schema.Field) any {
	switch {
	case f.MapKey != schema.Invalid:
		return map[string]any{}
	case f.Repeated:
		return []any{}
	case f.Optional:
		return nil
	}
	switch f.Kind {
	case schema.Bool:
		return false
	case schema.Int32, schema.Int64, schema.Uint32, schema.Uint64, schema.Float32, schema.Float64:
		return int64(0)
	case schema.String:
		return ""
	case schema.Bytes:
		return []byte{}
	case schema.Duration:
		return "0s"
	}
	return nil
}

func generatedFields(d protoreflect.MessageDescriptor) []Field {
	fds := make([]protoreflect.FieldDescriptor, d.Fields().Len())
	for i := range fds {
		fds[i] = d.Fields().Get(i)
	}
	slices.SortFunc(fds, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	fs := make([]Field, len(fds))
	for i, fd := range fds {
		fs[i] = generatedField(fd)
	}
	return fs
}

func generatedField(fd protoreflect.FieldDescriptor) Field {
	return Field{Key: fd.JSONName(), Zero: generatedZero(fd), Repeated: fd.IsList()}
}

func generatedZero(fd protoreflect.FieldDescriptor) any {
	switch {
	case fd.IsMap():
		return map[string]any{}
	case fd.IsList():
		return []any{}
	case fd.HasPresence():
		return nil
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return false
	case protoreflect.StringKind:
		return ""
	case protoreflect.BytesKind:
		return []byte{}
	case protoreflect.EnumKind:
		// A field without presence has an open enum, whose first value is 0.
		return string(fd.Enum().Values().Get(0).Name())
	}
	return int64(0)
}
