package jsonrpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/typepb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/form"
)

// kinds has a field of every kind whose zero value JSON can say.
type kinds struct {
	A bool               `wire:"1"`
	B int32              `wire:"2"`
	C int64              `wire:"3"`
	D uint64             `wire:"4" json:",string"`
	E float64            `wire:"5"`
	F string             `wire:"6"`
	G []byte             `wire:"7"`
	H []string           `wire:"8"`
	I map[string]int32   `wire:"9"`
	J *int32             `wire:"10"`
	K *pair              `wire:"11"`
	L time.Duration      `wire:"12"`
	M everywire.Document `wire:"13"`
	N time.Time          `wire:"14"`
}

func register[In, Out any](decl everywire.JSONRPCForm) (m *everywire.Method, reg *everywire.Registry) {
	reg = everywire.NewRegistry()
	everywire.Handle(reg, "a.B/C", func(context.Context, *In) (*Out, error) { return new(Out), nil }, everywire.WithJSONRPC(decl))
	m, _ = reg.Lookup("/a.B/C")
	return m, reg
}

func textFormOf(m *everywire.Method) (*textForm, error) {
	f, err := form.Of(m)
	return (*textForm)(f), err
}

// TestEveryFieldBare: whatever field is the result, or the one parameter, its
// zero value goes there and back.
func TestEveryFieldBare(t *testing.T) {
	for _, name := range strings.Split("abcdefghijklmn", "") {
		m, reg := register[kinds, kinds](everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsScalar, Field: name, Result: name})
		f, err := textFormOf(m)
		if err != nil {
			t.Fatal(err)
		}
		if f.Field.Key != name {
			t.Errorf("field %s is %s", name, f.Field.Key)
		}
		var k kinds
		if err := codec.Decode(f.reply(zeroText(&f.Result), nil), &k); err != nil {
			t.Errorf("field %s, zero value %s: %v", name, zeroText(&f.Result), err)
		}
		addr := serve(t, NewServer, serverConfig(reg, everywire.Limits{}))
		conn := dial(t, NewConn, clientConfig(addr, reg))
		if _, err := everywire.Call[kinds](t.Context(), conn, "a.B/C", &kinds{}); err != nil {
			t.Errorf("field %s: %v", name, err)
		}
	}
}

// TestInOrder: the client's array is what the server takes, whichever fields
// are set.
func TestInOrder(t *testing.T) {
	m, _ := register[kinds, kinds](everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsInOrder})
	f, err := textFormOf(m)
	if err != nil {
		t.Fatal(err)
	}
	n := int32(5)
	for _, in := range []kinds{{}, {A: true}, {F: "x"}, {J: &n, L: time.Second}, {H: []string{"a"}, D: 1 << 63}} {
		object, err := codec.Append(nil, &in)
		if err != nil {
			t.Fatal(err)
		}
		params := f.shorten(object, 0)
		var scratch []byte
		message, err := f.message(params, f.Params, &scratch)
		if err != nil {
			t.Fatal(err)
		}
		var out kinds
		if err := codec.Decode(message, &out); err != nil {
			t.Errorf("%s: %v", message, err)
		}
		if out.A != in.A || out.F != in.F || out.D != in.D || out.L != in.L || len(out.H) != len(in.H) || (out.J == nil) != (in.J == nil) {
			t.Errorf("%+v became %+v over %s", in, out, params)
		}
	}
	if got := f.shorten([]byte(`{"a":true,"f":"x"}`), 0); string(got) != `[true,0,0,"0",0,"x","",[],{},null,null,"0s"]` {
		t.Errorf("fields that the codec left out: %s", got)
	}
	type optional struct {
		A int64  `wire:"1"`
		B *int64 `wire:"2"`
		C *int64 `wire:"3"`
	}
	m, _ = register[optional, empty](everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsInOrder})
	if f, err = textFormOf(m); err != nil {
		t.Fatal(err)
	}
	for object, want := range map[string]string{`{}`: `[0]`, `{"b":1}`: `[0,1]`, `{"a":1,"c":2}`: `[1,null,2]`} {
		if got := f.shorten([]byte(object), 0); string(got) != want {
			t.Errorf("%s: got %s, want %s", object, got, want)
		}
	}
}

// TestGeneratedForms: messages that were generated have forms too.
func TestGeneratedForms(t *testing.T) {
	m, _ := register[typepb.Field, typepb.Type](everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsInOrder, Result: "oneofs"})
	f, err := textFormOf(m)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Order); n != 10 || f.Order[4].Key != "typeUrl" || string(zeroText(&f.Order[0])) != `"TYPE_UNKNOWN"` || string(zeroText(&f.Order[7])) != "[]" {
		t.Errorf("%d fields: %+v", n, f.Order)
	}
	if got := f.bare([]byte(`{"name":"x"}`), 0); string(got) != "[]" {
		t.Errorf("a list that is absent: %s", got)
	}
	m, _ = register[typepb.Field, typepb.Type](everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsScalar, Field: "type_url", Result: "sourceContext"})
	if f, err = textFormOf(m); err != nil || f.Field.Key != "typeUrl" || string(zeroText(&f.Result)) != "null" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestWrongDeclarations(t *testing.T) {
	check := func(reg *everywire.Registry, want string) {
		t.Helper()
		for _, tr := range transports {
			if _, err := tr.server(serverConfig(reg, everywire.Limits{})); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
	for want, decl := range map[string]everywire.JSONRPCForm{
		`JSON-RPC form of a.B/C: the request has no field "nope"`: {Name: "c", Params: everywire.ParamsList, Field: "nope"},
		`the request has no field ""`:                             {Name: "c", Params: everywire.ParamsScalar},
		`field "minuend" is not repeated`:                         {Name: "c", Params: everywire.ParamsList, Field: "minuend"},
		`the reply has no field "nope"`:                           {Name: "c", Result: "nope"},
		`reserved, not to be declared: "rpc.c"`:                   {Name: "rpc.c"},
		`unknown form of params 77`:                               {Name: "c", Params: 77},
	} {
		_, reg := register[pair, difference](decl)
		check(reg, want)
	}
	_, reg := register[everywire.Document, empty](everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsObject})
	check(reg, "is no object")
	_, reg = register[structpb.Value, empty](everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsInOrder})
	check(reg, "is no object")

	_, reg = register[pair, difference](everywire.JSONRPCForm{Name: "c"})
	everywire.Handle(reg, "a.B/D", func(context.Context, *empty) (*empty, error) { return &empty{}, nil }, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "c"}))
	check(reg, `JSON-RPC name "c" is declared by both a.B/C and a.B/D`)
	_, reg = register[pair, difference](everywire.JSONRPCForm{Name: "a.B/D"})
	everywire.Handle(reg, "a.B/D", func(context.Context, *empty) (*empty, error) { return &empty{}, nil })
	check(reg, `JSON-RPC name "a.B/D" of a.B/C is the full name of another method`)

	// The client reads the same declarations.
	_, reg = register[pair, difference](everywire.JSONRPCForm{Name: "c", Result: "nope"})
	conn := dial(t, NewConn, clientConfig(serve(t, NewServer, serverConfig(newFixture().reg, everywire.Limits{})), reg))
	if _, err := everywire.Call[difference](t.Context(), conn, "a.B/C", &pair{}); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "nope") {
		t.Error(err)
	}
}

func TestMethodsRegisteredLater(t *testing.T) {
	reg := everywire.NewRegistry()
	c := dialRaw(t, serve(t, NewServer, serverConfig(reg, everywire.Limits{})))
	c.send(`{"jsonrpc":"2.0","method":"c","id":1}`)
	c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown method \"c\""},"id":1}`)
	handle := func(name string) {
		everywire.Handle(reg, name, func(context.Context, *empty) (*empty, error) { return &empty{}, nil }, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "c"}))
	}
	handle("a.B/C")
	c.send(`{"jsonrpc":"2.0","method":"c","id":1}`)
	c.wantLine(`{"jsonrpc":"2.0","result":{},"id":1}`)
	handle("a.B/D")
	c.send(`{"jsonrpc":"2.0","method":"a.B/D","id":1}`)
	c.wantLine(`{"jsonrpc":"2.0","result":{},"id":1}`)
	c.send(`{"jsonrpc":"2.0","method":"c","id":1}`)
	c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"JSON-RPC name \"c\" is declared by both a.B/C and a.B/D"},"id":1}`)
}

// TestReservedPackage: a service in a package named rpc has only the name that
// is not reserved.
func TestReservedPackage(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "rpc.S/M", func(context.Context, *empty) (*empty, error) { return &empty{}, nil })
	c := dialRaw(t, serve(t, NewServer, serverConfig(reg, everywire.Limits{})))
	c.send(`{"jsonrpc":"2.0","method":"/rpc.S/M","id":1}`)
	c.wantLine(`{"jsonrpc":"2.0","result":{},"id":1}`)
	c.send(`{"jsonrpc":"2.0","method":"rpc.S/M","id":1}`)
	c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown method \"rpc.S/M\"; names that begin with rpc. or $/ are reserved"},"id":1}`)
}
