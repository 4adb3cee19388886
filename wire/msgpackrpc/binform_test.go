package msgpackrpc

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/form"
)

// kinds has a field of every kind that has another zero value.
type kinds struct {
	A bool               `wire:"1"`
	B int64              `wire:"2"`
	C uint32             `wire:"3"`
	D float64            `wire:"4"`
	E string             `wire:"5"`
	F []byte             `wire:"6"`
	G []string           `wire:"7"`
	H map[string]int64   `wire:"8"`
	I *int32             `wire:"9"`
	J *kinds             `wire:"10"`
	K time.Duration      `wire:"11"`
	L everywire.Document `wire:"12"`
}

func formOf(t testing.TB, decl everywire.JSONRPCForm) *binForm {
	t.Helper()
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "a.B/C", func(context.Context, *kinds) (*kinds, error) { return new(kinds), nil }, everywire.WithJSONRPC(decl))
	m, _ := reg.Lookup("/a.B/C")
	f, err := form.Of(m)
	if err != nil {
		t.Fatal(err)
	}
	return (*binForm)(f)
}

// Whatever field is the result, or the one parameter, its value goes there and
// back, also when a codec has left it out.
func TestEveryFieldBare(t *testing.T) {
	n := int32(5)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		f := formOf(t, everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsScalar, Field: name, Result: name})
		for _, in := range []*kinds{{}, {A: true, B: -1, C: 1, D: 0.5, E: "x", F: []byte{1}, G: []string{"x"}, I: &n, J: &kinds{B: 7}, K: time.Second}} {
			object, err := codec.Append(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range [][]byte{object, []byte(emptyMap)} {
				var out kinds
				if err := codec.Decode(f.reply(f.bare(append([]byte("before"), message...), 6)[6:]), &out); err != nil {
					t.Errorf("field %s as the result: %v", name, err)
				}
				params := f.shorten(append([]byte("before"), message...), 6)[6:]
				var scratch []byte
				back, err := f.message(params, &scratch)
				if err == nil {
					err = codec.Decode(back, &out)
				}
				if err != nil {
					t.Errorf("field %s as params % x: %v", name, params, err)
				}
				if name == "b" && len(message) > 1 && out.B != in.B {
					t.Errorf("%d became %d", in.B, out.B)
				}
			}
		}
	}
}

// The client's array is what the server takes, whichever fields are set.
func TestInOrder(t *testing.T) {
	f := formOf(t, everywire.JSONRPCForm{Name: "c", Params: everywire.ParamsInOrder})
	n := int32(5)
	for _, in := range []*kinds{{}, {A: true}, {E: "x"}, {I: &n, K: time.Second}, {J: &kinds{B: 1}}, {L: everywire.Document{Value: "x"}}} {
		object, err := codec.Append(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		params := f.shorten(object, 0)
		var scratch []byte
		message, err := f.message(params, &scratch)
		if err != nil {
			t.Fatal(err)
		}
		var direct, out kinds
		if err := codec.Decode(message, &out); err != nil {
			t.Fatalf("% x: %v", message, err)
		}
		object, err = codec.Append(nil, in)
		if err == nil {
			err = codec.Decode(object, &direct)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(direct, out); diff != "" {
			t.Errorf("over % x:\n%s", params, diff)
		}
	}
}

// FuzzObject reads whatever is a value as a message of JSON-RPC: nothing
// panics, and what it calls a request has its parts within the frame.
func FuzzObject(f *testing.F) {
	for _, s := range []string{
		"\x84\xa7jsonrpc\xa32.0\xa6method\xa3sum\xa6params\x92\x14\x15\xa2id\x01",
		"\x83\xa7jsonrpc\xa32.0\xa6result\x29\xa2id\x01", "\x91\x80", "\xde\x00\x01\xa2id\xcb\x00\x00\x00\x00\x00\x00\x00\x00",
		"\x83\xa7jsonrpc\xa32.0\xa5error\x83\xa4code\x07\xa7message\xa2no\xa4data\x81\xa7details\x91\x80\xa2id\xc0",
	} {
		f.Add([]byte(s))
	}
	forms := []*binForm{new(binForm)}
	for _, decl := range []everywire.JSONRPCForm{
		{Name: "c"},
		{Name: "c", Params: everywire.ParamsList, Field: "g", Result: "b"},
		{Name: "c", Params: everywire.ParamsScalar, Field: "e", Result: "j"},
		{Name: "c", Params: everywire.ParamsInOrder},
		{Name: "c", Params: everywire.ParamsObject},
	} {
		forms = append(forms, formOf(f, decl))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fr framer
		fr.max = len(data)
		_, n, err := fr.Next(data)
		if n == 0 || err != nil {
			return
		}
		frame := data[:n]
		_ = isBatch(frame)
		if !isObject(frame) {
			return
		}
		var o object
		if err := o.read(msgpack.NewReader(frame)); err != nil {
			t.Fatalf("% x: the framer has found a map, and read %v", frame, err)
		}
		_, _, _, _ = replyID(frame)
		if o.failure != nil && failed(o.failure) {
			if s := objectStatus(o.failure); s.Code() == 0 {
				t.Fatalf("the error % x is no error", o.failure)
			}
		}
		if _, why := o.request(); why != "" {
			return
		}
		_, _ = o.readMembers()
		for _, form := range forms {
			var scratch []byte
			message, err := form.message(o.params, &scratch)
			if err == nil {
				var k kinds
				_ = codec.Decode(message, &k)
			}
		}
	})
}
