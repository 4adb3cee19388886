package rpc

import (
	"fmt"
	"mime"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// Protobuf is the name of the codec that a call has by gRPC's protocol if it
// says nothing, and proto the name that gRPC and Connect write for it.
const (
	Protobuf = "protobuf"
	proto    = "proto"
)

// Codecs are the codecs that one server or one connection has. They never
// change, so that two in one program cannot disagree about a name.
type Codecs struct {
	byName map[string]everywire.Codec // "proto" is an entry too
	all    []everywire.Codec
	names  string
}

// NewCodecs makes a set. Of two codecs with one name the later takes the place of
// the earlier. It refuses names and media types that HTTP cannot carry, or that
// mean something else already.
func NewCodecs(codecs ...everywire.Codec) (*Codecs, error) {
	s := &Codecs{byName: map[string]everywire.Codec{}}
	for _, c := range codecs {
		name := c.Name()
		if err := checkCodecName(name); err != nil {
			return nil, err
		}
		if _, ok := s.byName[name]; ok {
			i := slices.IndexFunc(s.all, func(other everywire.Codec) bool { return other.Name() == name })
			s.all[i] = c
		} else {
			s.all = append(s.all, c)
		}
		s.byName[name] = c
	}
	if err := s.checkMediaTypes(); err != nil {
		return nil, err
	}
	var names []string
	for name := range s.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	s.names = strings.Join(names, ", ")
	if c, ok := s.byName[Protobuf]; ok {
		s.byName[proto] = c
	}
	return s, nil
}

// checkCodecName sees to it that a name can stand in "application/NAME",
// "application/grpc+NAME" and a target's query as it is.
func checkCodecName(name string) error {
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', i > 0 && (c == '-' || c == '.' || c == '_'):
		default:
			return fmt.Errorf("the codec name %q has a %q: it is of lower-case letters, digits, and then -, . and _", name, c)
		}
	}
	switch name {
	case "":
		return fmt.Errorf("a codec has no name")
	case proto:
		return fmt.Errorf("the codec name proto is another name of %s: to replace that, use it", Protobuf)
	case "connect", "grpc", "grpc-web", "grpc-web-text":
		return fmt.Errorf("the codec name %q cannot be: application/%s is a protocol", name, name)
	}
	return nil
}

func (s *Codecs) checkMediaTypes() error {
	owners := map[string]string{}
	for _, c := range s.all {
		types := MediaTypes(c)
		if len(types) == 0 {
			return fmt.Errorf("the codec %s has no media type", c.Name())
		}
		for _, t := range types {
			typ, params, err := mime.ParseMediaType(t)
			if err != nil || typ != t || len(params) > 0 || !strings.Contains(t, "/") {
				return fmt.Errorf("the codec %s has the media type %q: want one in lower case, without parameters", c.Name(), t)
			}
			if other, ok := owners[t]; ok {
				return fmt.Errorf("the codecs %s and %s have the same media type %s", other, c.Name(), t)
			}
			owners[t] = c.Name()
		}
	}
	return nil
}

// Find returns the codec of a name; protobuf is found by "proto" too.
func (s *Codecs) Find(name string) (everywire.Codec, bool) {
	c, ok := s.byName[name]
	return c, ok
}

// All are the codecs, in the order in which their names were first given.
func (s *Codecs) All() []everywire.Codec { return s.all }

// Names lists the names for a message, sorted.
func (s *Codecs) Names() string { return s.names }

// MediaTypes are the media types of a codec's messages.
func MediaTypes(c everywire.Codec) []string {
	if m, ok := c.(everywire.MediaTyper); ok {
		return m.MediaTypes()
	}
	return []string{"application/" + c.Name()}
}

// Carries returns nil if a codec has a form for both messages of a method, as far
// as its types are known, and else the status of a call that asks for it.
func Carries(c everywire.Codec, m *everywire.Method) error {
	partial, ok := c.(everywire.PartialCodec)
	if !ok {
		return nil
	}
	if err := carries(partial, m.Input); err != nil {
		return status.Errorf(codes.Unimplemented, "the codec %s has no form for requests of %s: %v", c.Name(), m.FullName(), err)
	}
	if err := carries(partial, m.Output); err != nil {
		return status.Errorf(codes.Unimplemented, "the codec %s has no form for replies of %s: %v", c.Name(), m.FullName(), err)
	}
	return nil
}

// HasForm returns nil if a codec has a form for messages like v, and else why not.
func HasForm(c everywire.Codec, v any) error {
	partial, ok := c.(everywire.PartialCodec)
	if !ok {
		return nil
	}
	m, err := schema.For(v)
	if err != nil {
		return err
	}
	return partial.Carries(m)
}

func carries(c everywire.PartialCodec, m *schema.Message) error {
	if m == nil {
		return nil // nothing is known of it
	}
	return c.Carries(m)
}

// Codec returns the codec that the target's option codec names, and by default
// the one of the name given.
func (c *ClientConfig) Codec(byDefault string) (everywire.Codec, error) {
	name, given := c.Options["codec"]
	if !given {
		name = byDefault
	}
	codec, ok := c.Codecs.Find(name)
	if !ok {
		return nil, fmt.Errorf("unknown codec %q: it is one of %s", name, c.Codecs.Names())
	}
	if c.Options["bytes"] == "array" && codec.Name() != "json" {
		return nil, fmt.Errorf("the option bytes is about JSON, and the codec is %s: add codec=json", codec.Name())
	}
	return codec, nil
}
