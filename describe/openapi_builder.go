package describe

import (
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
	// elsewhere are the request's fields that neither the body nor the query has,
	// by their names in JSON; a.b is a field of a field.
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
			var full string
			if m, full = b.find(members, p.field); m == nil {
				return fmt.Errorf("variable {%s}: the request has no such field", p.field)
			}
			if !m.single || !m.textual() {
				return fmt.Errorf("variable {%s}: a message, map or list cannot be in a path", p.field)
			}
			b.elsewhere[full] = true
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

// find finds a field, or a field of a field, by the names between dots, and
// returns its names in JSON, too.
func (b *builder) find(members []member, path string) (*member, string) {
	name, rest, deeper := strings.Cut(path, ".")
	for i := range members {
		m := &members[i]
		switch {
		case !m.called(name):
		case !deeper:
			return m, m.name
		case m.single && m.message != nil:
			inner, full := b.find(b.d.types.members(m.message), rest)
			return inner, m.name + "." + full
		}
	}
	return nil, ""
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
	name := b.route.Body
	switch i := slices.IndexFunc(members, func(m member) bool { return m.called(name) }); {
	case name == "*" || streamsIn(b.m):
		s := b.d.types.whole(in)
		if len(b.elsewhere) > 0 {
			s = b.rest(members)
		}
		if streamsIn(b.m) {
			b.d.asked = append(b.d.asked, s)
			b.op.Everywire.WebSocket = &webSocket{Send: s}
			return nil
		}
		b.send(s, b.m.Input != nil && !b.m.Input.IsObject())
		// What has a name of its own in queries may stand there on every route.
		members = slices.DeleteFunc(members, func(m member) bool { return m.place.In != schema.InQuery })
	case name == "":
	case i < 0 || b.elsewhere[members[i].name]:
		return fmt.Errorf("body %q: the request has no such field, or it is elsewhere", name)
	default:
		b.elsewhere[members[i].name] = true
		b.send(members[i].schema, false)
	}
	b.query(members, "", "", map[any]bool{in: true})
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
// their names between dots. A message that is within itself is listed once. The
// members' names begin with prefix in queries, and with path in JSON.
func (b *builder) query(members []member, prefix, path string, within map[any]bool) {
	for _, m := range members {
		name := m.name
		if m.place.In == schema.InQuery {
			name = m.place.Name
		}
		name = prefix + name
		switch {
		case b.elsewhere[path+m.name]:
		case m.textual():
			b.param(&parameter{Name: name, In: "query", Schema: m.schema})
		case m.isMap && m.schema.AdditionalProperties.isTextual():
			b.param(&parameter{Name: name, In: "query", Schema: m.schema, Style: "deepObject", Explode: true}) // name[key]=value
		case m.single && m.message != nil && !within[m.message] && strings.Count(name, ".") < maxQueryDepth:
			within[m.message] = true
			b.query(b.d.types.members(m.message), name+".", path+m.name+".", within)
			delete(within, m.message)
		}
	}
}

// responses says what comes back.
func (b *builder) responses() error {
	out := b.d.types.whole(output(b.m))
	ok, status := &response{Description: "The reply."}, "200"
	switch {
	case b.op.Everywire.WebSocket != nil:
		b.op.Everywire.WebSocket.Receive = out
		b.op.Description = sentences(b.op.Description, "A stream over a WebSocket.")
		status, ok.Description = "101", "The connection is a WebSocket now."
	case b.m.Kind == everywire.ServerStream:
		b.op.Description = sentences(b.op.Description, "A stream of messages.")
		ok.Description = "Messages, one after the other."
		ok.Content = contentOf(streamTypes, mediaType{&jsonSchema{Type: "string"}, out})
	default:
		members := b.d.types.members(output(b.m))
		if name := b.route.ResponseBody; name != "" {
			i := slices.IndexFunc(members, func(m member) bool { return m.called(name) })
			if i < 0 {
				return fmt.Errorf("response_body %q: the reply has no such field", name)
			}
			if out = members[i].schema; members[i].optional {
				out = &jsonSchema{AnyOf: []*jsonSchema{out, {Type: "null"}}}
			}
		}
		if b.m.Output != nil && !b.m.Output.HasFields() {
			ok.Description = "Done; there is nothing to say."
			if !b.route.EmptyOK {
				status = "204"
			}
		} else {
			ok.Content = contentOf(messageTypes, mediaType{Schema: out})
		}
		if b.route.Created != "" {
			if _, err := parseTemplate(b.route.Created); err != nil {
				return fmt.Errorf("location of what was created: %w", err)
			}
			status, ok.Description = "201", "Created."
			ok.header("Location", "The path of what was created: "+b.route.Created)
		}
	}
	b.op.Responses = ordered[*response]{{status, ok}}
	if b.m.Kind == everywire.Unary {
		b.semantics(ok)
	}
	b.respond("default", &response{Ref: "#/components/responses/Problem"})
	return nil
}

func (b *builder) respond(status string, r *response) {
	b.op.Responses = append(b.op.Responses, entry[*response]{status, r})
}

func (r *response) header(name, description string) {
	r.Headers = append(r.Headers, entry[header]{name, header{description, &jsonSchema{Type: "string"}}})
}

// semantics says what HTTP's own headers do to a unary call.
func (b *builder) semantics(ok *response) {
	reads := b.route.Verb == "GET" || b.route.Verb == "HEAD"
	tagged := slices.ContainsFunc(b.d.types.members(output(b.m)), func(m member) bool { return m.place.In == schema.ETag })
	if reads && ok.Content != nil || tagged {
		ok.header("ETag", "The entity tag of the reply.")
	}
	if reads && ok.Content != nil {
		b.shared("IfNoneMatch", &parameter{
			Name: "If-None-Match", In: "header", Schema: &jsonSchema{Type: "string"},
			Description: "Entity tags that the client has: if the reply has one of them, it is 304 and without a body.",
		})
		b.respond("304", &response{Description: "The reply is the one that the client has."})
	}
	if slices.ContainsFunc(b.op.Parameters, func(p *parameter) bool {
		return p.In == "header" && (strings.EqualFold(p.Name, "If-Match") || strings.EqualFold(p.Name, "If-None-Match"))
	}) {
		b.respond("412", &response{Ref: "#/components/responses/Problem"})
	}
	if !reads && b.m.Idempotency == everywire.IdempotencyUnknown {
		b.shared("IdempotencyKey", &parameter{
			Name: "Idempotency-Key", In: "header", Schema: &jsonSchema{Type: "string"},
			Description: "A text of at most 255 characters that no other call has: the same call may then be sent again, and runs once.",
		})
	}
}

// shared adds a parameter that many operations have, unless this one has a field
// for it.
func (b *builder) shared(key string, p *parameter) {
	if slices.ContainsFunc(b.op.Parameters, func(own *parameter) bool { return own.In == p.In && strings.EqualFold(own.Name, p.Name) }) {
		return
	}
	b.d.parameters[key] = p
	b.op.Parameters = append(b.op.Parameters, &parameter{Ref: "#/components/parameters/" + key})
}
