package describe

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// CapnProto writes methods and their messages as one .capnp file: a struct for
// each message, as the codec capnp writes it. Methods are comments, since those
// of a Cap'n Proto interface would be called by Cap'n Proto's own RPC. Ids
// follow from full names, and so do not change when others do.
//
// A method whose messages Cap'n Proto cannot carry, or whose types are not
// known, is left out, and the error says so; the file is good without it.
func CapnProto(methods []*everywire.Method, o Options) ([]byte, error) {
	carried, messages, err := slotted(methods)
	f := &capnpFile{names: map[string]string{}, types: map[string]bool{}}
	shared := capnpShared(messages)
	f.name(messages, slices.Sorted(maps.Keys(shared)))
	packages := map[string]bool{}
	for _, m := range carried {
		packages[m.Service] = true
	}
	fmt.Fprintf(&f.text, "# %s, as the codec capnp of everywire writes its messages.\n", infoOf(carried, o).Title)
	fmt.Fprintf(&f.text, "@%s;\n", capnpID("file:"+strings.Join(slices.Sorted(maps.Keys(packages)), ",")))
	f.methods(carried)
	errs := []error{err}
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		fmt.Fprintf(&f.text, "\nstruct %s @%s {\n%s}\n", f.names[name], capnpID(name), shared[name])
	}
	for _, m := range messages {
		if !m.Document {
			errs = append(errs, f.message(m))
		}
	}
	return f.text.Bytes(), errors.Join(errs...)
}

// capnpShared are the structs that messages have in common beside each other:
// their content by their full names.
func capnpShared(messages []*schema.Message) map[string]string {
	shared := map[string]string{}
	for _, m := range messages {
		if m.Document {
			shared["everywire.Document"] = "  json @0 :Text;\n  # Any JSON value.\n"
		}
		for _, f := range m.Fields {
			switch {
			case f.Kind == schema.Time:
				shared["everywire.Timestamp"] = "  seconds @0 :Int64;\n  # Since 1970, in UTC.\n  nanos @1 :Int32;\n  # From there on, 0 to 999999999.\n"
			case f.Kind == schema.Duration:
				shared["everywire.Duration"] = "  seconds @0 :Int64;\n  nanos @1 :Int32;\n  # With the sign of the seconds.\n"
			case f.Optional && f.Kind <= schema.Float64:
				shared["everywire.Optional"+capnpKinds[f.Kind]] = "  value @0 :" + capnpKinds[f.Kind] + ";\n"
			}
		}
	}
	return shared
}

// A capnpFile is the file in the making.
type capnpFile struct {
	text  bytes.Buffer
	names map[string]string // what full names are called here
	types map[string]bool   // what is called so
}

// name gives every struct its name: the last part of the full name in camel
// case, as the capnp compiler demands it, if that is nobody else's, and else all
// of it.
func (f *capnpFile) name(messages []*schema.Message, shared []string) {
	all := shared
	for _, m := range messages {
		if !m.Document {
			all = append(all, string(m.Name))
		}
	}
	short := func(full string) string { return camel(string(protoreflect.FullName(full).Name()), true) }
	count := map[string]int{}
	for _, full := range all {
		count[short(full)]++
	}
	for _, full := range all {
		name := short(full)
		if count[name] > 1 || capnpBuiltin[name] {
			name = camel(strings.ReplaceAll(full, ".", "_"), true)
		}
		for f.types[name] {
			name += "X"
		}
		f.names[full], f.types[name] = name, true
	}
}

// capnpBuiltin are the types of the language, which a struct of the same name
// would hide.
var capnpBuiltin = setOf("Void", "Bool", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64",
	"Text", "Data", "List", "AnyPointer", "AnyStruct", "AnyList", "Capability")

// capnpID is a 64-bit id made from a name. Its highest bit is set, as in all.
func capnpID(name string) string {
	sum := sha256.Sum256([]byte("everywire " + name))
	return fmt.Sprintf("%#x", binary.BigEndian.Uint64(sum[:])|1<<63)
}

// camel joins the parts between underscores, the first one beginning with a
// capital or not.
func camel(name string, upper bool) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r == '_':
			upper = upper || b.Len() > 0
		case b.Len() == 0 && unicode.IsDigit(r):
			b.WriteString(map[bool]string{true: "N", false: "n"}[upper]) // for number: no name begins with a digit
			b.WriteRune(r)
			upper = false
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		case b.Len() == 0:
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 { // of underscores alone
		return map[bool]string{true: "X", false: "x"}[upper]
	}
	return b.String()
}

// message writes the struct of a message. Ordinals must have no gaps: a number
// that no field has is a field of type Void, which takes no room.
func (f *capnpFile) message(m *schema.Message) error {
	var errs []error
	names := map[string]*schema.Field{}
	fmt.Fprintf(&f.text, "\nstruct %s @%s {\n", f.names[string(m.Name)], capnpID(string(m.Name)))
	var entries bytes.Buffer
	next := protoreflect.FieldNumber(1)
	for _, field := range m.Fields {
		for ; next < field.Number; next++ {
			fmt.Fprintf(&f.text, "  %s @%d :Void;\n", unusedName(m, "unused", next), next-1)
		}
		next++
		name := camel(field.Name, false)
		if other := names[name]; other != nil {
			errs = append(errs, fmt.Errorf("%s: the fields %s and %s are both called %s in Cap'n Proto", m.Name, other.Name, field.Name, name))
		}
		names[name] = field
		typ := f.typeOf(field)
		switch {
		case field.MapKey != schema.Invalid:
			typ = f.entry(&entries, m, field, typ)
		case field.Repeated:
			typ = "List(" + typ + ")"
		}
		fmt.Fprintf(&f.text, "  %s @%d :%s;%s\n", name, field.Number-1, typ, jsonNote("  #", field))
		f.comment("  #", field.Doc)
	}
	f.text.Write(entries.Bytes())
	f.text.WriteString("}\n")
	return errors.Join(errs...)
}

// entry writes the struct of a map's entries, which is inside that of the
// message, and returns the type of the list.
func (f *capnpFile) entry(to *bytes.Buffer, m *schema.Message, field *schema.Field, value string) string {
	name := camel(field.Name, true) + "Entry"
	for f.types[name] {
		name += "X"
	}
	fmt.Fprintf(to, "\n  struct %s @%s {\n    key @0 :%s;\n    value @1 :%s;%s\n  }\n",
		name, capnpID(string(m.Name)+"."+field.Name), capnpKinds[field.MapKey], value, jsonNote("  #", field))
	return "List(" + name + ")"
}

// comment writes a comment, which stands behind what it is about.
func (f *capnpFile) comment(mark, doc string) {
	for line := range strings.SplitSeq(strings.TrimSpace(doc), "\n") {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "\r", " ")); line != "" {
			fmt.Fprintf(&f.text, "%s %s\n", mark, line)
		}
	}
}

// capnpKinds are the types of values without structs of their own.
var capnpKinds = map[schema.Kind]string{
	schema.Bool: "Bool", schema.Int32: "Int32", schema.Int64: "Int64", schema.Uint32: "UInt32", schema.Uint64: "UInt64",
	schema.Float32: "Float32", schema.Float64: "Float64", schema.String: "Text", schema.Bytes: "Data", schema.Any: "Text",
}

func (f *capnpFile) typeOf(field *schema.Field) string {
	switch {
	case field.Kind == schema.Time:
		return f.names["everywire.Timestamp"]
	case field.Kind == schema.Duration:
		return f.names["everywire.Duration"]
	case field.Kind == schema.Struct:
		return f.names[string(field.Message.Name)]
	case field.Optional && field.Kind <= schema.Float64:
		return f.names["everywire.Optional"+capnpKinds[field.Kind]]
	}
	return capnpKinds[field.Kind]
}

// methods writes the methods, which are those of a service one after another,
// as comments.
func (f *capnpFile) methods(methods []*everywire.Method) {
	for i, m := range methods {
		if i == 0 || methods[i-1].Service != m.Service {
			fmt.Fprintf(&f.text, "\n# %s:\n", m.Service)
		}
		kind := ""
		if m.Kind != everywire.Unary {
			kind = fmt.Sprintf(" (%v)", m.Kind)
		}
		fmt.Fprintf(&f.text, "#   %s%s takes %s and gives %s.\n", m.Name, kind, f.messageName(m.Input), f.messageName(m.Output))
		f.comment("#    ", docOf(m))
	}
}

func (f *capnpFile) messageName(m *schema.Message) string {
	if m.Document {
		return f.names["everywire.Document"]
	}
	return f.names[string(m.Name)]
}
