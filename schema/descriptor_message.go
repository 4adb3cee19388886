package schema

import (
	"fmt"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// message derives the descriptor of a plain struct and of what it refers to.
func (d *deriver) message(m *Message) error {
	if other := d.messages[m.Name]; other != nil && other.Type == m.Type {
		return nil // also while it is under way, for recursive types
	}
	if err := d.claim(m); err != nil {
		return err
	}
	p := d.file(m.Name.Parent())
	name := string(m.Name.Name())
	dp := &descriptorpb.DescriptorProto{Name: &name}
	// Into the file before its fields, so that messages stand in the order in
	// which a reader meets them.
	index := int32(len(p.proto.MessageType))
	p.proto.MessageType = append(p.proto.MessageType, dp)
	for i, f := range m.Fields {
		p.comment(f.Doc, fileMessage, index, messageField, int32(i))
		if err := d.field(p, dp, m, f); err != nil {
			return fmt.Errorf("%w (field %s of %s)", err, f.Name, m.Type)
		}
	}
	return nil
}

func (d *deriver) field(p *packageFile, dp *descriptorpb.DescriptorProto, m *Message, f *Field) error {
	number := int32(f.Number)
	fd := &descriptorpb.FieldDescriptorProto{
		Name:     &f.Name,
		JsonName: &f.JSONName,
		Number:   &number,
		Label:    descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	switch {
	case f.MapKey != Invalid:
		entry, err := d.mapEntry(p, f)
		if err != nil {
			return err
		}
		dp.NestedType = append(dp.NestedType, entry)
		typeName := "." + string(m.Name.Append(protoreflect.Name(entry.GetName())))
		fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		fd.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		fd.TypeName = &typeName
	default:
		if err := d.setType(p, fd, f); err != nil {
			return err
		}
		if f.Repeated {
			fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if f.Optional && fd.GetType() != descriptorpb.FieldDescriptorProto_TYPE_MESSAGE {
			// proto3 writes an optional scalar as the only member of a
			// synthetic oneof. Messages have presence without it.
			optional, oneof, index := true, "_"+f.Name, int32(len(dp.OneofDecl))
			fd.Proto3Optional, fd.OneofIndex = &optional, &index
			dp.OneofDecl = append(dp.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: &oneof})
		}
		if f.Quoted && (f.Kind == Int64 || f.Kind == Uint64) {
			fd.Options = &descriptorpb.FieldOptions{Jstype: descriptorpb.FieldOptions_JS_STRING.Enum()}
		}
	}
	dp.Field = append(dp.Field, fd)
	return nil
}

// mapEntry is the nested message that a map field is a list of. Its name is
// prescribed: the field's name in camel case, and Entry.
func (d *deriver) mapEntry(p *packageFile, f *Field) (*descriptorpb.DescriptorProto, error) {
	var b strings.Builder
	up := true
	for _, r := range f.Name {
		if r == '_' {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	b.WriteString("Entry")
	name, isMap := b.String(), true
	keyName, keyNumber := "key", int32(1)
	valueName, valueNumber := "value", int32(2)
	key := &descriptorpb.FieldDescriptorProto{
		Name: &keyName, JsonName: &keyName, Number: &keyNumber,
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		Type:  scalarTypes[f.MapKey].Enum(),
	}
	value := &descriptorpb.FieldDescriptorProto{
		Name: &valueName, JsonName: &valueName, Number: &valueNumber,
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	if err := d.setType(p, value, f); err != nil {
		return nil, err
	}
	return &descriptorpb.DescriptorProto{
		Name:    &name,
		Field:   []*descriptorpb.FieldDescriptorProto{key, value},
		Options: &descriptorpb.MessageOptions{MapEntry: &isMap},
	}, nil
}

var scalarTypes = map[Kind]descriptorpb.FieldDescriptorProto_Type{
	Bool:    descriptorpb.FieldDescriptorProto_TYPE_BOOL,
	Int32:   descriptorpb.FieldDescriptorProto_TYPE_INT32,
	Int64:   descriptorpb.FieldDescriptorProto_TYPE_INT64,
	Uint32:  descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	Uint64:  descriptorpb.FieldDescriptorProto_TYPE_UINT64,
	Float32: descriptorpb.FieldDescriptorProto_TYPE_FLOAT,
	Float64: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
	String:  descriptorpb.FieldDescriptorProto_TYPE_STRING,
	Bytes:   descriptorpb.FieldDescriptorProto_TYPE_BYTES,
}

// setType sets the type of one element of f.
func (d *deriver) setType(p *packageFile, fd *descriptorpb.FieldDescriptorProto, f *Field) (err error) {
	if t, ok := scalarTypes[f.Kind]; ok {
		fd.Type = t.Enum()
		return nil
	}
	fd.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	switch f.Kind {
	case Time:
		fd.TypeName = p.importOf((*timestamppb.Timestamp)(nil).ProtoReflect().Descriptor())
	case Duration:
		fd.TypeName = p.importOf((*durationpb.Duration)(nil).ProtoReflect().Descriptor())
	case Any:
		fd.TypeName = p.importOf((*structpb.Value)(nil).ProtoReflect().Descriptor())
	default: // Struct, Proto
		fd.TypeName, err = d.refer(p, f.Message)
	}
	return err
}
