package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// A builder puts the JSON text of a request together. Its buffers are reused.
type builder struct {
	buf   []byte
	pairs []pair
	chain []*field // of the query's pairs
	bad   []violation
}

// maxPooledPairs is how many parameters a builder keeps room for.
const maxPooledPairs = 256

// forget lets go of the request that was put together.
func (b *builder) forget() {
	clear(b.pairs)
	b.bad = nil
	if cap(b.pairs) > maxPooledPairs || cap(b.chain) > maxPooledPairs {
		b.pairs, b.chain = nil, nil
	}
}

// A pair is a value that stands outside the body, with the field that it fills.
type pair struct {
	chain []*field // from the request's field to the one that has the value
	in    part
	name  string // as it was written
	value string
	style style
	key   string // with byKey
	index int    // with byIndex
	// merged is set if the value is in the buffer already, within the body's
	// object.
	merged bool
}

// leaf is the field that has the value.
func (p *pair) leaf() *field { return p.chain[len(p.chain)-1] }

// A part is where in an HTTP request a value stands.
type part uint8

const (
	inPath part = iota
	inHeader
	inCookie
	inQuery
)

func (p *pair) String() string {
	switch p.in {
	case inPath:
		return "path parameter " + p.name
	case inHeader:
		return "header " + p.name
	case inCookie:
		return "cookie " + p.name
	}
	return fmt.Sprintf("query parameter %q", p.name)
}

// request returns the JSON of a call's request. The result is body itself, or
// in the builder's buffer. body is nil if the call had none; it may be in
// another codec than JSON if e.plainBody is set, as it is passed on then. If
// something is wrong with names and number of values, the error is a status
// that says all of it; b.bad has it too, and the result is the request without
// the fields in question, in which explain looks for what else is wrong.
func (b *builder) request(e *endpoint, values []string, query string, header http.Header, body []byte) ([]byte, error) {
	b.pairs, b.chain, b.bad = b.pairs[:0], b.chain[:0], b.bad[:0]
	if e.wholeBody && body == nil && e.isObject {
		body = emptyObject
	}
	if e.plainBody && query == "" {
		return body, nil
	}
	var err error
	if body != nil && !e.wholeBody && e.bodyField == nil {
		body, err = nil, fmt.Errorf("%s %s takes no body", e.verb, e.pattern)
	}
	b.collect(e, values, query, header)
	var message []byte
	if err == nil {
		message, err = b.join(e, body)
	}
	if len(b.bad) > 0 {
		if err != nil {
			b.add("", err.Error())
		}
		err = e.badRequest(b.bad)
	}
	return message, err
}

// join puts the values and the body together.
func (b *builder) join(e *endpoint, body []byte) ([]byte, error) {
	var err error
	switch {
	case !e.wholeBody:
		err = b.compose(e, body)
	case len(b.pairs) == 0:
		return body, nil
	case b.flat():
		err = b.extend(body)
	default:
		if err = wellFormed(body); err == nil {
			b.buf = b.buf[:0]
			err = b.merge(body, e.input, b.pairs, 0)
		}
	}
	if err != nil {
		return nil, err
	}
	return b.buf, nil
}

// collect gathers all values outside the body, by field, and checks what can be
// told from their names and number. What is refused is left out.
func (b *builder) collect(e *endpoint, values []string, query string, header http.Header) {
	for i, v := range e.variables {
		b.pairs = append(b.pairs, pair{chain: v.chain, name: v.name, value: values[i]})
	}
	b.takeHeaders(e, header)
	b.takeCookies(e, header)
	b.parseQuery(e, query)
	b.sort()
	good := b.pairs[:0]
	for rest := b.pairs; len(rest) > 0; {
		n := run(rest, len(rest[0].chain))
		if b.checkGroup(rest[:n]) {
			good = append(good, rest[:n]...)
		}
		rest = rest[n:]
	}
	clear(b.pairs[len(good):])
	b.pairs = good
}

// run is how many pairs at the start fill the same field, as far as the first
// depth fields of their chains tell.
func run(pairs []pair, depth int) int {
	n := 1
	for n < len(pairs) && len(pairs[n].chain) >= depth && sameChain(pairs[n].chain[:depth], pairs[0].chain[:depth]) {
		n++
	}
	return n
}

// sameChain looks from the end, where chains differ most.
func sameChain(a, b []*field) bool {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// flat reports whether every value is one of the request's own fields.
func (b *builder) flat() bool {
	for i := range b.pairs {
		if len(b.pairs[i].chain) > 1 {
			return false
		}
	}
	return true
}

var emptyObject, opening, closing = []byte("{}"), []byte("{"), []byte("}")

// space is what JSON calls white space.
const space = " \t\r\n"

// extend adds the values to the object that is the body. They go to its end so
// that offsets in errors are those of the body. Should the body have the same
// field, the codec refuses it as given twice. Should it be malformed, it stays
// so: what is added begins after a comma with a quoted identifier.
func (b *builder) extend(body []byte) error {
	inner, closed := bytes.CutSuffix(bytes.TrimRight(body, space), closing)
	rest, opened := bytes.CutPrefix(bytes.TrimLeft(inner, space), opening)
	if !opened || !closed {
		return errNoObject
	}
	b.buf = append(b.buf[:0], '{')
	if len(bytes.TrimLeft(rest, space)) > 0 {
		b.buf = append(append(b.buf[:0], inner...), ',')
	}
	b.object(b.pairs, 0)
	b.buf = append(b.buf, '}')
	return nil
}

var errNoObject = errors.New("the body is not a JSON object")

// compose makes an object of the values, and of the body as one field's value.
func (b *builder) compose(e *endpoint, body []byte) error {
	b.buf = append(b.buf[:0], '{')
	if body == nil {
		b.object(b.pairs, 0)
		b.buf = append(b.buf, '}')
		return nil
	}
	if err := wellFormed(body); err != nil {
		return fmt.Errorf("field %s, the body: %w", e.bodyField.name, err)
	}
	b.beside(body, e.bodyField, b.pairs, 0)
	b.object(b.pairs, 0)
	b.buf = append(b.buf, '}')
	return nil
}

// wellFormed must hold of a body that is taken apart or put into an object, for
// text that is more than one value would add members of its own.
func wellFormed(body []byte) error {
	if json.Valid(body) {
		return nil
	}
	var one json.RawMessage
	return json.Unmarshal(body, &one) // says where
}

// beside appends the member f with the body's value for it, into which go
// those of the pairs that are inside of f. They are marked. An absent value is
// left out, if there are such.
func (b *builder) beside(value []byte, f *field, pairs []pair, depth int) {
	start := 0
	for start < len(pairs) && (pairs[start].chain[depth] != f || pairs[start].merged) {
		start++
	}
	if start == len(pairs) || f.message == nil {
		b.name(f.name)
		b.buf = append(b.buf, value...)
		return
	}
	inside := pairs[start : start+run(pairs[start:], depth+1)]
	switch value = bytes.Trim(value, space); {
	case value[0] == '{':
		b.name(f.name)
		_ = b.merge(value, f.message, inside, depth+1) // it is an object
	case string(value) == "null":
		return // the pairs make the object
	default:
		b.name(f.name)
		b.buf = append(b.buf, value...) // for the codec to refuse
	}
	for i := range inside {
		inside[i].merged = true
	}
}

// merge appends an object of the members of body, which is valid JSON, and of
// the pairs below depth. A field that both have is twice in it, for the codec
// to refuse.
func (b *builder) merge(body []byte, at *fields, pairs []pair, depth int) error {
	b.buf = append(b.buf, '{')
	err := members(body, func(name, value []byte) bool {
		if f := at.named(name); f != nil {
			b.beside(value, f, pairs, depth)
			return true
		}
		b.name(string(name)) // unknown, but its escapes are as they were
		b.buf = append(b.buf, value...)
		return true
	})
	if err != nil {
		return errNoObject
	}
	b.object(pairs, depth)
	b.buf = append(b.buf, '}')
	return nil
}

// named finds the field of a member whose name is still in its quotes' escapes.
func (f *fields) named(name []byte) *field {
	if bytes.IndexByte(name, '\\') < 0 {
		return f.byName[string(name)]
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, name...), '"'), &s) != nil {
		return nil
	}
	return f.byName[s]
}

// object appends the pairs as members, without braces.
func (b *builder) object(pairs []pair, depth int) {
	for len(pairs) > 0 {
		if pairs[0].merged {
			pairs = pairs[1:]
			continue
		}
		n := run(pairs, depth+1)
		group := pairs[:n]
		pairs = pairs[n:]
		f := group[0].chain[depth]
		b.name(f.name)
		if f == group[0].leaf() && len(group[0].chain) == depth+1 {
			b.value(f, group)
			continue
		}
		b.buf = append(b.buf, '{')
		b.object(group, depth+1)
		b.buf = append(b.buf, '}')
	}
}

// value appends what the pairs of one field say.
func (b *builder) value(f *field, group []pair) {
	switch {
	case f.isMap:
		b.buf = append(b.buf, '{')
		for i := range group {
			if i > 0 {
				b.buf = append(b.buf, ',')
			}
			b.buf = append(appendQuoted(b.buf, group[i].key), ':')
			b.buf = f.form.appendJSON(b.buf, group[i].value)
		}
		b.buf = append(b.buf, '}')
	case f.list:
		b.buf = append(b.buf, '[')
		for i := range group {
			if i > 0 {
				b.buf = append(b.buf, ',')
			}
			b.buf = f.form.appendJSON(b.buf, group[i].value)
		}
		b.buf = append(b.buf, ']')
	default:
		b.buf = f.form.appendJSON(b.buf, group[0].value)
	}
}

// name appends a member's name, after a comma if it is not the first.
func (b *builder) name(name string) {
	if last := b.buf[len(b.buf)-1]; last != '{' && last != ',' {
		b.buf = append(b.buf, ',')
	}
	b.buf = append(b.buf, '"')
	b.buf = append(b.buf, name...)
	b.buf = append(b.buf, '"', ':')
}

// takeHeaders adds the fields that stand in headers.
func (b *builder) takeHeaders(e *endpoint, header http.Header) {
	for _, h := range e.headers {
		lines := header[h.name]
		if len(lines) == 0 {
			continue
		}
		p := pair{chain: h.chain, in: inHeader, name: h.name, value: lines[0]}
		if len(lines) > 1 {
			b.refuse(&p, givenTwice)
			continue
		}
		b.pairs = append(b.pairs, p)
	}
}

// takeCookies adds the fields that stand in cookies. Their values may be in
// quotes (RFC 6265, section 4.1.1) and have percent-escapes: a cookie has no
// other way to hold a semicolon or a space.
func (b *builder) takeCookies(e *endpoint, header http.Header) {
	if len(e.cookies) == 0 {
		return
	}
	for _, line := range header["Cookie"] {
		for text := range strings.SplitSeq(line, ";") {
			name, value, _ := strings.Cut(strings.Trim(text, " \t"), "=")
			for _, c := range e.cookies {
				if c.name != name {
					continue
				}
				p := pair{chain: c.chain, in: inCookie, name: name, value: value}
				if n := len(value); n > 1 && value[0] == '"' && value[n-1] == '"' {
					p.value = value[1 : n-1]
				}
				if strings.IndexByte(p.value, '%') < 0 || b.unescape(&p) {
					b.pairs = append(b.pairs, p)
				}
			}
		}
	}
}
