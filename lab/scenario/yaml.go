package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

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
func (r *reader) parse(text []byte) (root ast.Node, err error) {
	defer func() {
		// The parser is not ours, and the text may be anything.
		if p := recover(); p != nil {
			root, err = nil, &data.Error{Name: r.name, Text: fmt.Sprintf("it cannot be read as YAML: %v", p)}
		}
	}()
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, r.bad(at.GetToken(), "%s", at.GetMessage())
		}
		return nil, &data.Error{Name: r.name, Text: err.Error()}
	}
	var bodies []ast.Node
	for _, d := range file.Docs {
		if d != nil && d.Body != nil {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return nil, &data.Error{Name: r.name, Text: "it is empty: a mix file has a list named operations"}
	case 1:
		return bodies[0], nil
	}
	return nil, r.bad(bodies[1].GetToken(), "a mix file is one document")
}

func (r *reader) bad(t *token.Token, format string, args ...any) error {
	e := &data.Error{Name: r.name, Text: fmt.Sprintf(format, args...)}
	if t != nil && t.Position != nil {
		e.Line, e.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return e
}

func (r *reader) badNode(n ast.Node, format string, args ...any) error {
	return r.bad(first(n), format, args...)
}

// first is the token at which a node begins.
func first(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return first(n.Values[0])
		}
		return n.Start
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

// pair is one member of a mapping.
type pair struct {
	key   string
	at    *token.Token
	value ast.Node
}

// pairs are the members of a mapping, in their order, of which no two have one name.
func (r *reader) pairs(n ast.Node, what string) ([]pair, error) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return nil, r.badNode(n, "%s is a mapping, this is %s", what, kindOf(n))
	}
	all := make([]pair, 0, len(values))
	for _, v := range values {
		if v.Key == nil || v.Value == nil {
			return nil, r.badNode(n, "%s has a member without a name or a value", what)
		}
		key, ok := scalarOf(v.Key)
		if !ok {
			return nil, r.bad(v.Key.GetToken(), "the names in %s are texts, this is %s", what, kindOf(v.Key))
		}
		if slices.ContainsFunc(all, func(p pair) bool { return p.key == key }) {
			return nil, r.bad(v.Key.GetToken(), "%s has the name %q twice", what, key)
		}
		all = append(all, pair{key, v.Key.GetToken(), v.Value})
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
	s, ok := scalarOf(n)
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

// scalarOf is the text of a scalar.
func scalarOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		if n.Value == nil {
			return "", true
		}
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "empty"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or an alias, which mix files do not have"
	case *ast.TagNode:
		return "a tag, which mix files do not have"
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.StringNode, *ast.LiteralNode:
		return "a single value"
	}
	return "something else"
}
