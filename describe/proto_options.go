package describe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// An option is one as .proto files write it.
type option struct{ name, value string }

// setOptions are the options that are set, by their numbers.
func (p *protoPrinter) setOptions(options proto.Message) []option {
	var all []option
	m := options.ProtoReflect()
	if !m.IsValid() {
		return nil
	}
	for _, fd := range setFields(m) {
		name := string(fd.Name())
		if fd.IsExtension() {
			name = "(" + p.refer("."+string(fd.FullName())) + ")"
		}
		for _, value := range valuesOf(fd, m.Get(fd)) {
			all = append(all, option{name, optionValue(fd, value, "")})
		}
	}
	return all
}

// setFields lists a message's fields that are set, in the order of their
// numbers.
func setFields(m protoreflect.Message) []protoreflect.FieldDescriptor {
	var fields []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		fields = append(fields, fd)
		return true
	})
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number()) - int(b.Number()) })
	return fields
}

// valuesOf are a field's value, or the elements of a list: each is set for
// itself.
func valuesOf(fd protoreflect.FieldDescriptor, v protoreflect.Value) []protoreflect.Value {
	if !fd.IsList() {
		return []protoreflect.Value{v}
	}
	all := make([]protoreflect.Value, v.List().Len())
	for i := range all {
		all[i] = v.List().Get(i)
	}
	return all
}

// optionValue writes a value. A message is in the text format, its members on
// lines of their own.
func optionValue(fd protoreflect.FieldDescriptor, v protoreflect.Value, indent string) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return quoteProto(v.String())
	case protoreflect.BytesKind:
		return quoteProto(string(v.Bytes()))
	case protoreflect.EnumKind:
		if value := fd.Enum().Values().ByNumber(v.Enum()); value != nil {
			return string(value.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return floatText(v.Float())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		var b strings.Builder
		b.WriteString("{\n")
		m := v.Message()
		for _, member := range setFields(m) {
			name := string(member.Name())
			if member.IsExtension() {
				name = "[" + string(member.FullName()) + "]"
			}
			if member.IsMap() {
				writeMap(&b, member, name, m.Get(member).Map(), indent+"  ")
				continue
			}
			for _, value := range valuesOf(member, m.Get(member)) {
				fmt.Fprintf(&b, "%s  %s: %s\n", indent, name, optionValue(member, value, indent+"  "))
			}
		}
		b.WriteString(indent + "}")
		return b.String()
	}
	return v.String()
}

// writeMap writes a map's entries in the order of their keys' texts.
func writeMap(b *strings.Builder, fd protoreflect.FieldDescriptor, name string, m protoreflect.Map, indent string) {
	var lines []string
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		lines = append(lines, fmt.Sprintf("%s%s: { key: %s value: %s }\n", indent, name,
			optionValue(fd.MapKey(), k.Value(), indent), optionValue(fd.MapValue(), v, indent)))
		return true
	})
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}

func floatText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// optionLines writes options as the statements of a block.
func (p *protoPrinter) optionLines(options []option) {
	for _, o := range options {
		p.line("option %s = %s;", o.name, strings.ReplaceAll(o.value, "\n", "\n"+strings.Repeat("  ", p.depth)))
	}
}

// inBrackets writes options behind what they belong to, on one line.
func inBrackets(options []option) string {
	if len(options) == 0 {
		return ""
	}
	all := make([]string, len(options))
	for i, o := range options {
		all[i] = o.name + " = " + strings.Join(strings.Fields(o.value), " ")
		if !strings.HasPrefix(o.value, "{") { // a text may have spaces of its own
			all[i] = o.name + " = " + o.value
		}
	}
	return " [" + strings.Join(all, ", ") + "]"
}

// quoteProto writes a string as .proto files do: printable ASCII as it is,
// letters of Unicode too, other bytes in octal.
func quoteProto(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
