package flatbuffers

import (
	"bytes"
	"testing"
	"time"

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

// What is written, byte for byte.
func TestBytes(t *testing.T) {
	type numbers struct {
		Numbers []int32 `wire:"1"`
	}
	type mixed struct {
		Flag  bool          `wire:"1"`
		ID    int64         `wire:"3"`
		Small *int8         `wire:"4"`
		Name  string        `wire:"2"`
		Wait  time.Duration `wire:"5"`
	}
	type named struct {
		Names map[string]bool `wire:"1"`
	}
	for _, tt := range []struct {
		name string
		msg  any
		want string
	}{
		{"nothing", &numbers{},
			"08000000" + "04000400" + // to the table; its vtable
				"04000000"}, // to the vtable
		{"a list", &numbers{[]int32{1, -1}},
			"0c000000" + "060008000400" + "0000" +
				"08000000" + "04000000" + // the table: to its vtable, to the list
				"02000000" + "01000000" + "ffffffff"},
		{"zero is absent, but not behind a pointer", &mixed{Small: new(int8)},
			"10000000" + "0c000800" + "000000000000" + "0400" +
				"0c000000" + "00000000"},
		{"the largest first", &mixed{Flag: true, ID: 2, Name: "abc", Wait: -1},
			"14000000" + "0e002100" + "20001c00140000000400" + "0000" +
				"10000000" + // at 20, so that the next is aligned to 8
				"0000000000000000" + "ffffffff" + "00000000" + // no seconds, -1 ns
				"0200000000000000" + "08000000" + "01" + "000000" +
				"03000000" + "61626300"},
		{"a map", &named{map[string]bool{"b": true, "a": false}},
			"0c000000" + "060008000400" + "0000" +
				"08000000" + "04000000" +
				"02000000" + "10000000" + "24000000" + // two entries
				"060008000400" + "0000" + "08000000" + "04000000" + "01000000" + "6100" + // no value, it is false
				"08000900" + "04000800" + "0000" + "0a000000" + "08000000" + "01" + "000000" + "01000000" + "6200"},
	} {
		got, err := Codec{}.Append(nil, tt.msg)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if want := unhex(t, tt.want); !bytes.Equal(got, want) {
			t.Errorf("%s\n got %x\nwant %x", tt.name, got, want)
		}
	}
}
