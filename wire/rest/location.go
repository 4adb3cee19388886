package rest

import "fmt"

// A location is the path of what a call has created, with variables that are
// fields of the reply.
type location struct {
	template  *template
	variables []binding
}

func newLocation(pattern string, reply *fields) (*location, error) {
	t, err := parseTemplate(pattern)
	if err != nil {
		return nil, err
	}
	for i, seg := range t.segments {
		if seg.kind != literal && !t.inVariable(i) {
			return nil, fmt.Errorf("path template %q: a wildcard that belongs to no field", pattern)
		}
	}
	l := &location{template: t}
	l.variables, err = t.bind(reply)
	return l, err
}

// of makes the path for a reply, whose JSON it is given whole.
func (l *location) of(reply []byte) (string, error) {
	values := make([]string, len(l.variables))
	for i, v := range l.variables {
		var err error
		if values[i], err = textAt(reply, v.chain); err != nil {
			return "", fmt.Errorf("field %s: %w", v.name, err)
		}
	}
	return l.template.expand(values)
}

// textAt is the text of a field in a message's JSON, as a path has it.
func textAt(message []byte, chain []*field) (string, error) {
	f := chain[0]
	value, err := memberOr(message, f)
	if err != nil || string(value) == "null" {
		return chain[len(chain)-1].form.zero(), err
	}
	if len(chain) > 1 {
		return textAt(value, chain[1:])
	}
	return f.form.text(value)
}
