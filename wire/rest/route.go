package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// An endpoint is one route of one method, compiled.
type endpoint struct {
	method   *everywire.Method
	verb     string
	pattern  string
	template *template
	input    *fields
	// variables, headers and cookies are what fills fields outside body and
	// query; variables in the template's order.
	variables, headers, cookies []binding
	// wholeBody is set if the body is the request, bodyField if it is one
	// field's value; with neither the route takes no body.
	wholeBody bool
	bodyField *field
	// plainBody is set if nothing but the body can fill the request. Its bytes
	// are then passed to the codec as they came, and may be of any codec.
	plainBody bool
	// isObject is set unless the request is a document, whose JSON can be of
	// any type.
	isObject bool
	// responseField is the reply's field that is the response's body, nil for
	// the whole reply.
	responseField *field
	// created is set if a success is 201, etag if a field of the reply is its
	// entity tag, and noReply if the reply can hold nothing; that is 204, or 200 if
	// emptyOK is set.
	created *location
	etag    *field
	noReply bool
	emptyOK bool
}

// A binding is a field that is filled from a place of its own.
type binding struct {
	chain []*field // from the request's field to the one that is filled
	name  string   // of the variable, header or cookie
}

// defaultEndpoint is VERB /SERVICE/NAME. Its segments are the names as they
// are, whatever characters a path template may not have.
func (c *compiler) defaultEndpoint(m *everywire.Method, verb string) *endpoint {
	e := &endpoint{
		method: m, verb: verb, pattern: m.Path(), input: c.input(m), isObject: isObject(m),
		template:  &template{segments: []segment{{literal: m.Service}, {literal: m.Name}}},
		wholeBody: verb != http.MethodGet,
	}
	e.placeFields()
	e.placeReply(c.output(m))
	return e
}

func isObject(m *everywire.Method) bool { return m.Input == nil || m.Input.IsObject() }

// compile checks a declared route against its method's messages.
func (c *compiler) compile(m *everywire.Method, r everywire.Route) (*endpoint, error) {
	e, err := c.compileRoute(m, r)
	if err != nil {
		return nil, fmt.Errorf("route %s %s of %s: %w", r.Verb, r.Pattern, m.FullName(), err)
	}
	return e, nil
}

func (c *compiler) compileRoute(m *everywire.Method, r everywire.Route) (*endpoint, error) {
	if err := checkVerb(r); err != nil {
		return nil, err
	}
	t, err := parseTemplate(r.Pattern)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		method: m, verb: r.Verb, pattern: r.Pattern, template: t,
		wholeBody: r.Body == "*", input: c.input(m), isObject: isObject(m),
	}
	if e.variables, err = t.bind(e.input); err != nil {
		return nil, err
	}
	if r.Body != "" && r.Body != "*" {
		if e.bodyField = e.input.byName[r.Body]; e.bodyField == nil {
			return nil, fmt.Errorf("body %q: the request has no such field", r.Body)
		}
		if e.inPath(e.bodyField) {
			return nil, fmt.Errorf("body %q: the path fills this field already", r.Body)
		}
	}
	output := c.output(m)
	if r.ResponseBody != "" {
		if e.responseField = output.byName[r.ResponseBody]; e.responseField == nil {
			return nil, fmt.Errorf("response_body %q: the reply has no such field", r.ResponseBody)
		}
	}
	if r.Created != "" {
		if e.created, err = newLocation(r.Created, output); err != nil {
			return nil, fmt.Errorf("location of what was created: %w", err)
		}
	}
	e.placeFields()
	e.placeReply(output)
	if e.emptyOK = r.EmptyOK; r.EmptyOK && (!e.noReply || e.created != nil) {
		return nil, errors.New("EmptyOK is for replies without fields, on routes that create nothing")
	}
	return e, nil
}

// bind finds the fields that the template's variables stand for.
func (t *template) bind(of *fields) ([]binding, error) {
	var all []binding
	for _, v := range t.variables {
		chain, err := of.find(v.path)
		if err != nil {
			return nil, fmt.Errorf("variable {%s}: %w", v.path, err)
		}
		if !chain[len(chain)-1].single() {
			return nil, fmt.Errorf("variable {%s}: a message, map or list cannot be in a path", v.path)
		}
		for _, other := range all {
			if slices.Equal(other.chain, chain) {
				return nil, fmt.Errorf("variable {%s}: the path fills this field already", v.path)
			}
		}
		all = append(all, binding{chain, pathOf(chain)})
	}
	return all, nil
}

// placeFields binds the fields that stand in headers and cookies, except those
// that the route puts elsewhere.
func (e *endpoint) placeFields() {
	e.plainBody = e.wholeBody && len(e.variables) == 0
	for _, f := range e.input.all {
		if f == e.bodyField || e.inPath(f) {
			continue
		}
		b := binding{[]*field{f}, f.place.Name}
		switch f.place.In {
		case schema.InHeader:
			b.name = http.CanonicalHeaderKey(b.name)
			e.headers = append(e.headers, b)
		case schema.InCookie:
			e.cookies = append(e.cookies, b)
		case schema.InQuery: // may stand there on every route
		default:
			continue
		}
		e.plainBody = false
	}
}

// inPath reports whether the path fills the request's field f itself.
func (e *endpoint) inPath(f *field) bool {
	for _, v := range e.variables {
		if len(v.chain) == 1 && v.chain[0] == f {
			return true
		}
	}
	return false
}

func checkVerb(r everywire.Route) error {
	switch r.Verb {
	case http.MethodOptions:
		return errors.New("the server answers OPTIONS itself")
	case http.MethodConnect, http.MethodTrace, "":
		return fmt.Errorf("the verb %q cannot be routed", r.Verb)
	case http.MethodGet, http.MethodHead:
		if r.Body != "" {
			return fmt.Errorf("a %s has no body", r.Verb)
		}
	case anyVerb:
		return nil
	}
	for _, c := range r.Verb {
		if (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return fmt.Errorf("the verb %q is not of upper-case letters", r.Verb)
		}
	}
	return nil
}

// newRouter compiles the routes of all methods. The error joins all mistakes;
// the router then lacks the routes that have one, and is fit for use.
func newRouter(methods []*everywire.Method) (*router, error) {
	r, c := &router{}, newCompiler()
	var errs []error
	add := func(e *endpoint, err error) {
		if err == nil {
			err = r.add(e)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, m := range methods {
		own := map[string]bool{} // verbs of which the method itself says what its default path does
		for _, route := range m.Routes {
			e, err := c.compile(m, route)
			add(e, err)
			if err == nil && e.pattern == m.Path() {
				own[e.verb] = true
			}
		}
		for _, verb := range defaultVerbs(m) {
			if !own[verb] {
				add(c.defaultEndpoint(m, verb), nil)
			}
		}
	}
	return r, errors.Join(errs...)
}

// defaultVerbs are those of the default route. A method that only reads can be
// called by GET as well, if the request's fields can be in a query.
func defaultVerbs(m *everywire.Method) []string {
	if m.Idempotency == everywire.NoSideEffects && isObject(m) && (m.Kind == everywire.Unary || m.Kind == everywire.ServerStream) {
		return []string{http.MethodPost, http.MethodGet}
	}
	return []string{http.MethodPost}
}
