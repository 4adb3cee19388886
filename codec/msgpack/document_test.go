package msgpack

import (
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/schema"
)

// Every Go type that a document may hold, and what comes back.
func TestDocumentTypes(t *testing.T) {
	type celsius float32
	type meters float64
	type count int16
	tests := []struct {
		in, want any
		written  string
	}{
		{nil, nil, "\xc0"},
		{false, false, "\xc2"},
		{7, int64(7), "\x07"},
		{int8(-1), int64(-1), "\xff"},
		{uint8(200), int64(200), "\xcc\xc8"},
		{uint64(math.MaxUint64), uint64(math.MaxUint64), "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"},
		{count(300), int64(300), "\xcd\x01\x2c"},
		{time.Second, int64(1e9), "\xce\x3b\x9a\xca\x00"},
		{1.0, 1.0, "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		{float32(0.5), 0.5, "\xca\x3f\x00\x00\x00"},
		{celsius(0.5), 0.5, "\xca\x3f\x00\x00\x00"},
		{meters(1), 1.0, "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		{math.Inf(1), math.Inf(1), "\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00"},
		{"s", "s", "\xa1s"},
		{[]byte{}, []byte{}, "\xc4\x00"},
		{time.Unix(1, 0), time.Unix(1, 0).UTC(), "\xd6\xff\x00\x00\x00\x01"},
		{[]any{}, []any{}, "\x90"},
		{map[string]any{"b": 1, "a": nil}, map[string]any{"a": nil, "b": int64(1)}, "\x82\xa1a\xc0\xa1b\x01"},
		{schema.Document{Value: "s"}, "s", "\xa1s"},
		{&schema.Document{Value: "s"}, "s", "\xa1s"},
		{(*schema.Document)(nil), nil, "\xc0"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%T", tt.in), func(t *testing.T) {
			data, err := Codec{}.Append(nil, &schema.Document{Value: tt.in})
			if err != nil || string(data) != tt.written {
				t.Errorf("written as %q, %v, want %q", data, err, tt.written)
			}
			doc := schema.Document{Value: "left over"}
			if err := (Codec{}).Decode(data, &doc); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, doc.Value); diff != "" {
				t.Errorf("%s", diff)
			}
		})
	}
	for _, in := range []any{struct{}{}, []string{"a"}, map[string]int{}, netip.Addr{}, make(chan int), "\xff", map[string]any{"\xff": 1}} {
		if _, err := (Codec{}).Append(nil, &schema.Document{Value: []any{in}}); err == nil || !strings.HasPrefix(err.Error(), "msgpack: [0]") {
			t.Errorf("%T: %v", in, err)
		}
	}
}

// Repeated keys are found also beyond the 64th field.
func TestManyFields(t *testing.T) {
	fields := make([]reflect.StructField, 0, 70)
	for i := range 70 {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int](), Tag: reflect.StructTag(fmt.Sprintf(`wire:"%d"`, i+1)),
		})
	}
	msg := reflect.New(reflect.StructOf(fields))
	msg.Elem().Field(69).SetInt(5)
	data, err := Codec{}.Append(nil, msg.Interface())
	if err != nil {
		t.Fatal(err)
	}
	out := reflect.New(msg.Type().Elem())
	if err := (Codec{}).Decode(data, out.Interface()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(msg.Interface(), out.Interface()) {
		t.Errorf("got %+v", out.Elem())
	}
	err = Codec{}.Decode([]byte("\x82\xa3f69\x01\xa3f69\x01"), out.Interface())
	if err == nil || !strings.Contains(err.Error(), `byte 6: the key "f69" occurs twice`) {
		t.Errorf("got %v", err)
	}
}

// Values of maps cannot be addressed, which matters to what avoids reflection.
func TestStructsInMaps(t *testing.T) {
	type item struct {
		Numbers []int64   `wire:"1"`
		At      time.Time `wire:"2"`
		Any     any       `wire:"3"`
	}
	type withDocs struct {
		Items map[string]item            `wire:"1"`
		Times map[uint32]time.Time       `wire:"2"`
		Docs  map[string]schema.Document `wire:"3"`
	}
	at := time.Unix(5, 0).UTC()
	in := &withDocs{
		Items: map[string]item{"a": {Numbers: []int64{1, -1}, At: at, Any: "x"}},
		Times: map[uint32]time.Time{7: at},
		Docs:  map[string]schema.Document{"d": {Value: int64(1)}},
	}
	data, err := Codec{}.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	var out withDocs
	if err := (Codec{}).Decode(data, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, &out); diff != "" {
		t.Errorf("%s", diff)
	}
}

func TestFloatsAsText(t *testing.T) {
	for text, want := range map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "-1.5e+2": -150, "7": 7} {
		var a all
		if err := (Codec{}).Decode(one("f64", string(AppendString(nil, text))), &a); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if a.F64 != want && !(math.IsNaN(a.F64) && math.IsNaN(want)) {
			t.Errorf("%s is read as %v", text, a.F64)
		}
	}
	for _, text := range []string{"", " 1", "1_000", "0x1p3", "inf", "+1", "1e999", "nan"} {
		if err := (Codec{}).Decode(one("f64", string(AppendString(nil, text))), new(all)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, text := range []string{"", "-", "+1", "1.0", " 1", "0x1", "1_0"} {
		for _, field := range []string{"int", "u64"} {
			if err := (Codec{}).Decode(one(field, string(AppendString(nil, text))), new(all)); err == nil {
				t.Errorf("%s: %q is accepted", field, text)
			}
		}
	}
}
