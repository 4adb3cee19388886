package target

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
)

// A Method is what is needed to call a method with JSON: its path and its messages.
type Method struct {
	// Name is what the user calls it.
	Name string
	// Path is what Invoke takes.
	Path string
	Kind everywire.StreamKind
	// NewIn and NewOut make empty messages.
	NewIn, NewOut func() any
	// read turns JSON into a request.
	read func(text []byte, in any) error
}

// Read reads a request. It refuses members that the request's type has not: codecs
// ignore them, for newer peers; whoever writes a request by hand has mistyped them.
func (m *Method) Read(text []byte, in any) error { return m.read(text, in) }

// Known is a method whose messages are types of the program.
func Known(m *everywire.Method) *Method {
	return &Method{
		Name: m.FullName(), Path: m.Path(), Kind: m.Kind, NewIn: m.Input.New, NewOut: m.Output.New,
		read: func(text []byte, in any) error {
			if err := (json.Codec{}).Decode(text, in); err != nil {
				return err
			}
			return checkFields(m.FullName(), text, knownFields(m.Input))
		},
	}
}

// Dynamic is a method of which there is a descriptor alone: its messages are dynamic.
func Dynamic(d protoreflect.MethodDescriptor) *Method {
	name := string(d.Parent().FullName()) + "/" + string(d.Name())
	input, output := d.Input(), d.Output()
	return &Method{
		Name: name, Path: "/" + name, Kind: streamKind(d),
		NewIn:  func() any { return dynamicpb.NewMessage(input) },
		NewOut: func() any { return dynamicpb.NewMessage(output) },
		read: func(text []byte, in any) error {
			if err := (json.Codec{}).Decode(text, in); err != nil {
				return err
			}
			return checkFields(name, text, descriptorFields(input))
		},
	}
}

func streamKind(d protoreflect.MethodDescriptor) everywire.StreamKind {
	switch {
	case d.IsStreamingClient() && d.IsStreamingServer():
		return everywire.BidiStream
	case d.IsStreamingClient():
		return everywire.ClientStream
	case d.IsStreamingServer():
		return everywire.ServerStream
	}
	return everywire.Unary
}

// Untyped is a method of which only the name is known: its messages are documents.
func Untyped(name string) *Method {
	return &Method{
		Name: name, Path: "/" + strings.TrimPrefix(name, "/"),
		NewIn: newDocument, NewOut: newDocument,
		read: func(text []byte, in any) error { return json.Codec{}.Decode(text, in) },
	}
}

func newDocument() any { return new(everywire.Document) }

// fields are the names that a request may have, nil if any.
type fields struct {
	names []string // in JSON
	has   func(name string) bool
}

func knownFields(m *schema.Message) *fields {
	switch {
	case m.Document:
		return nil
	case m.Desc != nil:
		return descriptorFields(m.Desc)
	}
	f := &fields{has: func(name string) bool { return m.ByName(name) != nil }}
	for _, field := range m.Fields {
		f.names = append(f.names, field.JSONName)
	}
	return f
}

func descriptorFields(d protoreflect.MessageDescriptor) *fields {
	if strings.HasPrefix(string(d.FullName()), "google.protobuf.") {
		return nil // of which many are no objects of their fields
	}
	all := d.Fields()
	f := &fields{has: func(name string) bool {
		return all.ByJSONName(name) != nil || all.ByTextName(name) != nil || strings.HasPrefix(name, "[")
	}}
	for i := range all.Len() {
		f.names = append(f.names, all.Get(i).JSONName())
	}
	return f
}

// checkFields refuses members of a request, which was decoded before, that are none
// of its fields.
func checkFields(method string, text []byte, known *fields) error {
	if known == nil {
		return nil
	}
	var doc everywire.Document
	if err := (json.Codec{}).Decode(text, &doc); err != nil {
		return err
	}
	given, ok := doc.Value.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if known.has(name) {
			continue
		}
		if len(known.names) == 0 {
			return fmt.Errorf("the request of %s has no field %q: it has none", method, name)
		}
		return fmt.Errorf("the request of %s has no field %q: it has %s", method, name, strings.Join(known.names, ", "))
	}
	return nil
}
