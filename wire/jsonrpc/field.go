package jsonrpc

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

func plainField(f *schema.Field) field {
	return field{key: f.JSONName, zero: plainZero(f), repeated: f.Repeated}
}

func plainZero(f *schema.Field) string {
	switch {
	case f.MapKey != schema.Invalid:
		return "{}"
	case f.Repeated:
		return "[]"
	case f.Optional:
		return "null"
	}
	switch f.Kind {
	case schema.Bool:
		return "false"
	case schema.Int64, schema.Uint64:
		if f.Quoted {
			return `"0"`
		}
		return "0"
	case schema.Int32, schema.Uint32, schema.Float32, schema.Float64:
		return "0"
	case schema.String, schema.Bytes:
		return `""`
	case schema.Duration:
		return `"0s"`
	}
	return "null"
}

func generatedFields(d protoreflect.MessageDescriptor) []field {
	fds := make([]protoreflect.FieldDescriptor, d.Fields().Len())
	for i := range fds {
		fds[i] = d.Fields().Get(i)
	}
	slices.SortFunc(fds, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	fs := make([]field, len(fds))
	for i, fd := range fds {
		fs[i] = generatedField(fd)
	}
	return fs
}

func generatedField(fd protoreflect.FieldDescriptor) field {
	return field{key: fd.JSONName(), zero: generatedZero(fd), repeated: fd.IsList()}
}

func generatedZero(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.IsMap():
		return "{}"
	case fd.IsList():
		return "[]"
	case fd.HasPresence():
		return "null"
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return "false"
	case protoreflect.StringKind, protoreflect.BytesKind:
		return `""`
	case protoreflect.EnumKind:
		// A field without presence has an open enum, whose first value is 0.
		return `"` + string(fd.Enum().Values().Get(0).Name()) + `"`
	}
	return "0"
}
