package describe

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// largestSlot is the largest field number of the codecs flatbuffers and capnp,
// whose schemas have a line for each number.
const largestSlot = 4096

// FlatBuffers writes methods and their messages as one .fbs file: a table for
// each message, as the codec flatbuffers writes it, and an rpc_service for each
// service.
//
// A method whose messages FlatBuffers cannot carry, or whose types are not
// known, is left out, and the error says so; the file is good without it.
func FlatBuffers(methods []*everywire.Method, o Options) ([]byte, error) {
	carried, messages, err := slotted(methods)
	f := &fbsFile{names: map[string]bool{}}
	fmt.Fprintf(&f.text, "// %s, as the codec flatbuffers of everywire writes its messages.\n", infoOf(carried, o).Title)
	f.shared(messages)
	packages := map[protoreflect.FullName][]*schema.Message{}
	for _, m := range messages {
		if !m.Document {
			packages[m.Name.Parent()] = append(packages[m.Name.Parent()], m)
			f.names[string(m.Name)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		f.namespace(name)
		for _, m := range packages[name] {
			f.table(m)
		}
	}
	f.services(carried)
	return f.text.Bytes(), err
}

// slotted returns the methods that an encoding with a slot for each field number
// can carry, and their messages, each after those that it refers to, but for
// recursion.
func slotted(methods []*everywire.Method) (carried []*everywire.Method, messages []*schema.Message, err error) {
	c := carrier{claimed: map[protoreflect.FullName]*schema.Message{}, check: func(f *schema.Field) error {
		if f.Number > largestSlot {
			return fmt.Errorf("the number %d is above %d, the largest that has a slot", f.Number, largestSlot)
		}
		return nil
	}}
	seen := map[*schema.Message]bool{}
	var collect func(m *schema.Message)
	collect = func(m *schema.Message) {
		if seen[m] {
			return
		}
		seen[m] = true
		for _, f := range m.Fields {
			if f.Message != nil {
				collect(f.Message)
			}
		}
		messages = append(messages, m)
	}
	var errs []error
	for _, m := range methods {
		if err := c.method(m); err != nil {
			errs = append(errs, err)
			continue
		}
		carried = append(carried, m)
		collect(m.Input)
		collect(m.Output)
	}
	return carried, messages, errors.Join(errs...)
}

// anyField reports whether a field of the messages is as is says.
func anyField(messages []*schema.Message, is func(*schema.Field) bool) bool {
	return slices.ContainsFunc(messages, func(m *schema.Message) bool { return slices.ContainsFunc(m.Fields, is) })
}

func anyDocument(messages []*schema.Message) bool {
	return slices.ContainsFunc(messages, func(m *schema.Message) bool { return m.Document })
}

// An fbsFile is the file in the making.
type fbsFile struct {
	text  bytes.Buffer
	names map[string]bool // full names that are taken
}

func (f *fbsFile) namespace(name protoreflect.FullName) {
	// Without a name it is that of no namespace.
	fmt.Fprintf(&f.text, "\nnamespace %s;\n", name)
}

// shared writes the types that messages have in common beside each other.
func (f *fbsFile) shared(messages []*schema.Message) {
	kind := func(k schema.Kind) bool {
		return anyField(messages, func(f *schema.Field) bool { return f.Kind == k })
	}
	var parts []string
	if kind(schema.Time) {
		parts = append(parts, "/// A time in UTC: seconds since 1970, and 0 to 999999999 nanoseconds from there on.\nstruct Timestamp {\n  seconds:int64;\n  nanos:int32;\n}\n")
	}
	if kind(schema.Duration) {
		parts = append(parts, "/// A duration. The nanoseconds have the sign of the seconds.\nstruct Duration {\n  seconds:int64;\n  nanos:int32;\n}\n")
	}
	if anyField(messages, func(f *schema.Field) bool { return f.Kind == schema.Bytes && f.Repeated }) {
		parts = append(parts, "/// Bytes in a list.\ntable Bytes {\n  value:[ubyte] (id: 0);\n}\n")
	}
	if anyDocument(messages) {
		parts = append(parts, "/// Any JSON value.\ntable Document {\n  json:string (id: 0);\n}\n")
	}
	if len(parts) > 0 {
		f.namespace("everywire")
		f.text.WriteString("\n" + strings.Join(parts, "\n"))
	}
}

func (f *fbsFile) comment(indent, doc string) {
	for line := range strings.SplitSeq(strings.TrimSpace(doc), "\n") {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "\r", " ")); line != "" {
			fmt.Fprintf(&f.text, "%s/// %s\n", indent, line)
		}
	}
}

// table writes the table of a message, and before it those of the entries of its
// maps. Ids must have no gaps: a number that no field has is a deprecated field,
// for which no code is generated.
func (f *fbsFile) table(m *schema.Message) {
	entries := map[*schema.Field]string{}
	for _, field := range m.Fields {
		if field.MapKey != schema.Invalid {
			entries[field] = f.entry(m, field)
		}
	}
	fmt.Fprintf(&f.text, "\ntable %s {\n", m.Name.Name())
	next := protoreflect.FieldNumber(1)
	for _, field := range m.Fields {
		for ; next < field.Number; next++ {
			fmt.Fprintf(&f.text, "  %s:bool (id: %d, deprecated);\n", unusedName(m, "unused_", next), next-1)
		}
		next++
		f.comment("  ", field.Doc)
		typ := fbsType(field)
		switch {
		case field.MapKey != schema.Invalid:
			typ = "[" + entries[field] + "]"
		case field.Repeated && field.Kind == schema.Bytes:
			typ = "[everywire.Bytes]"
		case field.Repeated:
			typ = "[" + typ + "]"
		case field.Optional && fbsScalar(field.Kind):
			typ += " = null"
		}
		fmt.Fprintf(&f.text, "  %s:%s (id: %d);%s\n", field.Name, typ, field.Number-1, jsonNote(" //", field))
	}
	f.text.WriteString("}\n")
}

// jsonNote says what a text is that holds a document.
func jsonNote(mark string, field *schema.Field) string {
	if field.Kind == schema.Any {
		return mark + " JSON"
	}
	return ""
}

// unusedName is the name of a field that is not there.
func unusedName(m *schema.Message, prefix string, n protoreflect.FieldNumber) string {
	name := fmt.Sprintf("%s%d", prefix, n)
	for m.ByName(name) != nil {
		name += "x"
	}
	return name
}

// entry writes the table of a map's entries and returns its name.
func (f *fbsFile) entry(m *schema.Message, field *schema.Field) string {
	name := string(m.Name.Name()) + camel(field.Name, true) + "Entry"
	for f.names[string(m.Name.Parent().Append(protoreflect.Name(name)))] {
		name += "_"
	}
	f.names[string(m.Name.Parent().Append(protoreflect.Name(name)))] = true
	fmt.Fprintf(&f.text, "\ntable %s {\n  key:%s (key, id: 0);\n  value:%s (id: 1);%s\n}\n",
		name, fbsKinds[field.MapKey], fbsType(field), jsonNote(" //", field))
	return name
}

// fbsKinds are the types of single values.
var fbsKinds = map[schema.Kind]string{
	schema.Bool: "bool", schema.Int32: "int32", schema.Int64: "int64", schema.Uint32: "uint32", schema.Uint64: "uint64",
	schema.Float32: "float32", schema.Float64: "float64", schema.String: "string", schema.Bytes: "[ubyte]",
	schema.Time: "everywire.Timestamp", schema.Duration: "everywire.Duration", schema.Any: "string",
}

// fbsScalar reports whether a value is always there in FlatBuffers unless its
// field says otherwise.
func fbsScalar(k schema.Kind) bool { return k <= schema.Float64 }

func fbsType(field *schema.Field) string {
	if field.Kind == schema.Struct {
		return string(field.Message.Name)
	}
	return fbsKinds[field.Kind]
}

// services writes the methods, which are those of a service one after another.
func (f *fbsFile) services(methods []*everywire.Method) {
	for i, m := range methods {
		service := protoreflect.FullName(m.Service)
		if i == 0 || methods[i-1].Service != m.Service {
			f.namespace(service.Parent())
			fmt.Fprintf(&f.text, "\nrpc_service %s {\n", service.Name())
		}
		f.comment("  ", docOf(m))
		streaming := map[everywire.StreamKind]string{
			everywire.ClientStream: ` (streaming: "client")`, everywire.ServerStream: ` (streaming: "server")`, everywire.BidiStream: ` (streaming: "bidi")`,
		}[m.Kind]
		fmt.Fprintf(&f.text, "  %s(%s):%s%s;\n", m.Name, fbsMessage(m.Input), fbsMessage(m.Output), streaming)
		if i == len(methods)-1 || methods[i+1].Service != m.Service {
			f.text.WriteString("}\n")
		}
	}
}

func fbsMessage(m *schema.Message) string {
	if m.Document {
		return "everywire.Document"
	}
	return string(m.Name)
}
