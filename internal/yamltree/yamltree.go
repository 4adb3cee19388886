// Package yamltree reads YAML that people write into a tree whose nodes have places,
// for readers that name the place of every mistake. It is YAML 1.2 as
// github.com/goccy/go-yaml reads it, of one document; names that stand twice in a
// mapping are left to the reader, which can tell both places.
package yamltree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A Pos is a place in a text: a line, and a column in characters, both from 1.
type Pos struct{ Line, Column int }

// An Error says what is wrong, and where.
type Error struct {
	Pos
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d column %d: %s", e.Line, e.Column, e.Text) }

// Parse returns the root of the text's one document, nil if there is none. The YAML
// parser takes time by the square of how deeply a text nests, so depth is bounded
// before it sees it: about maxNesting. Errors are [*Error].
func Parse(text string, maxNesting int) (root ast.Node, err error) {
	if at, deep := tooDeep(text, maxNesting); deep {
		return nil, &Error{at, fmt.Sprintf("the file nests more than %d deep", maxNesting)}
	}
	defer func() {
		// The parser is not ours, and the text may be anything.
		if p := recover(); p != nil {
			root, err = nil, &Error{Pos{1, 1}, fmt.Sprintf("this is not YAML that can be read: %v", p)}
		}
	}()
	file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) {
			return nil, &Error{Of(at.GetToken()), "this is not YAML: " + at.GetMessage()}
		}
		return nil, &Error{Pos{1, 1}, "this is not YAML: " + err.Error()}
	}
	for _, d := range file.Docs {
		switch {
		case d == nil || d.Body == nil:
		case root == nil:
			root = d.Body
		default:
			return nil, &Error{Start(d.Body), "this is another document: a file has one"}
		}
	}
	return root, nil
}

// tooDeep finds where brackets, or the marks of lists and keys in one line, nest too
// deeply. It does not know quotes, and so may count brackets in texts: it allows twice
// as many.
func tooDeep(text string, limit int) (Pos, bool) {
	depth, number := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		marks, column, head := 0, 0, true
		for _, r := range line {
			column++
			switch r {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			case '-', '?', '&', '!', '*', ':':
				if head {
					marks++
				}
			}
			head = head && strings.ContainsRune(" -?", r)
			if depth > 2*limit || marks > limit || column > 16*limit+1 && head {
				return Pos{number, column}, true
			}
		}
	}
	return Pos{}, false
}

// Of is the place of a token.
func Of(t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{1, 1}
	}
	return Pos{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// Start is where a node begins.
func Start(n ast.Node) Pos {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return Start(n.Values[0])
		}
		return Of(n.Start)
	case *ast.MappingValueNode:
		if n.Key != nil {
			return Of(n.Key.GetToken())
		}
	case nil:
		return Pos{1, 1}
	}
	return Of(n.GetToken())
}

// Members are those of a mapping; ok says whether it is one.
func Members(n ast.Node) (all []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// Scalar is the text of a single value as it is written; ok says whether it is one.
// null is none.
func Scalar(n ast.Node) (text string, ok bool) {
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

// Kind names what a node is. files are the reader's, such as "flow files".
func Kind(n ast.Node, files string) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or an alias, which " + files + " do not have"
	case *ast.TagNode:
		return "a tag, which " + files + " do not have"
	case *ast.IntegerNode, *ast.FloatNode:
		return "the number " + n.GetToken().Value
	case *ast.BoolNode:
		return n.Token.Value
	case *ast.InfinityNode, *ast.NanNode:
		return "a number that is none"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	}
	return "something else"
}
