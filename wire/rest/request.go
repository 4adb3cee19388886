package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A pair is a query parameter, with the field that it fills.
type pair struct {
	field *field
	name  string // as it was written
	value string
}

// A builder puts the JSON text of a request together. Its buffers are reused.
type builder struct {
	buf   []byte
	pairs []pair
}

// request returns the JSON of a call's request. The result is body itself, or
// in the builder's buffer. body is nil if the call had none. Errors name the
// parameter or field.
func (b *builder) request(e *endpoint, values []string, query string, body []byte) ([]byte, error) {
	if err := b.parseQuery(e, query); err != nil {
		return nil, err
	}
	if e.wholeBody {
		if body == nil && e.isObject {
			body = emptyObject
		}
		if len(e.variables) == 0 {
			return body, nil
		}
		return b.extend(e, values, body)
	}
	if body != nil && e.bodyField == nil {
		return nil, fmt.Errorf("%s %s takes no body", e.verb, e.pattern)
	}
	b.buf = append(b.buf[:0], '{')
	if err := b.appendVariables(e, values); err != nil {
		return nil, err
	}
	if err := b.appendQuery(); err != nil {
		return nil, err
	}
	if body != nil {
		// Text that is more than one value would add members of its own.
		var one json.RawMessage
		if err := json.Unmarshal(body, &one); err != nil {
			return nil, fmt.Errorf("field %s, the body: %w", e.bodyField.name, err)
		}
		b.name(e.bodyField)
		b.buf = append(b.buf, body...)
	}
	b.buf = append(b.buf, '}')
	return b.buf, nil
}

var emptyObject, opening, closing = []byte("{}"), []byte("{"), []byte("}")

// space is what JSON calls white space.
const space = " \t\r\n"

// extend adds the path's fields to the object that is the body. They go to its
// end so that offsets in errors are those of the body. Should the body have
// the same field, the codec refuses it as given twice. Should it be malformed,
// it stays so: what is added begins after a comma with a quoted identifier.
func (b *builder) extend(e *endpoint, values []string, body []byte) ([]byte, error) {
	inner, closed := bytes.CutSuffix(bytes.TrimRight(body, space), closing)
	members, opened := bytes.CutPrefix(bytes.TrimLeft(inner, space), opening)
	if !opened || !closed {
		return nil, errors.New("the body is not a JSON object")
	}
	b.buf = append(b.buf[:0], '{')
	if len(bytes.TrimLeft(members, space)) > 0 {
		b.buf = append(append(b.buf[:0], inner...), ',')
	}
	if err := b.appendVariables(e, values); err != nil {
		return nil, err
	}
	return append(b.buf, '}'), nil
}

func (b *builder) appendVariables(e *endpoint, values []string) (err error) {
	for i, f := range e.variables {
		b.name(f)
		if b.buf, err = f.form.appendJSON(b.buf, values[i]); err != nil {
			return fmt.Errorf("path parameter %s: %w", f.name, err)
		}
	}
	return nil
}

// name appends a member's name, after a comma if it is not the first.
func (b *builder) name(f *field) {
	if last := b.buf[len(b.buf)-1]; last != '{' && last != ',' {
		b.buf = append(b.buf, ',')
	}
	b.buf = append(b.buf, '"')
	b.buf = append(b.buf, f.name...)
	b.buf = append(b.buf, '"', ':')
}

// parseQuery reads the parameters into b.pairs, sorted by field; the values of
// one field keep their order.
func (b *builder) parseQuery(e *endpoint, query string) error {
	b.pairs = b.pairs[:0]
	for query != "" {
		var part string
		part, query, _ = strings.Cut(query, "&")
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(key)
		if err != nil {
			return fmt.Errorf("query parameter %q: %w", key, err)
		}
		f, err := e.queryField(name)
		if err != nil {
			return fmt.Errorf("query parameter %q: %w", name, err)
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return fmt.Errorf("query parameter %q: %w", name, err)
		}
		b.pairs = append(b.pairs, pair{f, name, value})
	}
	slices.SortStableFunc(b.pairs, func(x, y pair) int { return x.field.index - y.field.index })
	return nil
}

// queryField finds the field that a parameter fills.
func (e *endpoint) queryField(name string) (*field, error) {
	if e.wholeBody {
		return nil, fmt.Errorf("%s %s takes its fields from the body", e.verb, e.pattern)
	}
	f := e.fields[name]
	switch {
	case f == nil:
		return nil, fmt.Errorf("%s %s has no such parameter", e.verb, e.pattern)
	case e.inPath(f):
		return nil, errors.New("the path fills this field already")
	case f == e.bodyField:
		return nil, errors.New("the body fills this field")
	case f.form == noForm:
		return nil, errors.New("a message, map or document cannot be in a query")
	}
	return f, nil
}

func (b *builder) appendQuery() (err error) {
	for i := 0; i < len(b.pairs); {
		f := b.pairs[i].field
		n := 1
		for i+n < len(b.pairs) && b.pairs[i+n].field == f {
			n++
		}
		if n > 1 && !f.list {
			return fmt.Errorf("query parameter %q is given more than once", b.pairs[i+1].name)
		}
		b.name(f)
		if f.list {
			b.buf = append(b.buf, '[')
		}
		for j, p := range b.pairs[i : i+n] {
			if j > 0 {
				b.buf = append(b.buf, ',')
			}
			if b.buf, err = f.form.appendJSON(b.buf, p.value); err != nil {
				return fmt.Errorf("query parameter %q: %w", p.name, err)
			}
		}
		if f.list {
			b.buf = append(b.buf, ']')
		}
		i += n
	}
	return nil
}
