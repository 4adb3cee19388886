package protobuf

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// sparse knows some of what [all] has, and keeps the rest.
type sparse struct {
	_       struct{}         `wire:"name=test.Sparse"`
	Str     string           `wire:"12"`
	All     *sparse          `wire:"18"`
	Ints    []int64          `wire:"102"`
	Leaves  []sparseLeaf     `wire:"110"`
	Docs    map[string]any   `wire:"1006"`
	ByStr   map[string]int32 `wire:"1001"`
	Unknown []byte           `wire:"unknown"`
}

type sparseLeaf struct {
	Rest []byte `wire:"unknown"`
	Name string `wire:"1"`
}

// passThrough reads and writes data as a program does that knows sparse.
func passThrough(t testing.TB, data []byte) []byte {
	var s sparse
	if err := (Codec{}).Decode(data, &s); err != nil {
		t.Fatal(err)
	}
	out, err := Codec{}.Append(nil, &s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUnknownIsKept(t *testing.T) {
	tests := []struct{ name, data, kept, written string }{
		{"nothing", "", "", ""},
		{"before what is known", "0801 62 01 61", "0801", "62 01 61 0801"},
		{"in between", "0801 62 01 61 1005", "0801 1005", "62 01 61 0801 1005"},
		{"the same twice", "0801 0802", "0801 0802", "0801 0802"},
		{"another wire type", "6001 62 01 61", "6001", "62 01 61 6001"},
		{"a group", "c33e 0801 c43e", "c33e 0801 c43e", "c33e 0801 c43e"},
		{"tag and length longer than need be", "8880 00 8100 0a 8100 61", "8880 00 8100 0a 8100 61", "8880 00 8100 0a 8100 61"},
		{"fixed", "c13e 0102030405060708 c53e 01020304", "c13e 0102030405060708 c53e 01020304", "c13e 0102030405060708 c53e 01020304"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := sparse{Unknown: []byte("left over")}
			err := Codec{}.Decode(unhex(t, tt.data), &got)
			if err != nil || !bytes.Equal(got.Unknown, unhex(t, tt.kept)) {
				t.Fatalf("kept %x, %v", got.Unknown, err)
			}
			if out := passThrough(t, unhex(t, tt.data)); !bytes.Equal(out, unhex(t, tt.written)) {
				t.Errorf("written %x\nwant %s", out, tt.written)
			}
		})
	}
}

// Kept bytes are not those of the input, and merged messages keep those of both.
func TestUnknownMerges(t *testing.T) {
	data := unhex(t, "9201 02 0801 9201 02 0802 f206 04 1001 0a00")
	var got sparse
	if err := (Codec{}).Decode(data, &got); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if s := hex.EncodeToString(got.All.Unknown); s != "08010802" {
		t.Errorf("kept %s", s)
	}
	if s := hex.EncodeToString(got.Leaves[0].Rest); s != "1001" {
		t.Errorf("kept %s in a list", s)
	}
}

// A handler may put anything there; only whole records are written.
func TestUnknownIsChecked(t *testing.T) {
	for _, bad := range []string{"08", "80", "0a 05 01", "00 00", "0c", "0b", "0f 01", "8080808010 00"} {
		for _, msg := range []*sparse{{Unknown: unhex(t, bad)}, {All: &sparse{Unknown: unhex(t, bad)}}} {
			out, err := Codec{}.Append([]byte("before"), msg)
			if err == nil || !strings.Contains(err.Error(), "the unknown fields that the message keeps") || string(out) != "before" {
				t.Errorf("%s: %q, %v", bad, out, err)
			}
			if msg.All != nil && err != nil && !strings.HasPrefix(err.Error(), "protobuf: all: ") {
				t.Errorf("the path is missing in %v", err)
			}
		}
	}
}

// Nothing is lost on the way through a program that knows less, as nothing is
// lost in generated code.
func TestUnknownPassesThrough(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := alls(1, 1).Draw(rt, "message")
		data, err := Codec{}.Append(nil, in)
		if err != nil {
			rt.Fatal(err)
		}
		got := passThrough(t, data)
		var direct, passed all
		if err := (Codec{}).Decode(data, &direct); err != nil {
			rt.Fatal(err)
		}
		if err := (Codec{}).Decode(got, &passed); err != nil {
			rt.Fatal(err)
		}
		a, b := toDynamic(t, reflect.ValueOf(&direct).Elem()), toDynamic(t, reflect.ValueOf(&passed).Elem())
		if !proto.Equal(a, b) {
			rt.Fatalf("before %v\nafter %v", a, b)
		}
	})
}
