package describe_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/apipb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/typepb"

	"github.com/everywire/everywire"
	codec "github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/echo"
	"github.com/everywire/everywire/service/kv"
)

type (
	employee struct {
		_       struct{}          `wire:"name=staff.Employee"`
		ID      int64             `wire:"1" json:",string" doc:"Given by the server."`
		Name    string            `wire:"2"`
		Since   time.Time         `wire:"3"`
		Boss    *employee         `wire:"4"`
		Version uint32            `wire:"5" http:"etag"`
		Labels  map[string]string `wire:"6"`
	}
	changeRequest struct {
		ID    int64             `wire:"1"`
		Match string            `wire:"2" http:"header=If-Match"`
		Set   map[string]string `wire:"3"`
	}
	filter struct {
		Name  string   `wire:"1"`
		Teams []string `wire:"2"`
		Inner *filter  `wire:"3"`
	}
	listRequest struct {
		Tenant   string   `wire:"1" http:"header=X-Tenant"`
		Session  string   `wire:"2" http:"cookie=session"`
		PerPage  int32    `wire:"3" http:"query=per-page" doc:"At most 100."`
		Language []string `wire:"4"`
		Where    *filter  `wire:"5"`
		Extra    any      `wire:"6"`
	}
	listReply struct {
		Employees []*employee `wire:"1"`
		Total     *int64      `wire:"2"`
	}
	bookRequest struct {
		Name string    `wire:"1"`
		Book *employee `wire:"2"`
		Key  []byte    `wire:"3"`
	}
)

// probe has a method for every part of a document.
func probe() *everywire.Registry {
	reg := everywire.NewRegistry()
	route := everywire.WithRoute
	read := everywire.WithIdempotency(everywire.NoSideEffects)
	handle[listRequest, listReply](reg, "staff.Staff/List", read, route("GET", "/employees", ""), everywire.WithDoc("Lists <b>employees</b>."))
	handle[employee, employee](reg, "staff.Staff/Hire", route("POST", "/employees", "*", everywire.Created("/employees/{id}")))
	handle[employee, employee](reg, "staff.Staff/Rename", route("PATCH", "/employees/{id}", "*"), route("PUT", "/employees/{id}/name", "name", everywire.ResponseBody("boss")))
	handle[bookRequest, listReply](reg, "staff.Staff/Book", route("GET", "/v1/{name=shelves/*/books/*}", "", everywire.ResponseBody("total")), route("GET", "/v1/files/{name=**}:read", ""),
		route("POST", "/v1/{book.id}/*/{key}", "book"), route("PURGE", "/v1/{key}", ""))
	handle[apipb.Api, typepb.Type](reg, "staff.Staff/Api", read, route("GET", "/api/{source_context.file_name}", ""))
	handle[everything, everything](reg, "staff.Staff/Everything", everywire.WithIdempotency(everywire.Idempotent))
	handle[changeRequest, employee](reg, "staff.Staff/Change", route("POST", "/employees/{id}:change", ""))
	handle[changeRequest, emptypb.Empty](reg, "staff.Staff/Fire", everywire.WithIdempotency(everywire.Idempotent), route("DELETE", "/employees/{id}", ""))
	everywire.HandleServerStream(reg, "staff.Staff/Watch", func(*filter, grpc.ServerStreamingServer[employee]) error { return nil }, read, route("GET", "/watch", ""))
	everywire.HandleClientStream(reg, "staff.Staff/Load", func(grpc.ClientStreamingServer[employee, listReply]) error { return nil }, route("POST", "/load/{name}", "*"))
	everywire.HandleBidi(reg, "staff.Staff/Chat", func(grpc.BidiStreamingServer[filter, pair]) error { return nil })
	handle[everywire.Document, structpb.Value](reg, "other.Staff/Any")
	handle[emptypb.Empty, emptypb.Empty](reg, "other.Staff/Nothing")
	return reg
}

func openAPI(t *testing.T, reg *everywire.Registry, o describe.Options) []byte {
	t.Helper()
	text, err := describe.OpenAPI(reg.Methods(), o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOpenAPIIsValid: another's implementation of both versions has no
// objection.
func TestOpenAPIIsValid(t *testing.T) {
	builtin := everywire.NewRegistry()
	arith.Register(builtin)
	echo.Register(builtin)
	kv.New(kv.Options{}).Register(builtin)
	for name, reg := range map[string]*everywire.Registry{"builtin": builtin, "probe": probe(), "empty": everywire.NewRegistry()} {
		for _, version := range describe.OpenAPIVersions() {
			text := openAPI(t, reg, describe.Options{OpenAPI: version, Title: name})
			doc, err := openapi3.NewLoader().LoadFromData(text)
			if err != nil {
				t.Fatalf("%s %s: %v\n%s", name, version, err, text)
			}
			if err := doc.Validate(t.Context()); err != nil {
				t.Errorf("%s %s: %v\n%s", name, version, err, text)
			}
			if again := openAPI(t, reg, describe.Options{OpenAPI: version, Title: name}); !bytes.Equal(text, again) {
				t.Errorf("%s %s: two documents of the same methods differ", name, version)
			}
		}
	}
}

// TestOpenAPIGolden holds both documents of the probe to what was looked at.
func TestOpenAPIGolden(t *testing.T) {
	for version, golden := range map[string]string{"3.1": "testdata/openapi.json", "3.0": "testdata/openapi-3.0.json"} {
		text := openAPI(t, probe(), describe.Options{Title: "Probe", Version: "1", OpenAPI: version, Server: "/api"})
		var got bytes.Buffer
		if err := json.Indent(&got, text, "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("the document is not that of %s (UPDATE=1 writes it):\n%s", golden, text)
		}
	}
}

// TestOpenAPIFaults: what is wrong is named, and the document is good without
// it.
func TestOpenAPIFaults(t *testing.T) {
	route := everywire.WithRoute
	for want, option := range map[string]everywire.MethodOption{
		`route GET nope of t.T/M: path template "nope" does not begin with /`:      route("GET", "nope", ""),
		`a variable is not closed by }`:                                            route("GET", "/{a", ""),
		`variable {nope}: the request has no such field`:                           route("GET", "/{nope}", ""),
		`variable {book.nope}: the request has no such field`:                      route("GET", "/{book.nope}", ""),
		`variable {book}: a message, map or list cannot be in a path`:              route("GET", "/{book}", ""),
		`body "nope": the request has no such field, or it is elsewhere`:           route("POST", "/x", "nope"),
		`body "name": the request has no such field, or it is elsewhere`:           route("POST", "/{name}", "name"),
		`response_body "nope": the reply has no such field`:                        route("POST", "/x", "*", everywire.ResponseBody("nope")),
		`route GET /a of t.T/M: another route has this verb and path`:              func(m *everywire.Method) { route("GET", "/a", "")(m); route("GET", "/a", "")(m) },
		`route GET /{key} of t.T/M: another route has this verb and path`:          func(m *everywire.Method) { route("GET", "/{name}", "")(m); route("GET", "/{key}", "")(m) },
		`location of what was created: path template "nope" does not begin with /`: route("POST", "/x", "*", everywire.Created("nope")),
	} {
		reg := everywire.NewRegistry()
		handle[bookRequest, pair](reg, "t.T/M", option)
		text, err := describe.OpenAPI(reg.Methods(), describe.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		doc, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil || doc.Validate(t.Context()) != nil || doc.Paths.Find("/t.T/M") == nil {
			t.Errorf("%s: the document is not good: %v\n%s", want, err, text)
		}
	}
	if _, err := describe.OpenAPI(nil, describe.Options{OpenAPI: "2.0"}); err == nil || !strings.Contains(err.Error(), "there are 3.1 and 3.0") {
		t.Error(err)
	}
}

// TestRequiredIsWritten: members that a reply must have are there when all is
// zero, and in requests nothing is required.
func TestRequiredIsWritten(t *testing.T) {
	reg := everywire.NewRegistry()
	handle[pair, everything](reg, "t.T/Plain")
	handle[pair, apipb.Api](reg, "t.T/Generated")
	handle[employee, sumReply](reg, "t.T/Sum")
	doc := parse(t, openAPI(t, reg, describe.Options{}))
	for name, msg := range map[string]any{"describe_test.everything": &everything{}, "google.protobuf.Api": &apipb.Api{}, "describe_test.sumReply": &sumReply{}} {
		text, err := codec.Codec{}.Append(nil, msg)
		if err != nil {
			t.Fatal(err)
		}
		s := resolve(doc, "#/components/schemas/"+name)
		if required, _ := s["required"].([]any); len(required) == 0 {
			t.Errorf("%s: nothing is required", name)
		}
		if err := fits(doc, s, any(parse(t, text))); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	for _, name := range []string{"describe_test.pair", "staff.Employee"} {
		if s := resolve(doc, "#/components/schemas/"+name); s["required"] != nil {
			t.Errorf("%s, of a request, requires %v", name, s["required"])
		}
	}
	if s := resolve(doc, "#/components/schemas/describe_test.everything"); slices.Contains(s["required"].([]any), any("note")) {
		t.Error("a member with presence is required")
	}
}
