package infer_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	ourjson "github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/infer"
)

func documents(t *testing.T, texts ...string) []any {
	t.Helper()
	var all []any
	for _, text := range texts {
		doc := new(schema.Document)
		if err := (ourjson.Codec{}).Decode([]byte(text), doc); err != nil {
			t.Fatal(err)
		}
		all = append(all, doc.Value)
	}
	return all
}

// fields writes a type down: its members with their types, nested ones in braces.
func fields(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + fields(t.Elem())
	case reflect.Slice:
		return "[]" + fields(t.Elem())
	case reflect.Map:
		return "map[" + t.Key().String() + "]" + fields(t.Elem())
	case reflect.Struct:
		var all []string
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				all = append(all, name+" "+fields(f.Type))
			}
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	return t.String()
}

func TestTypes(t *testing.T) {
	for _, tt := range []struct {
		docs    []string
		want    string
		untyped string // path: reason
	}{
		{[]string{`{"b":true,"i":1,"f":1.5,"s":"x"}`}, "{b bool, f float64, i int64, s string}", ""},
		{[]string{`{"i":18446744073709551615}`}, "{i uint64}", ""},
		{[]string{`{"i":-9223372036854775808}`}, "{i int64}", ""},
		{[]string{`{"i":-1}`, `{"i":9223372036854775808}`}, "{i interface {}}", "i: no type of 64 bits holds its integers, of -1 to 9223372036854775808"},
		{[]string{`{"i":18446744073709551616}`}, "{i interface {}}", "i: no type of 64 bits holds its integers"},
		{[]string{`{"i":1}`, `{"i":18446744073709551616}`}, "{i interface {}}", "i: no type of 64 bits holds its integers"},
		{[]string{`{"n":1}`, `{"n":1.5}`}, "{n float64}", ""},
		{[]string{`{"n":9007199254740993}`, `{"n":1.5}`}, "{n interface {}}", "n: it has fractions, and integers that no double holds"},
		{[]string{`{"n":1}`, `{"n":null}`}, "{n *int64}", ""},
		{[]string{`{"n":1,"m":"x"}`, `{"n":2}`}, "{m *string, n int64}", ""},
		{[]string{`{"n":null}`}, "{n interface {}}", "n: it is always null"},
		{[]string{`{"n":1}`, `{"n":"x"}`}, "{n interface {}}", "n: its values are of several kinds: integers, strings"},
		{[]string{`{"o":{"a":1}}`, `{"o":{"b":"x"}}`, `{}`}, "{o *{a *int64, b *string}}", ""},
		{[]string{`{"l":[{"a":1},{"a":2,"b":null}]}`}, "{l []{a int64, b interface {}}}", "l[].b: it is always null"},
		{[]string{`{"l":[]}`}, "{l []string}", ""},
		{[]string{`{"l":[]}`, `{"l":[1]}`, `{"l":null}`, `{}`}, "{l []int64}", ""},
		{[]string{`{"l":[1,null]}`}, "{l []interface {}}", "l[]: there are nulls among the elements"},
		{[]string{`{"l":[1,"x"]}`}, "{l []interface {}}", "l[]: its values are of several kinds: integers, strings"},
		{[]string{`{"c":[[1.5,2.5]]}`}, "{c []interface {}}", "c[]: lists of lists have no form in protobuf"},
		{[]string{`{"m":{"1":"x","2":"y"}}`}, "{m map[string]string}", ""},
		{[]string{`{"m":{"1":{"a":1},"2":{"b":2}}}`}, "{m map[string]{a *int64, b *int64}}", ""},
		{[]string{`{"m":{"1":1,"2":"y"}}`}, "{m map[string]interface {}}", "m{}: its values are of several kinds: integers, strings"},
		{[]string{`{"m":{"1":[1]}}`}, "{m map[string]interface {}}", "m{}: maps of lists have no form in protobuf"},
		{[]string{`{"m":{"1":{"2":3}}}`}, "{m map[string]interface {}}", "m{}: maps of maps have no form in protobuf"},
		{[]string{`{"l":[{"1":2}]}`}, "{l []interface {}}", "l[]: lists of maps have no form in protobuf"},
		{[]string{`{"m":{"a_b":1,"aB":2}}`}, "{m map[string]int64}", ""}, // protobuf would call both a_b
		{[]string{`[1,2]`}, "{value []int64}", ""},
		{[]string{`"x"`}, "{value string}", ""},
		{[]string{`{"a-b":1}`}, "{value map[string]int64}", ""},
		{[]string{`{}`}, "{}", ""},
	} {
		got, err := infer.From(documents(t, tt.docs...)...)
		if err != nil {
			t.Errorf("%v: %v", tt.docs, err)
			continue
		}
		var untyped []string
		for _, u := range got.Untyped {
			untyped = append(untyped, u.Path+": "+u.Reason)
		}
		if text := fields(got.Type); text != tt.want || strings.Join(untyped, "; ") != tt.untyped {
			t.Errorf("%v: %s, %q\nwant %s, %q", tt.docs, text, untyped, tt.want, tt.untyped)
		}
		if wrapped := strings.HasPrefix(tt.want, "{value "); got.Wrapped != wrapped {
			t.Errorf("%v: wrapped is %v", tt.docs, got.Wrapped)
		}
	}
}

func TestNothing(t *testing.T) {
	for _, docs := range [][]any{nil, {nil}} {
		if got, err := infer.From(docs...); err == nil {
			t.Errorf("%v: %v", docs, got)
		}
	}
}

// A web hook travels as typed values in every codec, and is the same document
// afterwards: what encoding/json reads is the oracle.
func TestRoundTrip(t *testing.T) {
	const text = `{"ref":"refs/tags/simple-tag","created":false,"base_ref":null,"commits":[],"repository":{"id":186853002,"name":"Hello-World",
		"owner":{"login":"Codertocat","id":21031067,"site_admin":false},"stars":0.5,"topics":["a","b"],"license":null},
		"labels":{"1":"x","2-3":"é"},"events":[{"type":"a","n":1},{"type":"b"}],"points":[[1.5,2.5],[3,4]]}`
	r, err := infer.From(documents(t, text)...)
	if err != nil {
		t.Fatal(err)
	}
	in := reflect.New(r.Type).Interface()
	if err := (ourjson.Codec{}).Decode([]byte(text), in); err != nil {
		t.Fatal(err)
	}
	std := reflect.New(r.Type).Interface()
	if err := json.Unmarshal([]byte(text), std); err != nil {
		t.Fatal(err)
	}
	for _, codec := range []everywire.Codec{ourjson.Codec{}, msgpack.Codec{}, cbor.Codec{}, protobuf.Codec{}} {
		data, err := codec.Append(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		out := reflect.New(r.Type).Interface()
		if err := codec.Decode(data, out); err != nil {
			t.Fatal(err)
		}
		var doc, want any
		again, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &doc); err != nil {
			t.Fatal(err)
		}
		wanted, err := json.Marshal(std)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(wanted, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(want), plain(doc)); diff != "" {
			t.Errorf("%s: %s", codec.Name(), diff)
		}
	}
}

// plain takes out what is null or empty: a list that is absent and an empty one are
// the same to every codec.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case map[string]any:
		for name, member := range v {
			if v[name] = plain(member); v[name] == nil {
				delete(v, name)
			}
		}
	}
	return v
}

// A service can be served on a type that was inferred.
func TestServe(t *testing.T) {
	r, err := infer.From(documents(t, `{"a":{"b":[1]},"c":{"b":"x"}}`)...)
	if err != nil {
		t.Fatal(err)
	}
	reg := everywire.NewRegistry()
	everywire.HandleTypes(reg, "test.Test/Echo", r.Type, r.Type, func(_ context.Context, in any) (any, error) { return in, nil })
	m, ok := reg.Lookup("/test.Test/Echo")
	if !ok || m.Input.Name != "payload.Payload" || m.Input.Fields[0].Message.Name != "payload.Payload_A" {
		t.Fatalf("the method is %+v", m)
	}
	out, err := m.Unary(t.Context(), func(v any) error { return ourjson.Codec{}.Decode([]byte(`{"a":{"b":[7]},"c":{"b":"y"}}`), v) })
	if err != nil {
		t.Fatal(err)
	}
	if data, err := (ourjson.Codec{}).Append(nil, out); err != nil || string(data) != `{"a":{"b":[7]},"c":{"b":"y"}}` {
		t.Fatalf("%s, %v", data, err)
	}
}
