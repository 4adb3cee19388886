package describe

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// maxNumber is the highest field number.
const maxNumber = 1<<29 - 1

func (p *protoPrinter) message(m *descriptorpb.DescriptorProto, at path) {
	p.comment(at)
	p.block("message "+m.GetName(), func() { p.members(m, at) })
}

// members writes what stands in a message's braces, or a group's.
func (p *protoPrinter) members(m *descriptorpb.DescriptorProto, at path) {
	p.in = append(p.in, m)
	defer func() { p.in = p.in[:len(p.in)-1] }()
	p.optionLines(p.setOptions(m.GetOptions()))
	oneofs := map[int32]bool{}
	for i, f := range m.GetField() {
		if f.OneofIndex == nil || f.GetProto3Optional() {
			p.field(f, at.to(inMessageField, int32(i)), m.GetNestedType())
			continue
		}
		if oneofs[f.GetOneofIndex()] {
			continue
		}
		oneofs[f.GetOneofIndex()] = true // where its first member stands
		p.oneof(m, f.GetOneofIndex(), at)
	}
	var ranges []string
	for _, r := range m.GetReservedRange() {
		ranges = append(ranges, numberRange(r.GetStart(), r.GetEnd()-1, maxNumber))
	}
	p.reserved(ranges, m.GetReservedName())
	for _, r := range m.GetExtensionRange() {
		p.line("extensions %s%s;", numberRange(r.GetStart(), r.GetEnd()-1, maxNumber), inBrackets(p.setOptions(r.GetOptions())))
	}
	p.extensions(m.GetExtension(), at.to(inMessageExtension), m.GetNestedType())
	groups := groupTypes(m.GetField(), m.GetExtension())
	for i, n := range m.GetNestedType() {
		if !n.GetOptions().GetMapEntry() && !groups[n.GetName()] {
			p.gap()
			p.message(n, at.to(inMessageNested, int32(i)))
		}
	}
	for i, e := range m.GetEnumType() {
		p.gap()
		p.enum(e, at.to(inMessageEnum, int32(i)))
	}
}

func (p *protoPrinter) oneof(m *descriptorpb.DescriptorProto, index int32, at path) {
	o := m.GetOneofDecl()[index]
	p.comment(at.to(inMessageOneof, index))
	p.block("oneof "+o.GetName(), func() {
		p.optionLines(p.setOptions(o.GetOptions()))
		for i, f := range m.GetField() {
			if f.OneofIndex != nil && f.GetOneofIndex() == index {
				p.field(f, at.to(inMessageField, int32(i)), m.GetNestedType())
			}
		}
	})
}

// extensions writes fields of other messages, in a block for each message.
func (p *protoPrinter) extensions(fields []*descriptorpb.FieldDescriptorProto, at path, nested []*descriptorpb.DescriptorProto) {
	for i := 0; i < len(fields); {
		extendee := fields[i].GetExtendee()
		p.gap()
		p.block("extend "+p.refer(extendee), func() {
			for ; i < len(fields) && fields[i].GetExtendee() == extendee; i++ {
				p.field(fields[i], at.to(int32(i)), nested)
			}
		})
	}
}

// groupTypes are the messages that fields of kind group define where they
// stand.
func groupTypes(lists ...[]*descriptorpb.FieldDescriptorProto) map[string]bool {
	types := map[string]bool{}
	for _, f := range slices.Concat(lists...) {
		if f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_GROUP {
			types[lastName(f.GetTypeName())] = true
		}
	}
	return types
}

// field writes a field. nested are the messages that are defined beside it.
func (p *protoPrinter) field(f *descriptorpb.FieldDescriptorProto, at path, nested []*descriptorpb.DescriptorProto) {
	p.comment(at)
	head := p.label(f)
	defined := slices.IndexFunc(nested, func(n *descriptorpb.DescriptorProto) bool { return n.GetName() == lastName(f.GetTypeName()) })
	isNested := defined >= 0 && f.TypeName != nil
	switch {
	case isNested && nested[defined].GetOptions().GetMapEntry():
		entry := nested[defined].GetField()
		head = fmt.Sprintf("map<%s, %s> ", p.typeName(entry[0]), p.typeName(entry[1]))
	case f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_GROUP && isNested:
		group := at[:len(at)-2].to(inMessageNested, int32(defined))
		if len(p.in) == 0 {
			group = path{inFileMessage, int32(defined)}
		}
		p.comment(group)
		p.block(fmt.Sprintf("%sgroup %s = %d%s", head, nested[defined].GetName(), f.GetNumber(), inBrackets(p.fieldOptions(f))),
			func() { p.members(nested[defined], group) })
		return
	default:
		head += p.typeName(f) + " "
	}
	p.line("%s%s = %d%s;", head, f.GetName(), f.GetNumber(), inBrackets(p.fieldOptions(f)))
}

// label is what stands before a field's type. In editions and proto3 a field
// without one has presence by its features or not at all.
func (p *protoPrinter) label(f *descriptorpb.FieldDescriptorProto) string {
	switch f.GetLabel() {
	case descriptorpb.FieldDescriptorProto_LABEL_REPEATED:
		return "repeated "
	case descriptorpb.FieldDescriptorProto_LABEL_REQUIRED:
		return "required "
	}
	if f.GetProto3Optional() || p.syntax == "proto2" && f.OneofIndex == nil {
		return "optional "
	}
	return ""
}

func (p *protoPrinter) typeName(f *descriptorpb.FieldDescriptorProto) string {
	if f.TypeName != nil {
		return p.refer(f.GetTypeName())
	}
	return strings.ToLower(strings.TrimPrefix(f.GetType().String(), "TYPE_"))
}

// fieldOptions are those of options, and what descriptors have elsewhere.
func (p *protoPrinter) fieldOptions(f *descriptorpb.FieldDescriptorProto) []option {
	var all []option
	if f.DefaultValue != nil {
		value := f.GetDefaultValue()
		switch f.GetType() {
		case descriptorpb.FieldDescriptorProto_TYPE_STRING:
			value = quoteProto(value)
		case descriptorpb.FieldDescriptorProto_TYPE_BYTES: // escaped already
			value = `"` + value + `"`
		}
		all = append(all, option{"default", value})
	}
	if f.JsonName != nil && f.GetJsonName() != defaultJSONName(f.GetName()) && f.Extendee == nil {
		all = append(all, option{"json_name", quoteProto(f.GetJsonName())})
	}
	return append(all, p.setOptions(f.GetOptions())...)
}

// defaultJSONName is the json_name that protoc gives a field.
func defaultJSONName(name string) string {
	var b strings.Builder
	up := false
	for _, c := range []byte(name) {
		switch {
		case c == '_':
			up = true
			continue
		case up && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		b.WriteByte(c)
	}
	return b.String()
}

// refer writes the name of a type in short if that finds it from here, for a
// name is looked up from the innermost scope outwards.
func (p *protoPrinter) refer(full string) string {
	name := strings.TrimPrefix(full, ".")
	if rest, ok := strings.CutPrefix(name, p.pkg+"."); ok && p.pkg != "" {
		if p.found(rest, true) {
			return rest
		}
		return "." + name
	}
	if p.found(name, false) {
		return name
	}
	return "." + name
}

// found reports whether a name, of this package or else a full one, means
// nothing else on the way out from a scope.
func (p *protoPrinter) found(name string, ours bool) bool {
	first, _, _ := strings.Cut(name, ".")
	if protoKeywords[first] || slices.ContainsFunc(p.in, func(m *descriptorpb.DescriptorProto) bool { return declares(m, first) }) {
		return false
	}
	if ours || p.pkg == "" {
		return true
	}
	if p.desc.Messages().ByName(protoreflect.Name(first)) != nil || p.desc.Enums().ByName(protoreflect.Name(first)) != nil {
		return false
	}
	packages := []protoreflect.FullName{p.desc.Package()}
	for i := range p.desc.Imports().Len() {
		packages = append(packages, p.desc.Imports().Get(i).Package())
	}
	// Each prefix of our package is a scope, too.
	for around := p.desc.Package(); around != ""; around = around.Parent() {
		inner := string(around) + "." + first
		if slices.ContainsFunc(packages, func(pkg protoreflect.FullName) bool {
			return strings.HasPrefix(string(pkg)+".", inner+".")
		}) {
			return false
		}
	}
	return true
}

// declares reports whether something in a message has a name.
func declares(m *descriptorpb.DescriptorProto, name string) bool {
	return slices.ContainsFunc(m.GetNestedType(), func(n *descriptorpb.DescriptorProto) bool { return n.GetName() == name }) ||
		slices.ContainsFunc(m.GetEnumType(), func(e *descriptorpb.EnumDescriptorProto) bool { return e.GetName() == name }) ||
		slices.ContainsFunc(m.GetField(), func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == name }) ||
		slices.ContainsFunc(m.GetOneofDecl(), func(o *descriptorpb.OneofDescriptorProto) bool { return o.GetName() == name }) ||
		slices.ContainsFunc(m.GetExtension(), func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == name })
}

// protoKeywords are words that begin something else where a type may stand.
var protoKeywords = map[string]bool{
	"message": true, "enum": true, "option": true, "oneof": true, "map": true, "group": true, "extend": true, "extensions": true,
	"reserved": true, "repeated": true, "optional": true, "required": true, "stream": true,
	"double": true, "float": true, "int32": true, "int64": true, "uint32": true, "uint64": true, "sint32": true, "sint64": true,
	"fixed32": true, "fixed64": true, "sfixed32": true, "sfixed64": true, "bool": true, "string": true, "bytes": true,
}
