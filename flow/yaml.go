package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/everywire/everywire/flow/expr"
	"github.com/everywire/everywire/internal/yamltree"
)

// Limits on a file.
const (
	// MaxFile is how many bytes a file may have.
	MaxFile = 256 << 10
	// MaxNesting is how deeply mappings and lists may nest.
	MaxNesting = 64
)

// document reads the YAML of a file. It returns nil if it has noted an error.
func (s *source) document(text []byte) ast.Node {
	if len(text) > MaxFile {
		s.bad(Pos{1, 1}, "the file has %d bytes: the limit is %d", len(text), MaxFile)
		return nil
	}
	root, err := yamltree.Parse(string(text), MaxNesting)
	var bad *yamltree.Error
	switch {
	case errors.As(err, &bad):
		s.bad(Pos(bad.Pos), "%s", bad.Text)
	case root == nil:
		s.bad(Pos{1, 1}, "the file is empty: it needs a name, triggers and flows")
	}
	return root
}

// start is where a node begins.
func start(n ast.Node) Pos { return Pos(yamltree.Start(n)) }

// kindOf names what a node is.
func kindOf(n ast.Node) string { return yamltree.Kind(n, "flow files") }

// empty reports whether nothing stands where a value should. null is a value.
func empty(n ast.Node) bool {
	if n == nil {
		return true
	}
	null, ok := n.(*ast.NullNode)
	return ok && (null.Token == nil || null.Token.Type == token.ImplicitNullType)
}

// An entry is a member of a mapping.
type entry struct {
	key   string
	at    Pos // of the key
	value ast.Node
}

// entries are the members of a mapping. What cannot be one is noted and left out.
func (s *source) entries(n ast.Node, what string) (all []entry, ok bool) {
	values, ok := yamltree.Members(n)
	if !ok {
		s.bad(start(n), "%s %s a mapping of names to values, not %s", what, is(what), kindOf(n))
		return nil, false
	}
	for _, v := range values {
		if v == nil || v.Key == nil {
			continue
		}
		key, isText := yamltree.Scalar(v.Key)
		at := Pos(yamltree.Of(v.Key.GetToken()))
		if !isText {
			s.bad(at, "a name should stand here, not %s", kindOf(v.Key))
			continue
		}
		if i := slices.IndexFunc(all, func(e entry) bool { return e.key == key }); i >= 0 {
			s.bad(at, "%q is here twice: the first is in line %d", key, all[i].at.Line)
			continue
		}
		all = append(all, entry{key, at, v.Value})
	}
	return all, true
}

// is is the verb for one or for several.
func is(what string) string {
	if strings.HasSuffix(what, "s") || strings.HasSuffix(what, "data") {
		return "are"
	}
	return "is"
}

// An object is a mapping whose keys are known.
type object struct {
	src     *source
	what    string // "a trigger"
	at      Pos
	entries []entry
	// unknown is set if it has keys that it cannot have.
	unknown bool
}

// object reads a mapping and notes keys that it cannot have. It returns nil if it is
// no mapping.
func (s *source) object(n ast.Node, at Pos, what string, keys ...string) *object {
	if empty(n) {
		e := s.bad(at, "%s is empty", what)
		e.Allowed = keys
		return nil
	}
	all, ok := s.entries(n, what)
	if !ok {
		return nil
	}
	o := &object{src: s, what: what, at: start(n)}
	for _, m := range all {
		if !slices.Contains(keys, m.key) {
			e := s.bad(m.at, "%s has no %q%s", what, m.key, meant(m.key, keys))
			e.Allowed = keys
			o.unknown = true
			continue
		}
		if empty(m.value) {
			s.bad(m.at, "%q has no value", m.key)
			m.value = nil
		}
		o.entries = append(o.entries, m)
	}
	return o
}

// meant asks whether somebody meant another word.
func meant(word string, words []string) string {
	if near := expr.Nearest(word, words); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// get is the entry of a key that has a value, or nil.
func (o *object) get(key string) *entry {
	if e := o.find(key); e != nil && e.value != nil {
		return e
	}
	return nil
}

// find is the entry of a key, or nil.
func (o *object) find(key string) *entry {
	for i := range o.entries {
		if o.entries[i].key == key {
			return &o.entries[i]
		}
	}
	return nil
}

// need is get, and notes if the key is not there.
func (o *object) need(key, example string) *entry {
	if o.find(key) == nil {
		o.src.bad(o.at, "%s needs %q, such as %s", o.what, key, example)
	}
	return o.get(key)
}

// items are the elements of a list.
func (s *source) items(n ast.Node, what string) []ast.Node {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		s.bad(start(n), "%s is a list, not %s", what, kindOf(n))
		return nil
	}
	return list.Values
}

// origin is where the text of a single value begins, and how it is written.
func (s *source) origin(n ast.Node) (Pos, quoting) {
	at := start(n)
	switch n := n.(type) {
	case *ast.LiteralNode: // begins in the line after its mark
		w := walker{s: s, at: at}
		w.newLine()
		for w.at.Line < len(s.lines) && len(s.lines[w.at.Line-1]) == 0 {
			w.newLine()
		}
		return w.at, block
	case *ast.StringNode:
		switch n.Token.Type {
		case token.DoubleQuoteType:
			return Pos{at.Line, at.Column + 1}, doubleQuoted
		case token.SingleQuoteType:
			return Pos{at.Line, at.Column + 1}, singleQuoted
		}
	}
	return at, plain
}
