package rest

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/everywire/everywire"
)

// An endpoint is one route of one method, compiled.
type endpoint struct {
	method   *everywire.Method
	verb     string
	pattern  string
	segments []segment
	// variables are the fields that the template's variables fill, in order.
	variables []*field
	// wholeBody is set if the body is the request, bodyField if it is one
	// field's value; with neither the route takes no body.
	wholeBody bool
	bodyField *field
	// fields are the request's, by name, for the query.
	fields map[string]*field
	// isObject is set unless the request is a document, whose JSON can be of
	// any type.
	isObject bool
	// responseField is the reply's field that is the response's body, nil for
	// the whole reply.
	responseField *field
}

// defaultEndpoint is POST /SERVICE/NAME. Its segments are the names as they
// are, whatever characters a path template may not have.
func defaultEndpoint(m *everywire.Method) *endpoint {
	return &endpoint{
		method: m, verb: http.MethodPost, pattern: m.Path(),
		segments:  []segment{{literal: m.Service}, {literal: m.Name}},
		wholeBody: true, isObject: isObject(m),
	}
}

func isObject(m *everywire.Method) bool { return m.Input == nil || m.Input.IsObject() }

// compile checks a declared route against its method's messages.
func compile(m *everywire.Method, r everywire.Route) (*endpoint, error) {
	e, err := compileRoute(m, r)
	if err != nil {
		return nil, fmt.Errorf("route %s %s of %s: %w", r.Verb, r.Pattern, m.FullName(), err)
	}
	return e, nil
}

func compileRoute(m *everywire.Method, r everywire.Route) (*endpoint, error) {
	if err := checkVerb(r); err != nil {
		return nil, err
	}
	segs, err := parseTemplate(r.Pattern)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		method: m, verb: r.Verb, pattern: r.Pattern, segments: segs,
		wholeBody: r.Body == "*", fields: input(m), isObject: isObject(m),
	}
	for _, s := range segs {
		if s.variable == "" {
			continue
		}
		f, err := e.bind(s.variable)
		if err != nil {
			return nil, fmt.Errorf("variable {%s}: %w", s.variable, err)
		}
		if f.form == noForm || f.list {
			return nil, fmt.Errorf("variable {%s}: a message, map or list cannot be in a path", s.variable)
		}
		e.variables = append(e.variables, f)
	}
	if r.Body != "" && r.Body != "*" {
		if e.bodyField, err = e.bind(r.Body); err != nil {
			return nil, fmt.Errorf("body %q: %w", r.Body, err)
		}
	}
	if r.ResponseBody != "" {
		if e.responseField = output(m)[r.ResponseBody]; e.responseField == nil {
			return nil, fmt.Errorf("response_body %q: the reply has no such field", r.ResponseBody)
		}
	}
	return e, nil
}

// bind finds a field that the path or the body fills, which may be only one of
// them and only once.
func (e *endpoint) bind(name string) (*field, error) {
	f := e.fields[name]
	if f == nil {
		return nil, errors.New("the request has no such field")
	}
	if e.inPath(f) {
		return nil, errors.New("the path fills this field already")
	}
	return f, nil
}

func (e *endpoint) inPath(f *field) bool {
	for _, v := range e.variables {
		if v == f {
			return true
		}
	}
	return false
}

func checkVerb(r everywire.Route) error {
	switch r.Verb {
	case http.MethodHead, http.MethodOptions:
		return errors.New("the server answers this verb itself")
	case http.MethodConnect, http.MethodTrace, "*", "":
		return fmt.Errorf("the verb %q cannot be routed", r.Verb)
	case http.MethodGet:
		if r.Body != "" {
			return errors.New("a GET has no body")
		}
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
	r := &router{}
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
		own := false // the method itself says what its default path does
		for _, route := range m.Routes {
			e, err := compile(m, route)
			add(e, err)
			own = own || err == nil && e.verb == http.MethodPost && e.pattern == m.Path()
		}
		if !own {
			add(defaultEndpoint(m), nil)
		}
	}
	return r, errors.Join(errs...)
}
