package describe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// A builder makes one operation.
type builder struct {
	d     *document
	m     *everywire.Method
	route everywire.Route
	op    *operation
	// elsewhere are the request's members, by JSON name, that neither the body nor
	// the query has.
	elsewhere map[string]bool
}

// build fills the operation. The parameters of t get the names that those of
// named have.
func (b *builder) build(t, named template) error {
	b.elsewhere = map[string]bool{}
	members := b.d.types.members(input(b.m))
	if err := b.path(members, t, named.params()); err != nil {
		return err
	}
	b.headers(members)
	if err := b.body(members); err != nil {
		return err
	}
	return b.responses()
}

// param adds a parameter, which has the description of its schema.
func (b *builder) param(p *parameter) {
	bare := *p.Schema
	p.Description, bare.Description = sentences(bare.Description, p.Description), ""
	p.Schema = &bare
	b.op.Parameters = append(b.op.Parameters, p)
}

// path makes the parameters of the path.
func (b *builder) path(members []member, t template, names []piece) error {
	n := 0
	for _, p := range t {
		var m *member
		if p.field != "" {
			if m = b.find(members, p.field); m == nil {
				return fmt.Errorf("variable {%s}: the request has no such field", p.field)
			}
			if !m.single || !m.textual() {
				return fmt.Errorf("variable {%s}: a message, map or list cannot be in a path", p.field)
			}
			b.elsewhere[p.field], b.elsewhere[m.name] = true, true
		}
		if p.param == "" {
			continue
		}
		one := &parameter{Name: names[n].param, In: "path", Required: true, Schema: &jsonSchema{Type: "string"}, Many: p.many}
		n++
		if p.whole && m != nil {
			one.Schema = m.schema
		}
		if p.field != "" && (one.Name != p.field || !p.whole) {
			one.Description = sentences(one.Description, fmt.Sprintf("Goes into %s.", p.field))
		}
		if p.many {
			one.Description = sentences(one.Description, "May have slashes, which are not to be escaped.")
		}
		b.param(one)
	}
	return nil
}

// find finds a field, or a field of a field, by the names between dots.
func (b *builder) find(members []member, path string) *member {
	name, rest, deeper := strings.Cut(path, ".")
	for i := range members {
		m := &members[i]
		switch {
		case !m.called(name):
		case !deeper:
			return m
		case m.single && m.message != nil:
			return b.find(b.d.types.members(m.message), rest)
		}
	}
	return nil
}

// headers makes the parameters in headers and cookies.
func (b *builder) headers(members []member) {
	for _, m := range members {
		in := ""
		switch m.place.In {
		case schema.InHeader:
			in = "header"
		case schema.InCookie:
			in = "cookie"
		}
		if in == "" || b.elsewhere[m.name] {
			continue
		}
		b.elsewhere[m.name] = true
		b.param(&parameter{Name: m.place.Name, In: in, Schema: m.schema})
	}
}

// body makes the request's body, and the query from what is left.
func (b *builder) body(members []member) error {
	in := input(b.m)
	switch name := b.route.Body; name {
	case "*":
		s := b.d.types.whole(in)
		if len(b.elsewhere) > 0 {
			s = b.rest(members)
		}
		b.send(s, b.m.Input != nil && !b.m.Input.IsObject())
		return nil
	case "":
	default:
		i := slices.IndexFunc(members, func(m member) bool { return m.called(name) })
		if i < 0 || b.elsewhere[members[i].name] {
			return fmt.Errorf("body %q: the request has no such field, or it is elsewhere", name)
		}
		b.elsewhere[members[i].name] = true
		b.send(members[i].schema, false)
	}
	b.query(members, "", map[any]bool{in: true})
	return nil
}

func (b *builder) send(s *jsonSchema, required bool) {
	b.d.asked = append(b.d.asked, s)
	b.op.RequestBody = &requestBody{Required: required, Content: contentOf(messageTypes, mediaType{Schema: s})}
}

// rest is the request without what the path and the headers have. Where only a
// part of a member is in the path, the member stays.
func (b *builder) rest(members []member) *jsonSchema {
	s := &jsonSchema{Type: "object"}
	for _, m := range members {
		if !b.elsewhere[m.name] {
			s.Properties = append(s.Properties, property{m.name, m.schema})
		}
	}
	return s
}

// maxQueryDepth bounds the fields of fields that are listed as parameters. The
// server knows them all.
const maxQueryDepth = 4

// query makes the parameters of the query: fields, and fields of fields by
// their names between dots. A message that is within itself is listed once.
func (b *builder) query(members []member, prefix string, within map[any]bool) {
	for _, m := range members {
		name := m.name
		if m.place.In == schema.InQuery {
			name = m.place.Name
		}
		name = prefix + name
		switch {
		case prefix == "" && b.elsewhere[m.name], b.elsewhere[name]:
		case m.textual():
			b.param(&parameter{Name: name, In: "query", Schema: m.schema})
		case m.single && m.message != nil && !within[m.message] && strings.Count(name, ".") < maxQueryDepth:
			within[m.message] = true
			b.query(b.d.types.members(m.message), name+".", within)
			delete(within, m.message)
		}
	}
}

// responses says what comes back.
func (b *builder) responses() error {
	out := b.d.types.whole(output(b.m))
	members := b.d.types.members(output(b.m))
	ok := &response{Description: "The reply."}
	status := "200"
	switch b.m.Kind {
	case everywire.ServerStream:
		b.op.Description = sentences(b.op.Description, "A stream of messages.")
		ok.Description = "Messages, one after the other."
		ok.Content = contentOf(streamTypes, mediaType{&jsonSchema{Type: "string"}, out})
	case everywire.ClientStream, everywire.BidiStream:
		in := b.d.types.whole(input(b.m))
		b.d.asked = append(b.d.asked, in)
		b.op.Everywire.WebSocket = &webSocket{in, out}
		b.op.Description = sentences(b.op.Description, "A stream over a WebSocket.")
		status, ok.Description = "101", "The connection is a WebSocket now."
		b.op.Parameters, b.op.RequestBody = nil, nil
	default:
		if name := b.route.ResponseBody; name != "" {
			i := slices.IndexFunc(members, func(m member) bool { return m.called(name) })
			if i < 0 {
				return fmt.Errorf("response_body %q: the reply has no such field", name)
			}
			if out = members[i].schema; members[i].optional {
				out = &jsonSchema{AnyOf: []*jsonSchema{out, {Type: "null"}}}
			}
		}
		ok.Content = contentOf(messageTypes, mediaType{Schema: out})
		if b.route.Created != "" {
			if _, err := parseTemplate(b.route.Created); err != nil {
				return errors.Join(errors.New("created"), err)
			}
			status, ok.Description = "201", "Created."
			ok.Headers = append(ok.Headers, entry[header]{"Location", header{"The path of what was created: " + b.route.Created, &jsonSchema{Type: "string"}}})
		}
	}
	b.op.Responses = ordered[*response]{{status, ok}}
	b.op.Responses = append(b.op.Responses, entry[*response]{"default", &response{Ref: "#/components/responses/Problem"}})
	return nil
}
