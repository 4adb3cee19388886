package describe

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
)

// docOf is what a method's author says of it: its Doc, or else the comment in
// the .proto file.
func docOf(m *everywire.Method) string {
	if m.Doc == "" && m.Desc != nil {
		return comment(m.Desc)
	}
	return m.Doc
}

// comment is the comment before a definition. Go's generated code leaves
// comments out; descriptors that were compiled with source info have them.
func comment(d protoreflect.Descriptor) string {
	return strings.TrimSpace(d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments)
}

func isDeprecated(m *everywire.Method) bool {
	if m.Desc == nil {
		return false
	}
	options, _ := m.Desc.Options().(*descriptorpb.MethodOptions)
	return options.GetDeprecated()
}

// sentences joins what there is to say.
func sentences(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, " ")
}

// described adds a description. Nothing may stand beside a reference in draft 7
// and in OpenAPI 3.0, so a reference is wrapped.
func described(s *jsonSchema, text string) *jsonSchema {
	if text == "" {
		return s
	}
	if s.Ref != "" {
		s = &jsonSchema{AllOf: []*jsonSchema{s}}
	}
	s.Description = sentences(text, s.Description)
	return s
}
