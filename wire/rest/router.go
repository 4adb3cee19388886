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
// routes there are.
//
// Where a literal and a variable both match a segment, the literal is tried
// first, then the variable: a route is found if any matches path and verb.
type router struct {
	root node
}

type node struct {
	literals  map[string]*node // by decoded segment
	variable  *node
	endpoints []*endpoint // of paths that end here; one for each verb
}

// add puts e into the tree. Two endpoints with one verb whose templates match
// the same paths are a conflict.
func (r *router) add(e *endpoint) error {
	n := &r.root
	for _, s := range e.segments {
		n = n.child(s)
	}
	for _, other := range n.endpoints {
		if other.verb == e.verb {
			return fmt.Errorf("route %s %s of %s conflicts with %s %s of %s",
				e.verb, e.pattern, e.method.FullName(), other.verb, other.pattern, other.method.FullName())
		}
	}
	n.endpoints = append(n.endpoints, e)
	return nil
}

func (n *node) child(s segment) *node {
	if s.variable != "" {
		if n.variable == nil {
			n.variable = &node{}
		}
		return n.variable
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
}

// find looks up an escaped path, in which %2F is data and / separates. It
// leaves m.endpoint nil if no route matches.
func (r *router) find(verb, path string, m *match) {
	m.endpoint, m.values, m.allowed = nil, m.values[:0], m.allowed[:0]
	if path != "" && path[0] == '/' {
		r.root.find(verb, path, m)
	}
}

// find matches rest, which is "" or begins with a slash, below n.
func (n *node) find(verb, rest string, m *match) bool {
	if rest == "" {
		for _, e := range n.endpoints {
			if e.verb == verb {
				m.endpoint = e
				return true
			}
			m.allowed = append(m.allowed, e.verb)
		}
		return false
	}
	seg, tail := rest[1:], ""
	if i := strings.IndexByte(seg, '/'); i >= 0 {
		seg, tail = seg[:i], seg[i:]
	}
	if strings.IndexByte(seg, '%') >= 0 {
		var err error
		if seg, err = url.PathUnescape(seg); err != nil {
			return false
		}
	}
	if seg == "" {
		return false
	}
	if c := n.literals[seg]; c != nil && c.find(verb, tail, m) {
		return true
	}
	if n.variable == nil {
		return false
	}
	depth := len(m.values)
	m.values = append(m.values, seg)
	if n.variable.find(verb, tail, m) {
		return true
	}
	m.values = m.values[:depth]
	return false
}

// allow is the value of the Allow header: the verbs of the routes that match
// the path, and those that the server answers itself.
func (m *match) allow() string {
	verbs := append(slices.Clone(m.allowed), http.MethodOptions)
	if slices.Contains(verbs, http.MethodGet) {
		verbs = append(verbs, http.MethodHead)
	}
	slices.Sort(verbs)
	return strings.Join(slices.Compact(verbs), ", ")
}
