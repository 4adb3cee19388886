package capnp

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

// A drawn message is the same after writing and reading, and nothing of it
// refers to the input.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := schematest.Draw(t, 1, 2)
		data, err := Codec{}.Append([]byte("before"), in)
		if err != nil {
			t.Fatal(err)
		}
		data, ok := bytes.CutPrefix(data, []byte("before"))
		if !ok {
			t.Fatal("Append changed what was before")
		}
		again, err := Codec{}.Append(nil, in)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("a second encoding differs: %v", err)
		}
		out := &schematest.Wide{Text: "left over", LongP: new(int64), TextMap: map[string]string{"left": ""}}
		if err := (Codec{}).Decode(data, out); err != nil {
			t.Fatal(err)
		}
		clear(data)
		if diff := cmp.Diff(in, out, schematest.Equal); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDocumentAsMessage(t *testing.T) {
	for _, in := range []schema.Document{{}, {Value: "x"}, {Value: map[string]any{"a": []any{int64(1), 1.5, nil}}}} {
		data, err := Codec{}.Append(nil, &in)
		if err != nil {
			t.Fatal(err)
		}
		out := schema.Document{Value: "left over"}
		if err := (Codec{}).Decode(data, &out); err != nil || !cmp.Equal(in, out) {
			t.Errorf("%v became %v, %v", in, out, err)
		}
	}
}
