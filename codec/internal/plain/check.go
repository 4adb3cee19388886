package plain

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// Check says why the plain struct m, or one that it refers to, cannot have a
// layout with a slot for each field number up to a largest one: a number is
// above that, or a field holds a generated message, whose only encoding is
// protobuf's.
func Check(m *schema.Message, largest protoreflect.FieldNumber) error {
	return check(m, largest, map[*schema.Message]bool{})
}

func check(m *schema.Message, largest protoreflect.FieldNumber, seen map[*schema.Message]bool) error {
	if seen[m] {
		return nil
	}
	seen[m] = true
	for _, f := range m.Fields {
		switch {
		case f.Kind == schema.Proto:
			return fieldError(m, f, "the generated message %s has no form here: only plain structs have", f.Type)
		case f.Number > largest:
			return fieldError(m, f, "the field number %d is above %d, the largest that has a slot here", f.Number, largest)
		case f.Message != nil:
			if err := check(f.Message, largest, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func fieldError(m *schema.Message, f *schema.Field, format string, args ...any) error {
	return fmt.Errorf("%s.%s: "+format, append([]any{m.Type, m.Type.Field(f.Index).Name}, args...)...)
}

// KeyType is the Go type of the keys of a map field.
func KeyType(m *schema.Message, f *schema.Field) reflect.Type {
	return m.Type.Field(f.Index).Type.Key()
}
