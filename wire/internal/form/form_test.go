package form_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/typepb"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
)

type kinds struct {
	Flag  bool             `wire:"1"`
	Count int64            `wire:"2" json:"count,string"`
	Ratio float32          `wire:"3"`
	Text  string           `wire:"4"`
	Data  []byte           `wire:"5"`
	List  []int64          `wire:"6"`
	Map   map[string]int32 `wire:"7"`
	Maybe *int64           `wire:"8" json:"maybe,string"`
	Inner *kinds           `wire:"9"`
	At    time.Time        `wire:"10"`
	For   time.Duration    `wire:"11"`
}

func handle[In, Out any](reg *everywire.Registry, name string, decl *everywire.JSONRPCForm) *everywire.Method {
	var opts []everywire.MethodOption
	if decl != nil {
		opts = append(opts, everywire.WithJSONRPC(*decl))
	}
	everywire.Handle(reg, name, func(context.Context, *In) (*Out, error) { return new(Out), nil }, opts...)
	m, _ := reg.Lookup("/" + name)
	return m
}

// The zero values are what a document holds for them, so that every codec can
// write them.
func TestFieldsInOrder(t *testing.T) {
	m := handle[kinds, kinds](everywire.NewRegistry(), "a.B/C", &everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsInOrder, Result: "count"})
	f, err := form.Of(m)
	if err != nil {
		t.Fatal(err)
	}
	want := []form.Field{
		{Key: "flag", Zero: false}, {Key: "count", Zero: int64(0), Quoted: true}, {Key: "ratio", Zero: int64(0)}, {Key: "text", Zero: ""},
		{Key: "data", Zero: []byte{}}, {Key: "list", Zero: []any{}, Repeated: true}, {Key: "map", Zero: map[string]any{}},
		{Key: "maybe"}, {Key: "inner"}, {Key: "at"}, {Key: "for", Zero: "0s"},
	}
	if diff := cmp.Diff(want, f.Order); diff != "" {
		t.Error(diff)
	}
	if f.Name != "c" || f.Result.Key != "count" || !f.Object {
		t.Errorf("%+v", f)
	}
	m = handle[typepb.Field, typepb.Type](everywire.NewRegistry(), "a.B/C", &everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsScalar, Field: "type_url", Result: "sourceContext"})
	if f, err = form.Of(m); err != nil || f.Field.Key != "typeUrl" || f.Result.Zero != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestFaultyDeclarations(t *testing.T) {
	for want, decl := range map[string]everywire.JSONRPCForm{
		`the request has no field "nope"`:          {Name: "c", Params: everywire.ParamsList, Field: "nope"},
		`field "text" is not repeated`:             {Name: "c", Params: everywire.ParamsList, Field: "text"},
		`the reply has no field "nope"`:            {Name: "c", Result: "nope"},
		`reserved, not to be declared: "$/cancel"`: {Name: "$/cancel"},
		`unknown form of params 77`:                {Name: "c", Params: 77},
	} {
		m := handle[kinds, kinds](everywire.NewRegistry(), "a.B/C", &decl)
		f, err := form.Of(m)
		if err == nil || !strings.Contains(err.Error(), "JSON-RPC form of a.B/C: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if f.Method != m || f.Params != everywire.ParamsNamed || f.Name != "" {
			t.Errorf("the form in its place is %+v", f)
		}
	}
}

func TestNames(t *testing.T) {
	reg := everywire.NewRegistry()
	handle[kinds, kinds](reg, "a.B/C", &everywire.JSONRPCForm{Name: "c"})
	handle[kinds, kinds](reg, "rpc.S/M", nil)
	names, err := form.NewNames(&rpc.ServerConfig{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, method string, short bool) {
		t.Helper()
		e, err := names.Lookup([]byte(name))
		if err != nil || e.Form.Method.FullName() != method || e.Short != short {
			t.Errorf("%s is %+v, %v", name, e, err)
		}
	}
	unknown := func(name string, c codes.Code, want string) {
		t.Helper()
		if _, err := names.Lookup([]byte(name)); status.Code(err) != c || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %v with %s", name, err, c, want)
		}
	}
	check("a.B/C", "a.B/C", false)
	check("/a.B/C", "a.B/C", false)
	check("c", "a.B/C", true)
	check("/rpc.S/M", "rpc.S/M", false)
	unknown("rpc.S/M", codes.Unimplemented, "reserved")
	unknown("d", codes.Unimplemented, `unknown method "d"`)
	unknown("a.B/D", codes.Unimplemented, "unknown method D for service a.B")
	unknown("x.Y/Z", codes.Unimplemented, "unknown service x.Y")

	// Methods that come later are found; one that takes another's short name
	// makes that name an error and no other.
	handle[kinds, kinds](reg, "a.B/D", &everywire.JSONRPCForm{Name: "c"})
	check("a.B/D", "a.B/D", false)
	check("a.B/C", "a.B/C", false)
	unknown("c", codes.Internal, `"c" is declared by both a.B/C and a.B/D`)
	if _, err := form.NewNames(&rpc.ServerConfig{Registry: reg}); err == nil || !strings.Contains(err.Error(), "declared by both") {
		t.Errorf("%v", err)
	}
	name := []byte("a.B/C")
	if n := testing.AllocsPerRun(100, func() { _, _ = names.Lookup(name) }); n > 0 {
		t.Errorf("a lookup allocates %v times", n)
	}
}
