package rest

import (
	"bytes"
	stdjson "encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/everywire/everywire"
)

// A clientRoute is what a client's calls of one method take: the first of the
// endpoints that can carry the call's request. Without any it is the default
// route, with the whole request in its body.
type clientRoute struct {
	endpoints []*endpoint
}

var defaultRoute = &clientRoute{}

// newClientRoute takes the declared routes that have room for every field of
// the request; without one, the default route. All routes must be well formed.
func newClientRoute(m *everywire.Method) (*clientRoute, error) {
	c := newCompiler()
	route := &clientRoute{}
	for _, r := range m.Routes {
		e, err := c.compile(m, r)
		if err != nil {
			return nil, err
		}
		if e.callable() && e.carriesAll() {
			route.endpoints = append(route.endpoints, e)
		}
	}
	if len(route.endpoints) == 0 {
		e := c.defaultEndpoint(m, http.MethodPost)
		if len(e.headers)+len(e.cookies) == 0 {
			return defaultRoute, nil
		}
		route.endpoints = append(route.endpoints, e)
	}
	return route, nil
}

// plainBody reports whether every call's request is its body.
func (r *clientRoute) plainBody() bool { return len(r.endpoints) == 0 || r.endpoints[0].plainBody }

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
// message can if its fields can, and if there is a way to say that it is there
// and empty. One that contains itself can, as long as it ends.
func (e *endpoint) fits(chain []*field) bool {
	f := chain[len(chain)-1]
	if f.message == nil {
		return f.form != noForm
	}
	if len(chain) > maxNesting || len(f.message.all) == 0 {
		return false
	}
	if slices.ContainsFunc(chain[:len(chain)-1], func(x *field) bool { return x.message == f.message }) {
		return true
	}
	present := !f.pointer
	for _, inner := range f.message.all {
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
	endpoint    *endpoint // nil for the default route
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

// split divides a request's JSON by the first endpoint that can carry it. If
// none can, the error is that of the first.
func (r *clientRoute) split(message []byte) (placedRequest, error) {
	var first error
	for _, e := range r.endpoints {
		p, err := e.split(message)
		if err == nil {
			return p, nil
		}
		if first == nil {
			first = err
		}
	}
	return placedRequest{}, first
}

// split divides a request's JSON between path, headers, query and body.
func (e *endpoint) split(message []byte) (p placedRequest, err error) {
	s := splitter{endpoint: e, values: make([]string, len(e.variables))}
	if e.plainBody {
		s.body = bytes.Clone(message)
	} else if err := s.request(message); err != nil {
		return p, err
	}
	if len(s.cookies) > 0 {
		s.headers = append(s.headers, headerField{"Cookie", strings.Join(s.cookies, "; ")})
	}
	p = placedRequest{endpoint: e, query: string(s.query), headers: s.headers, body: s.body}
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
