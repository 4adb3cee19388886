package data

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
)

// A Path leads to a value in a JSON document: a.b[0].c, with ["any name"] for names
// that have other characters than letters, digits, '_' and '-'. A dot alone is the
// whole document.
type Path struct {
	text  string
	steps []step
}

// A step goes to a member, or to an element if the name is "".
type step struct {
	name  string
	index int // from the end if negative
	list  bool
}

// ParsePath reads a path.
func ParsePath(text string, from Origin) (Path, error) {
	p := Path{text: text}
	if text == "." {
		return p, nil
	}
	for at := 0; at < len(text); {
		switch {
		case text[at] == '[':
			end := closing(text, at)
			if end < 0 {
				return p, from.At(text, at, "the bracket does not end: elements are [0], members [\"a name\"]")
			}
			inside := text[at+1 : end]
			if name, err := strconv.Unquote(inside); err == nil && strings.HasPrefix(inside, `"`) {
				p.steps = append(p.steps, step{name: name})
			} else if index, err := strconv.Atoi(inside); err == nil {
				p.steps = append(p.steps, step{index: index, list: true})
			} else {
				return p, from.At(text, at+1, "%q is neither an index nor a name in quotes: elements are [0], the last [-1], members [\"a name\"]", inside)
			}
			at = end + 1
		case text[at] == '.' && at > 0, at == 0:
			start := at
			if text[at] == '.' {
				start++
			}
			end := start
			for end < len(text) && text[end] != '.' && text[end] != '[' {
				end++
			}
			name := text[start:end]
			if name == "" || strings.ContainsAny(name, " \t\n\"]") {
				return p, from.At(text, start, "a name is missing, or has characters that need [\"%s\"]", name)
			}
			p.steps = append(p.steps, step{name: name})
			at = end
		default:
			return p, from.At(text, at, "a dot or a bracket is to come here")
		}
	}
	if len(p.steps) == 0 {
		return p, from.At(text, 0, "the path is empty: it is like a.b[0].c, a dot alone is the whole reply")
	}
	return p, nil
}

// closing finds the bracket that ends what begins at text[at].
func closing(text string, at int) int {
	quoted := false
	for i := at + 1; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return i
		}
	}
	return -1
}

func (p Path) String() string { return p.text }

// Find returns the value that the path leads to in a document's value. The error
// says how far it came.
func (p Path) Find(doc any) (any, error) {
	for i, s := range p.steps {
		switch v := doc.(type) {
		case map[string]any:
			member, ok := v[s.name]
			if s.list || !ok {
				return nil, fmt.Errorf("%s has no %s", p.before(i), s)
			}
			doc = member
		case []any:
			at := s.index
			if at < 0 {
				at += len(v)
			}
			if !s.list || at < 0 || at >= len(v) {
				return nil, fmt.Errorf("%s is a list of %d and has no %s", p.before(i), len(v), s)
			}
			doc = v[at]
		default:
			return nil, fmt.Errorf("%s is neither an object nor a list, and has no %s", p.before(i), s)
		}
	}
	return doc, nil
}

func (s step) String() string {
	if s.list {
		return fmt.Sprintf("element %d", s.index)
	}
	return fmt.Sprintf("member %q", s.name)
}

// before names the value in front of a step.
func (p Path) before(i int) string {
	if i == 0 {
		return "the reply"
	}
	return p.steps[i-1].String()
}

// ValueOf makes a value of a document's.
func ValueOf(doc any) (Value, error) {
	if text, ok := doc.(string); ok {
		return Value{String, text}, nil
	}
	text, err := json.Codec{}.Append(nil, &everywire.Document{Value: doc})
	return Value{JSON, string(text)}, err
}

// Document is what a value is in a document, the inverse of [ValueOf]. A [Cell]
// that is no JSON is a string.
func (v Value) Document() any {
	if v.Kind != String {
		var doc everywire.Document
		if err := (json.Codec{}).Decode([]byte(v.Text), &doc); err == nil {
			return doc.Value
		}
	}
	return v.Text
}
