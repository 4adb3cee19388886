package rest

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/everywire/everywire"
)

// A clientRoute is the route that a client's calls of one method take; without
// an endpoint it is the default route.
type clientRoute struct {
	endpoint *endpoint
}

var defaultRoute = &clientRoute{}

// newClientRoute takes the first declared route that can carry every field of
// the request, whatever a call sets; without one, the default route. All
// routes must be well formed.
func newClientRoute(m *everywire.Method) (*clientRoute, error) {
	route := defaultRoute
	for _, r := range m.Routes {
		e, err := compile(m, r)
		if err != nil {
			return nil, err
		}
		if route == defaultRoute && e.carriesAll() {
			route = &clientRoute{endpoint: e}
		}
	}
	return route, nil
}

// carriesAll reports whether path, query and body have room for each field.
func (e *endpoint) carriesAll() bool {
	if e.wholeBody {
		return true
	}
	for _, f := range e.fields {
		if f.form == noForm && f != e.bodyField {
			return false
		}
	}
	return e.isObject
}

// split divides a request's JSON between path, query and body. The results
// keep no reference to message.
func (r *clientRoute) split(message []byte) (path, query string, body []byte, err error) {
	e := r.endpoint
	if e.wholeBody && len(e.variables) == 0 {
		path, err = e.path(nil)
		return path, "", bytes.Clone(message), err
	}
	values := make([]string, len(e.variables))
	for i, f := range e.variables {
		values[i] = f.form.zero()
	}
	var q []byte
	if e.wholeBody {
		body = append(make([]byte, 0, len(message)), '{')
	}
	each := func(name, value []byte) bool {
		f := e.fields[string(name)]
		i := indexOf(e.variables, f)
		switch {
		case i >= 0:
			if string(value) != "null" {
				values[i], err = f.form.text(value)
			}
		case e.wholeBody:
			if len(body) > 1 {
				body = append(body, ',')
			}
			body = append(append(append(append(body, '"'), name...), '"', ':'), value...)
		case f == e.bodyField && f != nil:
			body = bytes.Clone(value)
		default:
			q, err = appendParameters(q, f, value)
		}
		return err == nil
	}
	if err := members(message, each); err != nil {
		return "", "", nil, err
	}
	if err != nil {
		return "", "", nil, err
	}
	if e.wholeBody {
		body = append(body, '}')
	}
	path, err = e.path(values)
	return path, string(q), body, err
}

func indexOf(fields []*field, f *field) int {
	for i, x := range fields {
		if x == f {
			return i
		}
	}
	return -1
}

// appendParameters adds a field to a query: one parameter, or for a list one
// for each element. What an absent parameter means too is left out.
func appendParameters(q []byte, f *field, value []byte) ([]byte, error) {
	if s := string(value); s == "null" || s == f.absent {
		return q, nil
	}
	var err error
	one := func(v []byte) bool {
		var text string
		if text, err = f.form.text(v); err != nil {
			return false
		}
		if len(q) > 0 {
			q = append(q, '&')
		}
		q = append(append(q, f.name...), '=')
		q = append(q, url.QueryEscape(text)...)
		return true
	}
	if !f.list {
		one(value)
	} else if e := elements(value, one); e != nil {
		return q, fmt.Errorf("field %s: %w", f.name, e)
	}
	return q, err
}

// path fills the template.
func (e *endpoint) path(values []string) (string, error) {
	var b strings.Builder
	for _, s := range e.segments {
		b.WriteByte('/')
		if s.variable == "" {
			b.WriteString(escapeSegment(s.literal))
			continue
		}
		if values[0] == "" {
			return "", fmt.Errorf("field %s is empty, which the path %s has no way to say", s.variable, e.pattern)
		}
		b.WriteString(escapeSegment(values[0]))
		values = values[1:]
	}
	return b.String(), nil
}

// escapeSegment escapes a path segment. The segments . and .. would be taken
// for steps in a hierarchy (RFC 3986, section 5.2.4), so their dots are escaped
// too.
func escapeSegment(s string) string {
	switch s {
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	return url.PathEscape(s)
}

// escapePath escapes the default route's path, /SERVICE/NAME.
func escapePath(path string) string {
	for i := range len(path) {
		c := path[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '/' || c == '_' || c == '.' && path[i-1] != '/' {
			continue
		}
		service, name, _ := strings.Cut(path[1:], "/")
		return "/" + escapeSegment(service) + "/" + escapeSegment(name)
	}
	return path
}

// wrap makes a message of the one field that a response's body is.
func wrap(f *field, body []byte) ([]byte, error) {
	var one stdjson.RawMessage
	if err := stdjson.Unmarshal(body, &one); err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, len(body)+len(f.name)+5), `{"`...)
	b = append(append(b, f.name...), `":`...)
	return append(append(b, body...), '}'), nil
}
