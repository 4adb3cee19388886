package scenario

import (
	"encoding/json"

	"github.com/goccy/go-yaml/ast"

	"github.com/everywire/everywire/internal/yamltree"
	"github.com/everywire/everywire/lab/data"
)

// body reads a request: a text is taken as it stands, anything else is written as
// JSON, in which texts may hold templates.
func (r *reader) body(n ast.Node) (text *Text, scalars []Text, err error) {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		t, err := r.text(n, "the body")
		return &t, nil, err
	}
	r.depth = 0
	out, scalars, err := r.json(nil, nil, n)
	if err != nil {
		return nil, nil, err
	}
	from := data.Origin{Name: r.name}
	at := yamltree.Start(n)
	from.Line, from.Column = at.Line, at.Column
	return &Text{string(out), from}, scalars, nil
}

// value reads a value that a reply is to have, as JSON.
func (r *reader) value(n ast.Node) (Text, error) {
	if s, ok := n.(*ast.StringNode); ok {
		if from := r.origin(n); onlyPlaceholder(s.Value) {
			return Text{s.Value, from}, nil // of the placeholder's own kind
		}
	}
	r.depth = 0
	out, _, err := r.json(nil, nil, n)
	return Text{string(out), r.origin(n)}, err
}

// onlyPlaceholder reports whether a text is one placeholder alone.
func onlyPlaceholder(text string) bool {
	if len(text) < 4 || text[:2] != "{{" {
		return false
	}
	return data.Quote(text) == `"`+text+`"` && text[len(text)-2:] == "}}"
}

// json appends a node as JSON.
func (r *reader) json(dst []byte, scalars []Text, n ast.Node) ([]byte, []Text, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, nil, r.badNode(n, "the body nests more than %d deep", maxDepth)
	}
	defer func() { r.depth-- }()
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		all, err := r.pairs(n, "an object of the body")
		if err != nil {
			return nil, nil, err
		}
		dst = append(dst, '{')
		for i, p := range all {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, data.Quote(p.key)...), ':')
			if dst, scalars, err = r.json(dst, scalars, p.value); err != nil {
				return nil, nil, err
			}
		}
		return append(dst, '}'), scalars, nil
	case *ast.SequenceNode:
		all, err := r.list(n, "an array of the body")
		if err != nil {
			return nil, nil, err
		}
		dst = append(dst, '[')
		for i, v := range all {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, scalars, err = r.json(dst, scalars, v); err != nil {
				return nil, nil, err
			}
		}
		return append(dst, ']'), scalars, nil
	case *ast.StringNode, *ast.LiteralNode:
		t, err := r.text(n, "a text of the body")
		return append(dst, data.Quote(t.Text)...), append(scalars, t), err
	case *ast.NullNode:
		return append(dst, "null"...), scalars, nil
	case *ast.BoolNode:
		if n.Value {
			return append(dst, "true"...), scalars, nil
		}
		return append(dst, "false"...), scalars, nil
	case *ast.IntegerNode, *ast.FloatNode:
		// As it is written, with all digits, if that is JSON; octal and the like is not.
		if text := n.GetToken().Value; json.Valid([]byte(text)) {
			return append(dst, text...), scalars, nil
		}
		return nil, nil, r.badNode(n, "%s is no number of JSON: write it in decimal, or in quotes if it is a text", n.GetToken().Value)
	}
	return nil, nil, r.badNode(n, "JSON has no form for this: it is %s", kindOf(n))
}
