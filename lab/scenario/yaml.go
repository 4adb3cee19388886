package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/everywire/everywire/internal/yamltree"
	"github.com/everywire/everywire/lab/data"
)

// reader reads nodes of one file.
type reader struct {
	name  string
	depth int
}

// maxDepth bounds how deep a body nests.
const maxDepth = 500

// parse returns the root of the file's one document.
func (r *reader) parse(text string) (ast.Node, error) {
	root, err := yamltree.Parse(text, maxDepth)
	var bad *yamltree.Error
	switch {
	case errors.As(err, &bad):
		return nil, r.bad(bad.Pos, "%s", bad.Text)
	case root == nil:
		return nil, &data.Error{Name: r.name, Text: "it is empty: a mix file has a list named operations"}
	}
	return root, nil
}

func (r *reader) bad(at yamltree.Pos, format string, args ...any) error {
	return &data.Error{Name: r.name, Line: at.Line, Column: at.Column, Text: fmt.Sprintf(format, args...)}
}

func (r *reader) badNode(n ast.Node, format string, args ...any) error {
	return r.bad(yamltree.Start(n), format, args...)
}

// kindOf names what a node is.
func kindOf(n ast.Node) string { return yamltree.Kind(n, "mix files") }

// pair is one member of a mapping.
type pair struct {
	key   string
	at    yamltree.Pos
	value ast.Node
}

// pairs are the members of a mapping, in their order, of which no two have one name.
func (r *reader) pairs(n ast.Node, what string) ([]pair, error) {
	values, ok := yamltree.Members(n)
	if !ok {
		return nil, r.badNode(n, "%s is a mapping, this is %s", what, kindOf(n))
	}
	all := make([]pair, 0, len(values))
	for _, v := range values {
		if v.Key == nil || v.Value == nil {
			return nil, r.badNode(n, "%s has a member without a name or a value", what)
		}
		key, ok := yamltree.Scalar(v.Key)
		at := yamltree.Of(v.Key.GetToken())
		if !ok {
			return nil, r.bad(at, "the names in %s are texts, this is %s", what, kindOf(v.Key))
		}
		if slices.ContainsFunc(all, func(p pair) bool { return p.key == key }) {
			return nil, r.bad(at, "%s has the name %q twice", what, key)
		}
		all = append(all, pair{key, at, v.Value})
	}
	return all, nil
}

// known refuses members that the thing does not have.
func (r *reader) known(all []pair, what string, names ...string) error {
	for _, p := range all {
		if !slices.Contains(names, p.key) {
			return r.bad(p.at, "%s has no %q: it has %s", what, p.key, strings.Join(names, ", "))
		}
	}
	return nil
}

// list are the elements of a sequence.
func (r *reader) list(n ast.Node, what string) ([]ast.Node, error) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, r.badNode(n, "%s is a list, this is %s", what, kindOf(n))
	}
	for _, v := range s.Values {
		if v == nil {
			return nil, r.badNode(n, "%s has an empty element", what)
		}
	}
	return s.Values, nil
}

// text is a scalar as it is written, with the place of its first character.
func (r *reader) text(n ast.Node, what string) (Text, error) {
	s, ok := yamltree.Scalar(n)
	if !ok {
		return Text{}, r.badNode(n, "%s is a text, this is %s", what, kindOf(n))
	}
	return Text{s, r.origin(n)}, nil
}

// origin is where the text of a scalar begins. In a text with escapes, or folded
// lines, columns behind those are not exact.
func (r *reader) origin(n ast.Node) data.Origin {
	o := data.Origin{Name: r.name}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return o
	}
	o.Line, o.Column = t.Position.Line, t.Position.Column
	switch n := n.(type) {
	case *ast.LiteralNode:
		// The text begins on the line after the mark "|" or ">".
		o.Line++
		o.Column = 1
		if n.Value != nil {
			if t := n.Value.GetToken(); t != nil {
				o.Indent = indentOf(t.Origin)
				o.Column += o.Indent
			}
		}
	case *ast.StringNode:
		if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
			o.Column++
		}
	}
	return o
}

// indentOf counts the spaces before the first line of a block.
func indentOf(block string) int {
	block = strings.TrimLeft(block, "\r\n")
	return len(block) - len(strings.TrimLeft(block, " "))
}

// integer is a number from least to most.
func (r *reader) integer(n ast.Node, what string, least, most int) (int, error) {
	if i, ok := n.(*ast.IntegerNode); ok {
		switch v := i.Value.(type) {
		case uint64:
			if v >= uint64(least) && v <= uint64(most) { //nolint:gosec // neither is negative
				return int(v), nil //nolint:gosec // at most most
			}
		case int64:
			if v >= int64(least) && v <= int64(most) {
				return int(v), nil
			}
		}
	}
	return 0, r.badNode(n, "%s is a whole number from %d to %d", what, least, most)
}
