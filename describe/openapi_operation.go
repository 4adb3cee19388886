package describe

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/everywire/everywire"
)

// The parts of an operation.
type (
	operation struct {
		Tags        []string           `json:"tags"`
		Summary     string             `json:"summary,omitempty"`
		Description string             `json:"description,omitempty"`
		OperationID string             `json:"operationId"`
		Parameters  []*parameter       `json:"parameters,omitempty"`
		RequestBody *requestBody       `json:"requestBody,omitempty"`
		Responses   ordered[*response] `json:"responses"`
		Deprecated  bool               `json:"deprecated,omitempty"`
		Everywire   extension          `json:"x-everywire"`
	}
	// An extension says what HTTP and OpenAPI have no words for.
	extension struct {
		Method      string     `json:"method"`
		Kind        string     `json:"kind"`
		Idempotency string     `json:"idempotency,omitempty"`
		WebSocket   *webSocket `json:"websocket,omitempty"`
	}
	// A webSocket says what the messages of a stream over WebSocket are.
	webSocket struct {
		Send    *jsonSchema `json:"send"`
		Receive *jsonSchema `json:"receive"`
	}
	parameter struct {
		Ref         string      `json:"$ref,omitempty"`
		Name        string      `json:"name,omitempty"`
		In          string      `json:"in,omitempty"`
		Description string      `json:"description,omitempty"`
		Required    bool        `json:"required,omitempty"`
		Style       string      `json:"style,omitempty"`
		Explode     bool        `json:"explode,omitempty"`
		Schema      *jsonSchema `json:"schema,omitempty"`
		// Many says that the value may have slashes, which are not escaped.
		Many bool `json:"x-everywire-segments,omitempty"`
	}
	requestBody struct {
		Required bool               `json:"required,omitempty"`
		Content  ordered[mediaType] `json:"content"`
	}
	mediaType struct {
		Schema *jsonSchema `json:"schema"`
		// Item is one message of a stream, as OpenAPI 3.2 has itemSchema.
		Item *jsonSchema `json:"x-itemSchema,omitempty"`
	}
	response struct {
		Ref         string             `json:"$ref,omitempty"`
		Description string             `json:"description,omitempty"`
		Headers     ordered[header]    `json:"headers,omitempty"`
		Content     ordered[mediaType] `json:"content,omitempty"`
	}
	header struct {
		Description string      `json:"description,omitempty"`
		Schema      *jsonSchema `json:"schema"`
	}
)

// The media types of messages and of streams. What a message looks like in
// MessagePack and CBOR follows from its JSON by docs/spec/types.md.
var (
	messageTypes = []string{"application/json", "application/msgpack", "application/cbor"}
	streamTypes  = []string{"application/x-ndjson", "text/event-stream"}
)

func contentOf(types []string, one mediaType) ordered[mediaType] {
	var all ordered[mediaType]
	for _, t := range types {
		all = append(all, entry[mediaType]{t, one})
	}
	return all
}

// method adds the operations of one method.
func (d *document) method(m *everywire.Method) {
	suffix := ""
	own := map[string]bool{} // verbs of which the method itself says what its default path does
	for i, r := range m.Routes {
		if d.route(m, r, suffix) {
			own[r.Verb] = own[r.Verb] || r.Pattern == m.Path()
			suffix = "_" + strconv.Itoa(i+2)
		}
	}
	if !own["POST"] {
		post := suffix
		switch {
		case suffix != "" && streamsIn(m):
			post = "_stream"
		case suffix != "":
			post = "_post"
		}
		d.add(m, everywire.Route{Verb: "POST", Pattern: m.Path(), Body: "*"}, defaultTemplate(m), post)
	}
	if !own["GET"] && answersGET(m) {
		d.add(m, everywire.Route{Verb: "GET", Pattern: m.Path()}, defaultTemplate(m), "_get")
	}
}

// answersGET reports whether a method's default route has the verb GET as well:
// it only reads, and its fields can stand in a query.
func answersGET(m *everywire.Method) bool {
	return m.Idempotency == everywire.NoSideEffects && !streamsIn(m) && (m.Input == nil || m.Input.IsObject())
}

// streamsIn reports whether a method's client streams, which takes a WebSocket.
func streamsIn(m *everywire.Method) bool {
	return m.Kind == everywire.ClientStream || m.Kind == everywire.BidiStream
}

// route adds a declared route, and reports whether it could.
func (d *document) route(m *everywire.Method, r everywire.Route, suffix string) bool {
	t, err := parseTemplate(r.Pattern)
	if err != nil {
		d.errs = append(d.errs, fmt.Errorf("route %s %s of %s: %w", r.Verb, r.Pattern, m.FullName(), err))
		return false
	}
	return d.add(m, r, t, suffix)
}

func (d *document) add(m *everywire.Method, r everywire.Route, t template, suffix string) bool {
	bad := func(err error) bool {
		d.errs = append(d.errs, fmt.Errorf("route %s %s of %s: %w", r.Verb, r.Pattern, m.FullName(), err))
		return false
	}
	b := &builder{d: d, m: m, route: r, op: &operation{
		Tags: []string{m.Service}, Summary: m.Name, Description: docOf(m), Deprecated: isDeprecated(m),
		Everywire: extension{Method: m.FullName(), Kind: m.Kind.String(), Idempotency: idempotency(m)},
	}}
	asked := len(d.asked)
	if err := b.build(t, d.named(t)); err != nil {
		d.asked = d.asked[:asked]
		return bad(err)
	}
	b.op.OperationID = d.id(m, suffix)
	if streamsIn(m) { // a WebSocket begins as a GET, whatever verb the route has
		r.Verb = "GET"
	}
	if !d.item(t).put(r.Verb, b.op) {
		delete(d.ids, b.op.OperationID)
		return bad(errors.New("another route has this verb and path"))
	}
	return true
}

func idempotency(m *everywire.Method) string {
	return [...]string{"", "no side effects", "idempotent"}[m.Idempotency]
}
