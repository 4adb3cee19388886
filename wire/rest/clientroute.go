package rest

import (
	"bytes"
	stdjson "encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/everywire/everywire"
)

// A clientRoute is the route that a client's calls of one method take; without
// an endpoint it is the default route, with the whole request in its body.
type clientRoute struct {
	endpoint *endpoint
}

var defaultRoute = &clientRoute{}

// newClientRoute takes the first declared route that can carry every field of
// the request, whatever a call sets; without one, the default route. All
// routes must be well formed.
func newClientRoute(m *everywire.Method) (*clientRoute, error) {
	c := newCompiler()
	route := defaultRoute
	for _, r := range m.Routes {
		e, err := c.compile(m, r)
		if err != nil {
			return nil, err
		}
		if route == defaultRoute && e.callable() && e.carriesAll() {
			route = &clientRoute{endpoint: e}
		}
	}
	if route == defaultRoute {
		if e := c.defaultEndpoint(m, http.MethodPost); len(e.headers)+len(e.cookies) > 0 {
			route = &clientRoute{endpoint: e}
		}
	}
	return route, nil
}

// callable leaves out HEAD, whose responses have no body, and routes for any
// verb: which verb is not some other route's the client does not know.
func (e *endpoint) callable() bool { return e.verb != http.MethodHead && e.verb != anyVerb }

// carriesAll reports whether path, headers, cookies, query and body have room
// for each field.
func (e *endpoint) carriesAll() bool {
	if e.wholeBody {
		return true
	}
	for _, f := range e.input.all {
		if f != e.bodyField && !e.fits([]*field{f}) {
			return false
		}
	}
	return e.isObject
}

// fits reports whether a field can be in the query or in a place of its own. A
// message can if its fields can, if it does not contain itself, and if there is
// a way to say that it is there and empty.
func (e *endpoint) fits(chain []*field) bool {
	f := chain[len(chain)-1]
	if f.message == nil {
		return f.form != noForm
	}
	if len(chain) > maxNesting || len(f.message.all) == 0 {
		return false
	}
	present := !f.pointer
	for _, inner := range f.message.all {
		if slices.ContainsFunc(chain, func(x *field) bool { return x.message != nil && x.message == inner.message }) {
			return false
		}
		with := append(slices.Clip(chain), inner)
		if !e.fits(with) {
			return false
		}
		present = present || inner.plain() || e.variable(with) >= 0
	}
	return present
}

// variable is the number of the variable that fills a field, or -1.
func (e *endpoint) variable(chain []*field) int {
	return slices.IndexFunc(e.variables, func(v binding) bool { return slices.Equal(v.chain, chain) })
}

// A placed request is divided as its route wants it. It keeps no reference to
// the message that it was made from.
type placedRequest struct {
	path, query string
	headers     []headerField
	body        []byte // nil for none
}

// A headerField is one line of a request's head.
type headerField struct{ name, value string }

// setIn adds the lines to a header that has the call's metadata. A field takes
// the place of metadata of the same name, except that cookies go together.
func (p *placedRequest) setIn(header http.Header) {
	for _, h := range p.headers {
		if old := header[h.name]; h.name == "Cookie" && len(old) > 0 {
			h.value = strings.Join(old, "; ") + "; " + h.value
		}
		header[h.name] = []string{h.value}
	}
}

// split divides a request's JSON between path, headers, query and body.
func (r *clientRoute) split(message []byte) (p placedRequest, err error) {
	e := r.endpoint
	s := splitter{endpoint: e, values: make([]string, len(e.variables))}
	if e.plainBody {
		s.body = bytes.Clone(message)
	} else if err := s.request(message); err != nil {
		return p, err
	}
	if len(s.cookies) > 0 {
		s.headers = append(s.headers, headerField{"Cookie", strings.Join(s.cookies, "; ")})
	}
	p = placedRequest{query: string(s.query), headers: s.headers, body: s.body}
	p.path, err = e.template.expand(s.values)
	return p, err
}

// escapePath escapes the default route's path, /SERVICE/NAME.
func escapePath(path string) string {
	for i := range len(path) {
		c := path[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '/' || c == '_' || c == '.' && path[i-1] != '/' {
			continue
		}
		service, name, _ := strings.Cut(path[1:], "/")
		return string(appendEscaped(append(appendEscaped([]byte{'/'}, service), '/'), name))
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
