package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A router finds the endpoint for a verb and a path. It is a tree with one
// level a path segment, so a lookup costs what the path is long, however many
// routes there are: no node is visited twice, and of a path that is longer than
// every template only as many segments are looked at as templates have.
//
// Where several of a literal, * and ** match, they are tried in this order: a
// route is found if any matches path and verb.
type router struct {
	root  node
	verbs map[string]*node // trees of the templates that end in a verb, by it
	depth int              // segments of the longest template
}

type node struct {
	literals map[string]*node // by decoded segment
	one      *node
	// endpoints are of paths that end here, rests of those that begin here;
	// one for each verb.
	endpoints, rests []*endpoint
}

// anyVerb is the verb of routes that answer to every one that no other has.
const anyVerb = "*"

// add puts e into the tree. Two endpoints with one verb whose templates match
// the same paths are a conflict.
func (r *router) add(e *endpoint) error {
	n := &r.root
	if verb := e.template.verb; verb != "" {
		if n = r.verbs[verb]; n == nil {
			if r.verbs == nil {
				r.verbs = map[string]*node{}
			}
			n = &node{}
			r.verbs[verb] = n
		}
	}
	endpoints := &n.endpoints
	for _, s := range e.template.segments {
		if s.kind == rest {
			endpoints = &n.rests
			break
		}
		n = n.child(s)
		endpoints = &n.endpoints
	}
	for _, other := range *endpoints {
		if other.verb == e.verb {
			return fmt.Errorf("route %s %s of %s conflicts with %s %s of %s",
				e.verb, e.pattern, e.method.FullName(), other.verb, other.pattern, other.method.FullName())
		}
	}
	*endpoints = append(*endpoints, e)
	r.depth = max(r.depth, len(e.template.segments))
	return nil
}

func (n *node) child(s segment) *node {
	if s.kind == one {
		if n.one == nil {
			n.one = &node{}
		}
		return n.one
	}
	c := n.literals[s.literal]
	if c == nil {
		c = &node{}
		if n.literals == nil {
			n.literals = map[string]*node{}
		}
		n.literals[s.literal] = c
	}
	return c
}

// A match is what find has found. Its slices are reused.
type match struct {
	endpoint *endpoint
	values   []string // of the template's variables, decoded
	allowed  []string // verbs, if the path is known and the verb is not

	segments []string // of the path, decoded, as many as there may be in templates
	starts   []int    // where they begin in the path, after the slash
	longer   bool     // the path has more
}

// find looks up an escaped path, in which %2F is data and / separates. It
// leaves m.endpoint nil if no route matches.
func (r *router) find(verb, path string, m *match) {
	m.endpoint, m.values, m.allowed = nil, m.values[:0], m.allowed[:0]
	if path == "" || path[0] != '/' {
		return
	}
	if len(r.verbs) > 0 {
		if i := strings.LastIndexByte(path, ':'); i > strings.LastIndexByte(path, '/') {
			if text, err := url.PathUnescape(path[i+1:]); err == nil {
				if n := r.verbs[text]; n != nil && m.split(path[:i], r.depth) && n.find(verb, 0, m) {
					m.capture(path[:i])
					return
				}
			}
		}
	}
	if m.split(path, r.depth) && r.root.find(verb, 0, m) {
		m.capture(path)
	}
}

// split cuts the path into up to most segments. It reports whether their
// escapes are well formed.
func (m *match) split(path string, most int) bool {
	m.segments, m.starts = m.segments[:0], m.starts[:0]
	for i := 0; i < len(path); {
		if len(m.segments) == most {
			m.longer = true
			return wellEscaped(path[i:])
		}
		seg := path[i+1:]
		if end := strings.IndexByte(seg, '/'); end >= 0 {
			seg = seg[:end]
		}
		m.starts = append(m.starts, i+1)
		i += 1 + len(seg)
		if strings.IndexByte(seg, '%') >= 0 {
			var err error
			if seg, err = url.PathUnescape(seg); err != nil {
				return false
			}
		}
		m.segments = append(m.segments, seg)
	}
	m.longer = false
	return true
}

// find matches the segments from number i on below n. A node is reached by one
// sequence of segments only, so this is no search among combinations.
func (n *node) find(verb string, i int, m *match) bool {
	if i == len(m.segments) {
		if !m.longer && m.choose(n.endpoints, verb) {
			return true
		}
	} else {
		seg := m.segments[i]
		if c := n.literals[seg]; c != nil && c.find(verb, i+1, m) {
			return true
		}
		if seg != "" && n.one != nil && n.one.find(verb, i+1, m) {
			return true
		}
	}
	return m.choose(n.rests, verb)
}

// choose takes the endpoint that has the verb. HEAD is GET without its body
// (RFC 9110, section 9.3.2), unless it has a route of its own. The server
// answers OPTIONS itself.
func (m *match) choose(endpoints []*endpoint, verb string) bool {
	best := 0
	for _, e := range endpoints {
		fit := 0
		switch {
		case e.verb == verb:
			fit = 3
		case e.verb == http.MethodGet && verb == http.MethodHead:
			fit = 2
		case e.verb == anyVerb && verb != http.MethodOptions:
			fit = 1
		}
		if fit > best {
			m.endpoint, best = e, fit
		}
	}
	if best > 0 {
		return true
	}
	for _, e := range endpoints {
		m.allowed = append(m.allowed, e.verb)
	}
	return false
}

// capture sets the values of the variables from the path that has matched.
func (m *match) capture(path string) {
	for _, v := range m.endpoint.template.variables {
		if !v.many {
			m.values = append(m.values, m.segments[v.first])
			continue
		}
		start, end := len(path), len(path)
		if v.first < len(m.starts) {
			start = m.starts[v.first]
		}
		if !m.endpoint.template.endsInRest(v) && v.end < len(m.starts) {
			end = m.starts[v.end] - 1 // before the slash
		}
		value := path[start:end]
		if strings.IndexByte(value, '%') >= 0 {
			value = unescapeMany(value)
		}
		m.values = append(m.values, value)
	}
}

// allow is the value of the Allow header: the verbs of the routes that match
// the path, and those that the server answers itself.
func (m *match) allow() string {
	verbs := append(slices.Clone(m.allowed), http.MethodOptions)
	if slices.Contains(verbs, http.MethodGet) {
		verbs = append(verbs, http.MethodHead)
	}
	if slices.Contains(verbs, anyVerb) { // which only OPTIONS has not found
		verbs = append(slices.DeleteFunc(verbs, func(v string) bool { return v == anyVerb }), http.MethodDelete,
			http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost, http.MethodPut)
	}
	slices.Sort(verbs)
	return strings.Join(slices.Compact(verbs), ", ")
}
