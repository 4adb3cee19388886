package describe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A protoPrinter writes a file's descriptor as the language that it came from:
// proto2, proto3 or an edition. https://protobuf.dev/reference/protobuf/proto3-spec/
// is the grammar.
type protoPrinter struct {
	desc     protoreflect.FileDescriptor
	comments map[string]string // by path
	pkg      string
	syntax   string // proto2, proto3 or editions
	text     []byte
	depth    int
	in       []*descriptorpb.DescriptorProto // the messages around, the outermost first
}

func newProtoPrinter(f protoreflect.FileDescriptor) *protoPrinter {
	p := &protoPrinter{desc: f, comments: map[string]string{}, pkg: string(f.Package())}
	locations := f.SourceLocations()
	for i := range locations.Len() {
		l := locations.Get(i)
		p.comments[fmt.Sprint([]int32(l.Path))] = l.LeadingComments + l.TrailingComments
	}
	return p
}

// line writes one line at the depth of the block that it is in.
func (p *protoPrinter) line(format string, args ...any) {
	p.text = append(p.text, strings.Repeat("  ", p.depth)...)
	p.text = fmt.Appendf(p.text, format, args...)
	p.text = append(p.text, '\n')
}

// gap writes an empty line, but none behind the beginning of a block.
func (p *protoPrinter) gap() {
	if len(p.text) > 0 && !strings.HasSuffix(string(p.text[max(0, len(p.text)-2):]), "{\n") {
		p.text = append(p.text, '\n')
	}
}

// block writes a head, and what is in its braces.
func (p *protoPrinter) block(head string, body func()) {
	p.line("%s {", head)
	before := len(p.text)
	p.depth++
	body()
	p.depth--
	if len(p.text) == before { // an empty block stands on one line
		p.text = append(p.text[:before-1], "}\n"...)
		return
	}
	p.line("}")
}

// A path leads to a part of a file; google.protobuf.SourceCodeInfo.Location.
type path []int32

func (at path) to(numbers ...int32) path { return slices.Concat(at, numbers) }

// comment writes what stands before the part at a path.
func (p *protoPrinter) comment(at path) {
	text := strings.TrimRight(p.comments[fmt.Sprint([]int32(at))], "\n")
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		p.line("%s", strings.TrimRight("//"+line, " \t"))
	}
}

// The numbers of the fields of descriptors, of which paths consist.
const (
	inFilePackage, inFileMessage, inFileEnum, inFileService, inFileExtension, inFileSyntax = 2, 4, 5, 6, 7, 12

	inMessageField, inMessageNested, inMessageEnum, inMessageExtension, inMessageOneof = 2, 3, 4, 6, 8

	inEnumValue     = 2
	inServiceMethod = 2
)

func (p *protoPrinter) file(f *descriptorpb.FileDescriptorProto) {
	p.comment(path{inFileSyntax})
	switch p.syntax = f.GetSyntax(); p.syntax {
	case "editions":
		p.line("edition = %q;", strings.TrimPrefix(f.GetEdition().String(), "EDITION_"))
	case "":
		p.syntax = "proto2"
		fallthrough
	default:
		p.line("syntax = %q;", p.syntax)
	}
	if p.pkg != "" {
		p.gap()
		p.comment(path{inFilePackage})
		p.line("package %s;", p.pkg)
	}
	if len(f.GetDependency()) > 0 {
		p.gap()
	}
	for i, dependency := range f.GetDependency() {
		how := ""
		if slices.Contains(f.GetPublicDependency(), int32(i)) {
			how = "public "
		}
		p.line("import %s%s;", how, quoteProto(dependency))
	}
	if options := p.setOptions(f.GetOptions()); len(options) > 0 {
		p.gap()
		p.optionLines(options)
	}
	for i, s := range f.GetService() {
		p.gap()
		p.service(s, path{inFileService, int32(i)})
	}
	for i, m := range f.GetMessageType() {
		p.gap()
		p.message(m, path{inFileMessage, int32(i)})
	}
	for i, e := range f.GetEnumType() {
		p.gap()
		p.enum(e, path{inFileEnum, int32(i)})
	}
	p.extensions(f.GetExtension(), path{inFileExtension}, f.GetMessageType())
}

func (p *protoPrinter) service(s *descriptorpb.ServiceDescriptorProto, at path) {
	p.comment(at)
	p.block("service "+s.GetName(), func() {
		p.optionLines(p.setOptions(s.GetOptions()))
		for i, m := range s.GetMethod() {
			at := at.to(inServiceMethod, int32(i))
			if p.comments[fmt.Sprint([]int32(at))] != "" {
				p.gap()
			}
			p.comment(at)
			head := fmt.Sprintf("rpc %s(%s%s) returns (%s%s)", m.GetName(),
				streamWord(m.GetClientStreaming()), p.refer(m.GetInputType()),
				streamWord(m.GetServerStreaming()), p.refer(m.GetOutputType()))
			options := p.setOptions(m.GetOptions())
			if len(options) == 0 {
				p.line("%s;", head)
				continue
			}
			p.block(head, func() { p.optionLines(options) })
		}
	})
}

func streamWord(stream bool) string {
	if stream {
		return "stream "
	}
	return ""
}

func (p *protoPrinter) enum(e *descriptorpb.EnumDescriptorProto, at path) {
	p.comment(at)
	p.block("enum "+e.GetName(), func() {
		p.optionLines(p.setOptions(e.GetOptions()))
		for i, v := range e.GetValue() {
			p.comment(at.to(inEnumValue, int32(i)))
			p.line("%s = %d%s;", v.GetName(), v.GetNumber(), inBrackets(p.setOptions(v.GetOptions())))
		}
		var ranges []string
		for _, r := range e.GetReservedRange() { // both ends are in it
			ranges = append(ranges, numberRange(r.GetStart(), r.GetEnd(), 1<<31-1))
		}
		p.reserved(ranges, e.GetReservedName())
	})
}

// reserved writes what no field or value may use again.
func (p *protoPrinter) reserved(ranges, names []string) {
	if len(ranges) > 0 {
		p.line("reserved %s;", strings.Join(ranges, ", "))
	}
	if len(names) == 0 {
		return
	}
	names = slices.Clone(names)
	if p.syntax != "editions" { // there they are identifiers
		for i, name := range names {
			names[i] = quoteProto(name)
		}
	}
	p.line("reserved %s;", strings.Join(names, ", "))
}

// numberRange writes a range whose ends are both in it.
func numberRange(first, last, highest int32) string {
	switch last {
	case first:
		return strconv.Itoa(int(first))
	case highest:
		return fmt.Sprintf("%d to max", first)
	}
	return fmt.Sprintf("%d to %d", first, last)
}
