package describe

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// Thrift writes methods and their messages as one .thrift file: a struct for
// each message, as the codecs thrift and thrift-compact write it, and a service
// for each service. Thrift has no streams, so of a streaming method there are
// the messages and a comment.
//
// A method whose messages Thrift cannot carry, or whose types are not known, is
// left out, and the error says so; the file is good without it.
func Thrift(methods []*everywire.Method, o Options) ([]byte, error) {
	f := &thriftFile{seen: map[*schema.Message]bool{}, names: map[protoreflect.FullName]string{}}
	var errs []error
	var carried []*everywire.Method
	c := carrier{claimed: map[protoreflect.FullName]*schema.Message{}, check: func(f *schema.Field) error {
		if f.Number > math.MaxInt16 {
			return fmt.Errorf("the number %d is above %d, the largest of a field in Thrift", f.Number, math.MaxInt16)
		}
		return nil
	}}
	for _, m := range methods {
		if err := c.method(m); err != nil {
			errs = append(errs, err)
			continue
		}
		carried = append(carried, m)
		f.collect(m.Input)
		f.collect(m.Output)
	}
	f.name(carried)
	fmt.Fprintf(&f.text, "// %s, as the codecs thrift and thrift-compact of everywire write its messages.\n", infoOf(carried, o).Title)
	f.namespace(carried)
	if f.clock {
		f.parts("Timestamp", "A time: seconds since 1970, in UTC.", "from there on, 0 to 999999999")
	}
	if f.span {
		f.parts("Duration", "A duration.", "with the sign of the seconds")
	}
	for _, m := range f.order {
		f.message(m)
	}
	f.services(carried)
	return f.text.Bytes(), errors.Join(errs...)
}

// A thriftFile is the file in the making.
type thriftFile struct {
	text        bytes.Buffer
	order       []*schema.Message // each after those that it refers to, but for recursion
	seen        map[*schema.Message]bool
	names       map[protoreflect.FullName]string // what messages and services are called here
	clock, span bool                             // a time, a duration is somewhere
}

// The types that this file may define beside messages.
const (
	thriftTimestamp = protoreflect.FullName("everywire.Timestamp")
	thriftDuration  = protoreflect.FullName("everywire.Duration")
	thriftDocument  = protoreflect.FullName("everywire.Document")
)

func (f *thriftFile) collect(m *schema.Message) {
	if f.seen[m] {
		return
	}
	f.seen[m] = true
	for _, field := range m.Fields {
		f.clock = f.clock || field.Kind == schema.Time
		f.span = f.span || field.Kind == schema.Duration
		if field.Message != nil {
			f.collect(field.Message)
		}
	}
	f.order = append(f.order, m)
}

// name gives everything its name: the last part of the full name if that is
// nobody else's, and else all of it.
func (f *thriftFile) name(methods []*everywire.Method) {
	var all []protoreflect.FullName
	if f.clock {
		all = append(all, thriftTimestamp)
	}
	if f.span {
		all = append(all, thriftDuration)
	}
	for _, m := range f.order {
		all = append(all, thriftName(m))
	}
	for _, m := range methods {
		all = append(all, protoreflect.FullName(m.Service))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	count := map[protoreflect.Name]int{}
	for _, full := range all {
		count[full.Name()]++
	}
	for _, full := range all {
		if count[full.Name()] == 1 {
			f.names[full] = thriftIdent(string(full.Name()))
		} else {
			f.names[full] = thriftIdent(strings.ReplaceAll(string(full), ".", "_"))
		}
	}
}

func thriftName(m *schema.Message) protoreflect.FullName {
	if m.Document {
		return thriftDocument
	}
	return m.Name
}

// namespace is the package of the services, if they have one in common.
func (f *thriftFile) namespace(methods []*everywire.Method) {
	var common protoreflect.FullName
	for i, m := range methods {
		parent := protoreflect.FullName(m.Service).Parent()
		if i > 0 && parent != common {
			return
		}
		common = parent
	}
	if common == "" {
		return
	}
	parts := strings.Split(string(common), ".")
	for i, p := range parts {
		parts[i] = thriftIdent(p)
	}
	fmt.Fprintf(&f.text, "\nnamespace * %s\n", strings.Join(parts, "."))
}

// parts writes the struct of a time or a duration.
func (f *thriftFile) parts(name, doc, nanos string) {
	fmt.Fprintf(&f.text, "\n// %s\nstruct %s {\n  1: i64 seconds\n  2: i32 nanos // %s\n}\n",
		doc, f.names["everywire."+protoreflect.FullName(name)], nanos)
}

func (f *thriftFile) message(m *schema.Message) {
	fmt.Fprintf(&f.text, "\nstruct %s {\n", f.names[thriftName(m)])
	if m.Document {
		f.text.WriteString("  1: string json // any JSON value\n")
	}
	for _, field := range m.Fields {
		f.comment("  ", field.Doc)
		optional := ""
		if !alwaysWritten(m, field) {
			optional = "optional "
		}
		fmt.Fprintf(&f.text, "  %d: %s%s %s%s\n", field.Number, optional, f.typeOf(field), thriftIdent(field.Name), thriftNote(field))
	}
	f.text.WriteString("}\n")
}

func (f *thriftFile) comment(indent, doc string) {
	for line := range strings.SplitSeq(strings.TrimSpace(doc), "\n") {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "\r", " ")); line != "" {
			fmt.Fprintf(&f.text, "%s// %s\n", indent, line)
		}
	}
}

func (f *thriftFile) typeOf(field *schema.Field) string {
	one := f.kind(field)
	switch {
	case field.Repeated:
		return "list<" + one + ">"
	case field.MapKey != schema.Invalid:
		return "map<" + thriftKinds[field.MapKey] + ", " + one + ">"
	}
	return one
}

// thriftKinds are the types of scalars. Thrift has no unsigned integers and no
// float of 32 bits.
var thriftKinds = map[schema.Kind]string{
	schema.Bool: "bool", schema.Int32: "i32", schema.Int64: "i64", schema.Uint32: "i64", schema.Uint64: "i64",
	schema.Float32: "double", schema.Float64: "double", schema.String: "string", schema.Bytes: "binary", schema.Any: "string",
}

func (f *thriftFile) kind(field *schema.Field) string {
	switch field.Kind {
	case schema.Time:
		return f.names[thriftTimestamp]
	case schema.Duration:
		return f.names[thriftDuration]
	case schema.Struct:
		return f.names[field.Message.Name]
	}
	return thriftKinds[field.Kind]
}

// thriftNote says what a field's type does not.
func thriftNote(field *schema.Field) string {
	switch {
	case field.Kind == schema.Uint32:
		return fmt.Sprintf(" // 0 to %d", uint64(1)<<field.Type.Bits()-1)
	case field.Kind == schema.Int32 && field.Type.Bits() < 32:
		return fmt.Sprintf(" // %d to %d", int64(-1)<<(field.Type.Bits()-1), int64(1)<<(field.Type.Bits()-1)-1)
	case field.Kind == schema.Uint64:
		return " // unsigned, in two's complement"
	case field.MapKey == schema.Uint64:
		return " // keys are unsigned, in two's complement"
	case field.Kind == schema.Float32:
		return " // of 32 bits"
	case field.Kind == schema.Any:
		return " // JSON"
	}
	return ""
}

// services writes the methods, which are those of a service one after another.
func (f *thriftFile) services(methods []*everywire.Method) {
	for i, m := range methods {
		if i == 0 || methods[i-1].Service != m.Service {
			fmt.Fprintf(&f.text, "\nservice %s {\n", f.names[protoreflect.FullName(m.Service)])
		}
		f.comment("  ", docOf(m))
		in, out := f.names[thriftName(m.Input)], f.names[thriftName(m.Output)]
		if m.Kind == everywire.Unary {
			fmt.Fprintf(&f.text, "  %s %s(1: %s request)\n", out, thriftIdent(m.Name), in)
		} else {
			fmt.Fprintf(&f.text, "  // %s (%v) takes %s and gives %s; Thrift has no streams.\n", m.Name, m.Kind, in, out)
		}
		if i == len(methods)-1 || methods[i+1].Service != m.Service {
			f.text.WriteString("}\n")
		}
	}
}
