package everywire

import (
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire/schema"
)

// A Method is the one description of something callable. Every wire, and every
// document made from a registry, reads it; nothing is described twice.
type Method struct {
	// Service and Name are its two parts: "arith.Arith" and "Sum".
	Service, Name string
	// Kind tells unary methods from streams.
	Kind StreamKind
	// Idempotency says whether a call may be sent again.
	Idempotency Idempotency
	// Doc says what the method does, to people: documents show it. Of a
	// generated method the comment is shown, if its descriptor still has it.
	Doc string
	// Input and Output describe the messages. They are nil for a hand-written
	// grpc.ServiceDesc whose service is not in the protobuf registry: its
	// types are known only when it is called.
	Input, Output *schema.Message
	// Routes are the HTTP routes that reach the method, beside the default
	// ones: POST /SERVICE/NAME, and GET as well if it has no side effects.
	Routes []Route
	// JSONRPC is the method's short form in JSON-RPC, or nil.
	JSONRPC *JSONRPCForm
	// Desc is the method's own descriptor if it was generated, else nil.
	Desc protoreflect.MethodDescriptor

	handler methodHandler
	path    string // what Path returns, made once when the method is registered
}

// FullName returns "arith.Arith/Sum".
func (m *Method) FullName() string { return m.Service + "/" + m.Name }

// Path returns "/arith.Arith/Sum", gRPC's form of the name.
func (m *Method) Path() string {
	if m.path != "" {
		return m.path
	}
	return "/" + m.Service + "/" + m.Name
}

// StreamKind says which sides of a method stream.
type StreamKind uint8

// The stream kinds.
const (
	Unary StreamKind = iota
	ClientStream
	ServerStream
	BidiStream
)

func (k StreamKind) String() string {
	return [...]string{"unary", "client streaming", "server streaming", "bidirectional streaming"}[k]
}

// Idempotency says what happens if a call runs twice. Its values are those of
// protobuf's idempotency_level.
type Idempotency uint8

// The levels of idempotency.
const (
	// IdempotencyUnknown: a second call may do the work again.
	IdempotencyUnknown Idempotency = iota
	// NoSideEffects: the method only reads; it may be retried and cached.
	NoSideEffects
	// Idempotent: calling twice is the same as calling once; it may be retried.
	Idempotent
)

// A Route is one way to reach a method over HTTP, as google.api.http says it.
type Route struct {
	// Verb is the HTTP method, such as GET; "*" stands for every method that no
	// other route of the same path has.
	Verb string
	// Pattern is the path with {field} variables, such as /kv/{key}, in the
	// grammar of google.api.http.
	Pattern string
	// Body says where the request's body goes: "" nowhere, "*" to all fields
	// that the path does not set, or the name of one field.
	Body string
	// ResponseBody names the reply's field that is the response's body; ""
	// means the whole reply.
	ResponseBody string
	// Created is set if a success is 201 Created. It is the path of what was
	// created, with variables of the reply's fields, such as /employees/{id},
	// and becomes the Location header.
	Created string
	// EmptyOK is set if the success of a method whose reply has no fields is 200
	// OK with an empty body, and not 204 No Content: see [EmptyOK].
	EmptyOK bool
}

// A RouteOption says more about a [Route].
type RouteOption func(*Route)

// ResponseBody makes one field of the reply the response's body.
func ResponseBody(field string) RouteOption {
	return func(r *Route) { r.ResponseBody = field }
}

// Created makes a success 201 Created, with a Location made from the reply's
// fields: Created("/employees/{id}").
func Created(location string) RouteOption {
	return func(r *Route) { r.Created = location }
}

// EmptyOK makes a success 200 OK with an empty body, where the reply has no fields,
// for clients that take no other status for one.
func EmptyOK() RouteOption {
	return func(r *Route) { r.EmptyOK = true }
}

// A JSONRPCForm is how a method looks to JSON-RPC peers that do not know
// everywire's names: a short name, positional parameters, a bare result. It is
// declared, never guessed; the full name with named parameters always works.
type JSONRPCForm struct {
	// Name is the method's name on the wire, such as "sum".
	Name string
	// Params says what a params array means.
	Params ParamsForm
	// Field is the field that ParamsList and ParamsScalar fill.
	Field string
	// Result names the field of the reply whose bare value is the result; ""
	// means the whole reply.
	Result string
	// Path is a path at which servers of JSON-RPC over HTTP answer beside their
	// own, such as /api/v1/session, for clients that look for the method there. Every
	// method answers at every path.
	Path string
}

// ParamsForm says what the elements of a JSON-RPC params array are.
type ParamsForm uint8

// The forms of a params array.
const (
	// ParamsNamed: params is an object; an array is refused.
	ParamsNamed ParamsForm = iota
	// ParamsInOrder: the fields of the message in the order of their numbers.
	ParamsInOrder
	// ParamsList: the whole array is the one repeated field.
	ParamsList
	// ParamsObject: an array of one, the message as an object.
	ParamsObject
	// ParamsScalar: an array of one, the value of the single field.
	ParamsScalar
)

// A MethodOption says more about a method that [Handle] registers.
type MethodOption func(*Method)

// WithIdempotency declares what happens if a call runs twice.
func WithIdempotency(level Idempotency) MethodOption {
	return func(m *Method) { m.Idempotency = level }
}

// WithDoc says what the method does, for the documents made from it.
func WithDoc(text string) MethodOption {
	return func(m *Method) { m.Doc = text }
}

// WithRoute adds an HTTP route, such as WithRoute("GET", "/kv/{key}", "").
// The verb, the pattern and the body are as in [Route].
func WithRoute(verb, pattern, body string, opts ...RouteOption) MethodOption {
	r := Route{Verb: verb, Pattern: pattern, Body: body}
	for _, o := range opts {
		o(&r)
	}
	return func(m *Method) { m.Routes = append(m.Routes, r) }
}

// WithJSONRPC declares the method's short JSON-RPC form.
func WithJSONRPC(form JSONRPCForm) MethodOption {
	return func(m *Method) { m.JSONRPC = &form }
}

// SplitMethod splits "arith.Arith/Sum" or "/arith.Arith/Sum" into its parts.
func SplitMethod(name string) (service, method string, err error) {
	s := strings.TrimPrefix(name, "/")
	service, method, ok := strings.Cut(s, "/")
	if !ok || service == "" || method == "" || strings.Contains(method, "/") {
		return "", "", fmt.Errorf("method name %q is not of the form package.Service/Method, such as arith.Arith/Sum", name)
	}
	return service, method, nil
}

// describe fills in what a generated method's descriptor says.
func (m *Method) describe(desc protoreflect.MethodDescriptor) {
	m.Desc = desc
	opts, ok := desc.Options().(*descriptorpb.MethodOptions)
	if !ok || opts == nil {
		return
	}
	m.Idempotency = idempotencyOf(opts)
	rule := httpRule(opts)
	if rule == nil {
		return
	}
	for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		m.Routes = append(m.Routes, routeOf(r))
	}
}

// httpRule returns the option google.api.http, or nil. In a descriptor that was
// made at run time its type may be, too.
func httpRule(opts *descriptorpb.MethodOptions) *annotations.HttpRule {
	if !proto.HasExtension(opts, annotations.E_Http) {
		return nil
	}
	value := opts.ProtoReflect().Get(annotations.E_Http.TypeDescriptor()).Message().Interface()
	if rule, ok := value.(*annotations.HttpRule); ok {
		return rule
	}
	rule := new(annotations.HttpRule)
	text, err := proto.Marshal(value)
	if err != nil || proto.Unmarshal(text, rule) != nil {
		return nil // it is another message
	}
	return rule
}

func routeOf(r *annotations.HttpRule) Route {
	route := Route{Body: r.GetBody(), ResponseBody: r.GetResponseBody()}
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		route.Verb, route.Pattern = "GET", p.Get
	case *annotations.HttpRule_Put:
		route.Verb, route.Pattern = "PUT", p.Put
	case *annotations.HttpRule_Post:
		route.Verb, route.Pattern = "POST", p.Post
	case *annotations.HttpRule_Delete:
		route.Verb, route.Pattern = "DELETE", p.Delete
	case *annotations.HttpRule_Patch:
		route.Verb, route.Pattern = "PATCH", p.Patch
	case *annotations.HttpRule_Custom:
		route.Verb, route.Pattern = p.Custom.GetKind(), p.Custom.GetPath()
	}
	return route
}
