package data

import (
	"slices"
	"strings"
)

// MaxTemplate bounds a template's text.
const MaxTemplate = 64 << 20

// A Template is a text with places for values. It is safe for concurrent use.
type Template struct {
	place Place
	parts []part
	size  int // of the constant parts
}

// A part is constant text, or an expression.
type part struct {
	text string
	// eval is nil for constant text.
	eval evaluator
	// inString is set within a string of JSON.
	inString bool
}

// Compile makes a template of a text. A placeholder is {{expression}}; what
// expressions there are is in docs/spec/load.md. Errors are of type *[Error].
func Compile(text string, from Origin, place Place, names *Scope) (*Template, error) {
	if len(text) > MaxTemplate {
		return nil, &Error{Name: from.Name, Text: "it is longer than 64 MiB"}
	}
	t := &Template{place: place}
	var quoted stringState
	for at := 0; at < len(text); {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			t.constant(text[at:])
			break
		}
		open += at
		t.constant(text[at:open])
		quoted.read(text[at:open])
		p := &parser{text: text, at: open + 2, from: from, names: names}
		eval, err := p.expression(open)
		if err != nil {
			return nil, err
		}
		at = p.at
		if literal, ok := eval.(constant); ok {
			// Inserted once and for all.
			t.constant(string(insert(nil, place, quoted.inside, literal.kind, []byte(literal.text))))
			continue
		}
		t.parts = append(t.parts, part{eval: eval, inString: quoted.inside})
	}
	return t, nil
}

func (t *Template) constant(text string) {
	if text == "" {
		return
	}
	t.size += len(text)
	if last := len(t.parts) - 1; last >= 0 && t.parts[last].eval == nil {
		t.parts[last].text += text
		return
	}
	t.parts = append(t.parts, part{text: text})
}

// Constant returns the template's text if it has no placeholder.
func (t *Template) Constant() (text string, ok bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].eval == nil:
		return t.parts[0].text, true
	}
	return "", false
}

// Uses reports whether the template takes the value of a name of the scope.
func (t *Template) Uses(slot int) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool {
		v, ok := p.eval.(variable)
		return ok && int(v) == slot
	})
}

// Append appends the text with the values that s has now.
func (t *Template) Append(dst []byte, s *State) []byte {
	dst = slices.Grow(dst, t.size)
	for i := range t.parts {
		p := &t.parts[i]
		if p.eval == nil {
			dst = append(dst, p.text...)
			continue
		}
		kind, text := p.eval.value(s)
		dst = insert(dst, t.place, p.inString, kind, text)
	}
	return dst
}

// Value is the text as a value: where the template is one placeholder alone, of
// that one's kind.
func (t *Template) Value(s *State) Value {
	if len(t.parts) == 1 && t.parts[0].eval != nil {
		kind, text := t.parts[0].eval.value(s)
		return Value{kind, string(text)}
	}
	return Value{Cell, string(t.Append(nil, s))}
}

// stringState knows whether JSON text is within a string.
type stringState struct {
	inside, escaped bool
}

func (s *stringState) read(text string) {
	for i := range len(text) {
		switch c := text[i]; {
		case s.escaped:
			s.escaped = false
		case c == '\\' && s.inside:
			s.escaped = true
		case c == '"':
			s.inside = !s.inside
		}
	}
}
