package against_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/describe/against"
	"github.com/everywire/everywire/service/kv"
)

// methods compiles a .proto file.
func methods(t *testing.T, text string) []*everywire.Method {
	t.Helper()
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "a.B/C", func(context.Context, *struct{}) (*struct{}, error) { return nil, nil }, everywire.WithRoute("GET", "/", ""))
	googleapis, err := describe.Proto(reg.Methods(), describe.Options{Routes: true})
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{"test.proto": text}
	for _, f := range googleapis {
		sources[f.Path] = string(f.Text)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.CompositeResolver{
		&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)},
		protocompile.WithStandardImports(protocompile.ResolverFunc(func(string) (protocompile.SearchResult, error) {
			return protocompile.SearchResult{}, io.EOF
		})),
	}}
	files, err := compiler.Compile(t.Context(), "test.proto")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var all []*everywire.Method
	for i := range files[0].Services().Len() {
		all = append(all, everywire.MethodsOf(files[0].Services().Get(i))...)
	}
	return all
}

// request and reply are files with a method that takes, or returns, a message
// with these fields, and what stands beside it.
func request(fields, beside string) string {
	return head + "message Empty {}\nmessage M {\n" + fields + "\n}\n" + beside + "\nservice S { rpc Do(M) returns (Empty); }"
}

func reply(fields, beside string) string {
	return head + "message Empty {}\nmessage M {\n" + fields + "\n}\n" + beside + "\nservice S { rpc Do(Empty) returns (M); }"
}

func service(methods string) string {
	return head + "message M {\n string key = 1; string other = 2; }\nservice S {\n" + methods + "\n}"
}

const head = `syntax = "proto3";
package t;
import "google/api/annotations.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
`

func lines(changes []against.Change) []string {
	all := []string{}
	for _, c := range changes {
		all = append(all, strings.Join([]string{c.Place, c.Change, c.In, strings.Join(c.Breaks, " ")}, " | "))
	}
	return all
}

const (
	numbered = "protobuf thrift flatbuffers capnp"
	named    = "json msgpack cbor avro"
	every    = "protobuf json msgpack cbor thrift avro flatbuffers capnp"
	generic  = "protobuf json msgpack cbor"
)

func TestFields(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		beside         string
		requests       []string
		replies        []string
	}{
		{name: "nothing", old: "int32 a = 1; repeated M b = 2;", new: "int32 a = 1; repeated M b = 2;"},
		{name: "added at the end", old: "int32 a = 1;", new: "int32 a = 1; string b = 2;"},
		{
			name: "added between", old: "int32 a = 1; int32 c = 3;", new: "int32 a = 1; int32 b = 2; int32 c = 3;",
			requests: []string{"t.M.b | added with number 2: fields behind it move | requests | capnp"},
			replies:  []string{"t.M.b | added with number 2: fields behind it move | replies | capnp"},
		},
		{
			name: "removed", old: "int32 a = 1; int32 b = 2;", new: "int32 a = 1;",
			requests: []string{"t.M.b | removed | requests | " + every},
			replies:  []string{"t.M.b | removed | replies | " + every},
		},
		{
			name: "renamed", old: "int32 a_b = 1;", new: "int32 c = 1;",
			requests: []string{"t.M.a_b | name aB → c | requests | " + named},
			replies:  []string{"t.M.a_b | name aB → c | replies | " + named},
		},
		{
			name: "the name is still taken", old: `int32 a_b = 1 [json_name = "a_b"];`, new: "int32 a_b = 1;",
			replies: []string{"t.M.a_b | name a_b → aB | replies | " + named},
		},
		{
			name: "renumbered", old: "int32 a = 1;", new: "int32 a = 3;",
			requests: []string{"t.M.a | number 1 → 3 | requests | " + numbered},
			replies:  []string{"t.M.a | number 1 → 3 | replies | " + numbered},
		},
		{
			name: "number used again", old: "int32 a = 1;", new: "string b = 1;",
			requests: []string{"t.M.a | removed, and its number 1 given to b | requests | " + every},
			replies:  []string{"t.M.a | removed, and its number 1 given to b | replies | " + every},
		},
		{
			name: "numbers exchanged", old: "int32 a = 1; int32 b = 2;", new: "int32 a = 2; int32 b = 1;",
			requests: []string{"t.M.a | number 1 → 2 | requests | " + numbered, "t.M.b | number 2 → 1 | requests | " + numbered},
			replies:  []string{"t.M.a | number 1 → 2 | replies | " + numbered, "t.M.b | number 2 → 1 | replies | " + numbered},
		},
		{
			name: "reserved", old: "int32 a = 4; reserved 2; reserved \"b\";", new: "int32 b = 2; int32 a = 4;",
			requests: []string{
				"t.M.b | has the number 2, which was reserved | requests | " + numbered,
				"t.M.b | has a name that was reserved | requests | " + named,
				"t.M.b | added with number 2: fields behind it move | requests | capnp",
			},
			replies: []string{
				"t.M.b | has the number 2, which was reserved | replies | " + numbered,
				"t.M.b | has a name that was reserved | replies | " + named,
				"t.M.b | added with number 2: fields behind it move | replies | capnp",
			},
		},
		{
			name: "wider", old: "int32 a = 1;", new: "int64 a = 1;",
			requests: []string{"t.M.a | int32 → int64 | requests | thrift flatbuffers capnp"},
			replies:  []string{"t.M.a | int32 → int64 | replies | protobuf json msgpack cbor thrift avro flatbuffers capnp"},
		},
		{
			name: "list", old: "int32 a = 1;", new: "repeated int32 a = 1;",
			requests: []string{"t.M.a | int32 → repeated int32 | requests | json msgpack cbor thrift avro flatbuffers capnp"},
			replies:  []string{"t.M.a | int32 → repeated int32 | replies | " + every},
		},
		{
			name: "presence", old: "int32 a = 1;", new: "optional int32 a = 1;",
			requests: []string{"t.M.a | int32 → optional int32 | requests | protobuf flatbuffers capnp"},
			replies:  []string{"t.M.a | int32 → optional int32 | replies | json msgpack cbor capnp"},
		},
		{
			name: "no presence", old: "optional int32 a = 1;", new: "int32 a = 1;",
			requests: []string{"t.M.a | optional int32 → int32 | requests | capnp"},
			replies:  []string{"t.M.a | optional int32 → int32 | replies | protobuf flatbuffers capnp"},
		},
		{
			name: "text and bytes", old: "string a = 1;", new: "bytes a = 1;",
			requests: []string{"t.M.a | string → bytes | requests | json cbor flatbuffers capnp"},
			replies:  []string{"t.M.a | string → bytes | replies | protobuf json msgpack cbor thrift avro flatbuffers capnp"},
		},
		{
			name: "times", old: "google.protobuf.Timestamp a = 1;", new: "string a = 1;",
			requests: []string{"t.M.a | google.protobuf.Timestamp → string | requests | protobuf msgpack cbor thrift avro flatbuffers capnp"},
			replies:  []string{"t.M.a | google.protobuf.Timestamp → string | replies | " + every},
		},
		{
			name: "quoted", old: "int64 a = 1;", new: "int64 a = 1 [jstype = JS_STRING];",
			replies: []string{"t.M.a | int64 → int64 as string | replies | json"},
		},
		{
			name: "maps", old: "map<string, int32> a = 1;", new: "map<int32, int32> a = 1;",
			requests: []string{"t.M.a | map<string, int32> → map<int32, int32> | requests | " + every},
			replies:  []string{"t.M.a | map<string, int32> → map<int32, int32> | replies | " + every},
		},
		{
			name: "message to another of the same fields", old: "N a = 1;", new: "O a = 1;",
			beside: "message N { int32 x = 1; } message O { int32 x = 1; }",
		},
		{
			name: "message to another", old: "repeated N a = 1;", new: "repeated O a = 1;",
			beside:   "message N { int32 x = 1; } message O { int32 y = 1; }",
			requests: []string{"t.N.x | name x → y | requests | " + named},
			replies:  []string{"t.N.x | name x → y | replies | " + named},
		},
		{
			name: "encodings of plain structs alone do not carry an Any", old: "int32 a = 1; google.protobuf.Any b = 2;", new: "google.protobuf.Any b = 2;",
			requests: []string{"t.M.a | removed | requests | " + generic},
			replies:  []string{"t.M.a | removed | replies | " + generic},
		},
		{
			name: "any value", old: "int32 a = 1;", new: "google.protobuf.Value a = 1;",
			requests: []string{"t.M.a | int32 → google.protobuf.Value | requests | protobuf thrift avro flatbuffers capnp"},
			replies:  []string{"t.M.a | int32 → google.protobuf.Value | replies | " + every},
		},
		{
			name: "oneof", old: "int32 a = 1; int32 b = 2;", new: "oneof x { int32 a = 1; } int32 b = 2;",
			requests: []string{"t.M.a | int32 → int32 | requests | protobuf", "t.M.a | is in the oneof x now: others exclude it | requests | " + generic},
			replies:  []string{"t.M.a | int32 → int32 | replies | json msgpack cbor"},
		},
	} {
		for direction, file := range map[string]func(string, string) string{against.InRequests: request, against.InReplies: reply} {
			want := c.requests
			if direction == against.InReplies {
				want = c.replies
			}
			changes, err := against.Compare(methods(t, file(c.old, c.beside)), methods(t, file(c.new, c.beside)))
			if diff := cmp.Diff(append([]string{}, want...), lines(changes)); err != nil || diff != "" {
				t.Errorf("%s, %s: %v (-want +got):\n%s", c.name, direction, err, diff)
			}
		}
	}
}

func TestEnums(t *testing.T) {
	old := "enum E { ZERO = 0; ONE = 1; TWO = 2; }"
	renewed := "enum E { ZERO = 0; ONE = 3; THREE = 4; }"
	for direction, want := range map[string][]string{
		against.InRequests: {"t.E.ONE | number 1 → 3 | requests | protobuf", "t.E.TWO | removed | requests | json msgpack cbor"},
		against.InReplies:  {"t.E.ONE | number 1 → 3 | replies | protobuf", "t.E.THREE | added: old clients do not know the name | replies | json msgpack cbor"},
	} {
		file := request
		if direction == against.InReplies {
			file = reply
		}
		changes, err := against.Compare(methods(t, file("E e = 1;", old)), methods(t, file("E e = 1;", renewed)))
		if diff := cmp.Diff(want, lines(changes)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", direction, err, diff)
		}
	}
}

func TestMethods(t *testing.T) {
	route := func(rule string) string {
		return "rpc Do(M) returns (M) { option (google.api.http) = {" + rule + "}; }"
	}
	for _, c := range []struct {
		old, new string
		want     []string
	}{
		{"rpc Do(M) returns (M); rpc Go(M) returns (M);", "rpc Go(M) returns (M); rpc New(M) returns (M);", []string{"t.S/Do | removed |  | all"}},
		{"rpc Do(M) returns (M);", "rpc Do(M) returns (stream M);", []string{"t.S/Do | unary → server streaming |  | all"}},
		{
			"rpc Do(M) returns (M) { option idempotency_level = NO_SIDE_EFFECTS; }", "rpc Do(M) returns (M) { option idempotency_level = IDEMPOTENT; }",
			[]string{"t.S/Do | has side effects now: clients may call it with GET, and again |  | all"},
		},
		{
			"rpc Do(M) returns (M) { option idempotency_level = IDEMPOTENT; }", "rpc Do(M) returns (M);",
			[]string{"t.S/Do | is not idempotent any more: clients may call it again |  | all"},
		},
		{"rpc Do(M) returns (M) { option idempotency_level = IDEMPOTENT; }", "rpc Do(M) returns (M) { option idempotency_level = NO_SIDE_EFFECTS; }", nil},
		{route(`get: "/m/{key}"`), route(`get: "/m/{key=*}"`), nil},
		{route(`get: "/m/{key}"`), route(`post: "/m/{key}"`), []string{"t.S/Do | GET /m/{key}: removed |  | rest"}},
		{route(`get: "/m/{key}"`), route(`get: "/m/{other}"`), []string{"t.S/Do | GET /m/{key}: fills key → other |  | rest"}},
		{route(`post: "/m" body: "*"`), route(`post: "/m" body: "key" response_body: "other"`), []string{
			"t.S/Do | POST /m: body * → key |  | rest", "t.S/Do | POST /m: response body the reply → other |  | rest",
		}},
		{route(`post: "/m" additional_bindings { get: "/n" }`), route(`get: "/n" additional_bindings { post: "/m" }`), nil},
		{"rpc Do(M) returns (M);", route(`get: "/m"`), nil},
		{"rpc Do(google.protobuf.Value) returns (M);", "rpc Do(M) returns (M);", []string{
			"t.S/Do (request) | google.protobuf.Value → t.M | requests | " + every,
		}},
		{"rpc Do(M) returns (M);", "rpc Do(google.protobuf.Value) returns (M);", []string{
			"t.S/Do (request) | t.M → google.protobuf.Value | requests | protobuf thrift avro flatbuffers capnp",
		}},
	} {
		changes, err := against.Compare(methods(t, service(c.old)), methods(t, service(c.new)))
		if diff := cmp.Diff(append([]string{}, c.want...), lines(changes)); err != nil || diff != "" {
			t.Errorf("%s → %s: %v (-want +got):\n%s", c.old, c.new, err, diff)
		}
	}
}

// A change that is met in both directions is one, and plain services are
// compared with what was written of them.
func TestPlain(t *testing.T) {
	reg := everywire.NewRegistry()
	kv.New(kv.Options{}).Register(reg)
	files, err := describe.Proto(reg.Methods(), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := string(files[len(files)-1].Text)
	if changes, err := against.Compare(methods(t, text), reg.Methods()); err != nil || len(changes) > 0 {
		t.Errorf("with itself: %v, %v", changes, err)
	}
	both := head + "message M { int32 a = 1; M next = 2; }\nservice S { rpc Do(M) returns (M); }"
	changes, err := against.Compare(methods(t, both), methods(t, strings.ReplaceAll(both, "int32 a", "bool a")))
	if diff := cmp.Diff([]string{"t.M.a | int32 → bool | both | " + every}, lines(changes)); err != nil || diff != "" {
		t.Errorf("both: %v (-want +got):\n%s", err, diff)
	}
}
