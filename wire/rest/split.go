package rest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/everywire/everywire/schema"
)

// A splitter divides one request. The JSON that it takes apart is the codec's:
// valid, and with names of fields that have no escapes.
type splitter struct {
	endpoint *endpoint
	values   []string // of the variables
	headers  []headerField
	cookies  []string
	query    []byte
	body     []byte
}

func (s *splitter) request(message []byte) (err error) {
	if s.endpoint.wholeBody {
		s.body = make([]byte, 0, len(message))
		return s.keep(message, s.endpoint.input, nil)
	}
	return s.each(message, s.endpoint.input, nil, func(f *field, chain []*field, value []byte) error {
		if f != s.endpoint.bodyField {
			return s.parameter(chain, "", value)
		}
		s.body = make([]byte, 0, len(value))
		return s.keepValue(f, chain, value)
	})
}

// each calls f for the members of an object that are not bound to a place of
// their own; those it puts there.
func (s *splitter) each(object []byte, at *fields, chain []*field, f func(f *field, chain []*field, value []byte) error) error {
	var failed error
	err := members(object, func(name, value []byte) bool {
		x := at.byName[string(name)]
		if x == nil { // an extension, or not a field at all
			failed = f(&field{name: string(name)}, nil, value)
			return failed == nil
		}
		inner := append(slices.Clip(chain), x)
		var bound bool
		if bound, failed = s.bind(inner, value); !bound && failed == nil {
			failed = f(x, inner, value)
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// bind puts a value where a binding of the route says.
func (s *splitter) bind(chain []*field, value []byte) (bound bool, err error) {
	f := chain[len(chain)-1]
	if i := s.endpoint.variable(chain); i >= 0 {
		if string(value) != "null" {
			s.values[i], err = f.form.text(value)
		}
		return true, err
	}
	in := f.place.In
	if len(chain) > 1 || in != schema.InHeader && in != schema.InCookie || f == s.endpoint.bodyField {
		return false, nil
	}
	if s := string(value); s == "null" || s == f.absent {
		return true, nil
	}
	text, err := f.form.text(value)
	if err != nil {
		return true, err
	}
	if in == schema.InCookie {
		s.cookies = append(s.cookies, f.place.Name+"="+escapeCookie(text))
		return true, nil
	}
	if !inHeaders(text) {
		return true, fmt.Errorf("field %s has control characters, or spaces at an end, which the header %s cannot carry", f.name, f.place.Name)
	}
	for _, h := range s.endpoint.headers {
		if h.chain[0] == f {
			s.headers = append(s.headers, headerField{h.name, text})
		}
	}
	return true, nil
}

// keep appends to the body what of an object is not bound.
func (s *splitter) keep(object []byte, at *fields, chain []*field) error {
	s.body = append(s.body, '{')
	err := s.each(object, at, chain, func(f *field, chain []*field, value []byte) error {
		if s.body[len(s.body)-1] != '{' {
			s.body = append(s.body, ',')
		}
		s.body = append(append(append(s.body, '"'), f.name...), '"', ':')
		return s.keepValue(f, chain, value)
	})
	s.body = append(s.body, '}')
	return err
}

func (s *splitter) keepValue(f *field, chain []*field, value []byte) error {
	inside := func(v binding) bool {
		return len(v.chain) > len(chain) && slices.Equal(v.chain[:len(chain)], chain)
	}
	if f.message == nil || value[0] != '{' || !slices.ContainsFunc(s.endpoint.variables, inside) {
		s.body = append(s.body, value...)
		return nil
	}
	return s.keep(value, f.message, chain)
}

// parameter adds a field to the query: one parameter, or one for each element
// or field that it has. What an absent parameter means too is left out.
func (s *splitter) parameter(chain []*field, prefix string, value []byte) error {
	if len(chain) == 0 {
		return fmt.Errorf("the request has a member that %s %s has no place for", s.endpoint.verb, s.endpoint.pattern)
	}
	f := chain[len(chain)-1]
	name := prefix + url.QueryEscape(f.queryName())
	if v := string(value); v == "null" || v == f.absent {
		return nil
	}
	var err error
	switch {
	case len(chain) > maxNesting:
		return fmt.Errorf("field %s is nested more than %d deep, which a query cannot say", pathOf(chain), maxNesting)
	case f.message != nil:
		return s.message(chain, name, value)
	case f.isMap:
		if e := members(value, func(key, value []byte) bool {
			var text string
			if text, err = textForm.text(append(append([]byte{'"'}, key...), '"')); err == nil {
				err = s.pair(f, name+"%5B"+url.QueryEscape(text)+"%5D", value)
			}
			return err == nil
		}); e != nil {
			return e
		}
	case f.list:
		if e := elements(value, func(value []byte) bool {
			err = s.pair(f, name, value)
			return err == nil
		}); e != nil {
			return e
		}
	default:
		return s.pair(f, name, value)
	}
	return err
}

// message adds the fields of a message. One that is there and empty is said by
// the first of its fields.
func (s *splitter) message(chain []*field, name string, value []byte) error {
	before := len(s.query)
	pathFills := false
	err := s.each(value, chain[len(chain)-1].message, chain, func(_ *field, chain []*field, value []byte) error {
		return s.parameter(chain, name+".", value)
	})
	for _, v := range s.endpoint.variables {
		pathFills = pathFills || len(v.chain) > len(chain) && slices.Equal(v.chain[:len(chain)], chain)
	}
	f := chain[len(chain)-1]
	if err != nil || len(s.query) > before || !f.pointer || pathFills {
		return err
	}
	for _, inner := range f.message.all {
		if inner.plain() {
			return s.pair(inner, name+"."+url.QueryEscape(inner.queryName()), []byte(inner.absent))
		}
	}
	return fmt.Errorf("field %s is empty, which a query has no way to say", pathOf(chain))
}

func (s *splitter) pair(f *field, name string, value []byte) error {
	text, err := f.form.text(value)
	if err != nil {
		return err
	}
	if len(s.query) > 0 {
		s.query = append(s.query, '&')
	}
	s.query = append(append(s.query, name...), '=')
	s.query = append(s.query, url.QueryEscape(text)...)
	return nil
}

// text is the inverse of appendJSON.
func (f form) text(value []byte) (string, error) {
	if value[0] != '"' {
		return string(value), nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", fmt.Errorf("malformed string: %w", err)
	}
	return s, nil
}

// inHeaders reports whether text survives as a header's value, of which HTTP
// removes the white space around it (RFC 9110, section 5.5).
func inHeaders(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return strings.Trim(text, " \t") == text
}

// escapeCookie escapes what cannot stand in a cookie's value (RFC 6265, section
// 4.1.1), and the percent sign.
func escapeCookie(text string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(text))
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' || c >= 0x7f || c == '"' || c == ',' || c == ';' || c == '\\' || c == '%':
			b = append(b, '%', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
