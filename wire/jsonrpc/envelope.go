package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/everywire/everywire/wire/internal/form"
)

// A request is one request or notification as it was read. Its slices point
// into the text.
type request struct {
	id      []byte // as written; nil for a notification, or if it is none
	method  []byte // unescaped
	params  []byte // nil if absent or null
	meta    []byte // nil if absent
	timeout []byte // nil if absent
	stream  []byte // nil if absent
	// invalid says why this is no request, or is empty.
	invalid string
	// What the method's name stands for, once that has been looked up: an entry
	// or a status.
	entry   *form.Entry
	unknown error
	// v1 is set for a request of JSON-RPC 1.0, which gets its reply in that form.
	v1 bool
	// bare is set if the reply has no envelope, misfit if params were not what the
	// method takes.
	bare, misfit bool
	// response is set for what looks like a response.
	response bool
}

// notification reports whether nobody waits for a reply. A text that is no
// request is answered always: section 5 asks for an error with a null id.
func (r *request) notification() bool { return r.id == nil && r.invalid == "" }

// opensStream reports whether the request asks for a stream.
func (r *request) opensStream() bool { return string(r.stream) == "true" }

// A text is all that came in one HTTP body or one frame.
type text struct {
	requests []request
	batch    bool
}

// A grammar is what a server takes.
type grammar struct {
	maxBatch int
	// v1 allows requests of JSON-RPC 1.0, which have no member "jsonrpc".
	v1 bool
}

// parse reads a single request or a batch into t, whose memory it reuses. The
// error is a *syntaxError, or a *batchError; what is merely no request is
// marked as such.
func (t *text) parse(data []byte, g grammar) error {
	s := scanner{data: data}
	t.requests = t.requests[:0]
	t.batch = s.peek() == '['
	if !t.batch {
		t.requests = append(t.requests, request{})
		if err := t.requests[0].parse(&s, g.v1); err != nil {
			return err
		}
		return s.end()
	}
	if err := s.enter(); err != nil {
		return err
	}
	n := 0
	for {
		ok, err := s.element(n == 0)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if n++; n > g.maxBatch {
			if _, err := s.value(); err != nil {
				return err
			}
			continue
		}
		t.requests = append(t.requests, request{})
		// Version 1.0 has no batches.
		if err := t.requests[n-1].parse(&s, false); err != nil {
			return err
		}
	}
	if err := s.end(); err != nil {
		return err
	}
	if n > g.maxBatch {
		return &batchError{n, g.maxBatch}
	}
	return nil
}

// A batchError refuses a batch as a whole.
type batchError struct{ n, limit int }

func (e *batchError) Error() string {
	return fmt.Sprintf("batch of %d items is larger than the limit of %d", e.n, e.limit)
}

// parse reads one element, in one pass. The error is one of syntax.
func (r *request) parse(s *scanner, v1 bool) error {
	if s.peek() != '{' {
		_, err := s.value()
		r.v1 = v1
		r.reject("a request must be an object")
		return err
	}
	version := s.version()
	if version == nil {
		if err := s.enter(); err != nil {
			return err
		}
	}
	hasMethod := false
	for first := version == nil; ; first = false {
		quoted, ok, err := s.member(first)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		v, err := s.value()
		if err != nil {
			return err
		}
		name, err := unquote(quoted)
		if err != nil {
			continue // a name that is no text is none of ours
		}
		var seen bool
		switch string(name) {
		case "jsonrpc":
			seen, version = version != nil, v
		case "id":
			seen = r.id != nil
			r.readID(v)
		case "method":
			seen, hasMethod = hasMethod, true
			r.readMethod(v)
		case "params":
			seen, r.params = r.params != nil, v
		case "meta":
			seen, r.meta = r.meta != nil, v
		case "timeout_ms":
			seen, r.timeout = r.timeout != nil, v
		case "stream":
			seen, r.stream = r.stream != nil, v
		case "result", "error":
			r.response = true
			r.rejectResponse(name)
		}
		if seen {
			r.rejectTwice(name)
		}
	}
	r.v1 = v1 && version == nil
	r.check(version, hasMethod)
	return nil
}

// check looks at the members together.
func (r *request) check(version []byte, hasMethod bool) {
	switch {
	case r.v1:
		if string(r.id) == "null" { // so 1.0 marks a notification
			r.id = nil
		}
	case version == nil:
		r.reject(`member "jsonrpc" is missing; this server speaks JSON-RPC 2.0`)
	case string(version) != `"2.0"`:
		r.reject(fmt.Sprintf(`member "jsonrpc" is %s; this server speaks JSON-RPC "2.0"`, excerpt(version)))
	}
	if !hasMethod {
		r.reject(`member "method" is missing`)
	}
	r.response = r.response && !hasMethod
	if v := string(r.stream); r.stream != nil && v != "true" && v != "false" {
		r.reject(`member "stream" must be true or false, not ` + excerpt(r.stream))
	}
	switch {
	case r.params == nil:
	case r.params[0] == 'n': // null
		r.params = nil
	case r.params[0] != '{' && r.params[0] != '[':
		r.reject(`member "params" must be an object or an array, not ` + excerpt(r.params))
	}
}

// reject keeps the first reason.
func (r *request) reject(why string) {
	if r.invalid == "" {
		r.invalid = why
	}
}

func (r *request) rejectTwice(name []byte) { r.reject(fmt.Sprintf("member %q appears twice", name)) }

func (r *request) rejectResponse(name []byte) {
	r.reject(fmt.Sprintf("member %q belongs to a response, not to a request", name))
}

var null = []byte("null")

func (r *request) readID(v []byte) {
	switch c := v[0]; {
	case c == '"' || c == '-' || isDigit(c) || c == 'n':
		r.id = v
	default:
		r.reject(`member "id" must be a string, a number or null, not ` + excerpt(v))
	}
}

func (r *request) readMethod(v []byte) {
	if v[0] != '"' {
		r.reject(`member "method" must be a string, not ` + excerpt(v))
		return
	}
	name, err := unquote(v)
	if err != nil {
		r.reject(`member "method" is not Unicode text`)
	}
	r.method = name
}

// excerpt shortens a value for a message.
func excerpt(v []byte) string {
	const most = 40
	if len(v) <= most {
		return string(v)
	}
	return string(bytes.ToValidUTF8(v[:most], nil)) + "…"
}

// A response is one response as it was read. Its slices point into the text.
type response struct {
	id     []byte // nil if absent
	result []byte // nil if absent
	err    []byte // nil if absent or null
	meta   []byte // nil if absent
}

var errNotResponse = errors.New(`member "method" belongs to a request, not to a response`)

// parse reads a single response. The error says why it is none.
func (r *response) parse(data []byte) error {
	*r = response{}
	s := scanner{data: data}
	if s.peek() != '{' {
		return s.unexpected("a response object")
	}
	first := s.version() == nil
	if first {
		if err := s.enter(); err != nil {
			return err
		}
	}
	for ; ; first = false {
		quoted, ok, err := s.member(first)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		v, err := s.value()
		if err != nil {
			return err
		}
		name, err := unquote(quoted)
		if err != nil {
			continue
		}
		var at *[]byte
		switch string(name) {
		case "id":
			at = &r.id
		case "result":
			at = &r.result
		case "error":
			at = &r.err
		case "meta":
			at = &r.meta
		case "method":
			return errNotResponse
		default:
			continue
		}
		if *at != nil {
			return fmt.Errorf("member %q appears twice", name)
		}
		*at = v
	}
	if err := s.end(); err != nil {
		return err
	}
	return r.check()
}

// check looks at result and error together.
func (r *response) check() error {
	if string(r.err) == "null" { // as JSON-RPC 1.0 servers write beside a result
		r.err = nil
	}
	switch {
	case r.err != nil && r.result != nil && string(r.result) != "null":
		return fmt.Errorf("response has both a result and an error")
	case r.err == nil && r.result == nil:
		return fmt.Errorf("response has neither a result nor an error")
	}
	return nil
}
