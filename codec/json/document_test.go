package json_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/schema"
)

func TestDocument(t *testing.T) {
	for _, tt := range []struct {
		text    string
		want    any
		written string
	}{
		{"null", nil, ""},
		{" true\n", true, "true"},
		{"false", false, ""},
		{"0", int64(0), ""},
		{"-1", int64(-1), ""},
		{"9007199254740993", int64(9007199254740993), ""},
		{"999999999999999999", int64(999999999999999999), ""},
		{"1000000000000000000", int64(1000000000000000000), ""},
		{"9223372036854775807", int64(math.MaxInt64), ""},
		{"-9223372036854775808", int64(math.MinInt64), ""},
		{"9223372036854775808", uint64(1 << 63), ""},
		{"18446744073709551615", uint64(math.MaxUint64), ""},
		{"18446744073709551616", schema.Number("18446744073709551616"), ""},
		{"-9223372036854775809", schema.Number("-9223372036854775809"), ""},
		{"1.0", 1.0, ""},
		{"1e3", 1000.0, "1000.0"},
		{"1E-3", 0.001, "0.001"},
		{"-0", math.Copysign(0, -1), "-0.0"},
		{"-0.0", math.Copysign(0, -1), ""},
		{"100000000000000000000.0", 1e20, ""},
		{"1e+21", 1e21, ""},
		{"1e-7", 1e-7, ""},
		{"1.7976931348623157e+308", math.MaxFloat64, ""},
		{`""`, "", ""},
		{`"\u0000é\ud83d\ude00"`, "\x00é😀", `"\u0000é😀"`},
		{"[]", []any{}, ""},
		{"{}", map[string]any{}, ""},
		{`[[],{},null,[1]]`, []any{[]any{}, map[string]any{}, nil, []any{int64(1)}}, ""},
		{`{"b":1,"a":{"z":[],"y":null},"":"x"}`, map[string]any{"": "x", "a": map[string]any{"y": nil, "z": []any{}}, "b": int64(1)}, `{"":"x","a":{"y":null,"z":[]},"b":1}`},
		{`[{"key":1,"k\u0065y2":2},{"key":3,"key2":4}]`, []any{map[string]any{"key": int64(1), "key2": int64(2)}, map[string]any{"key": int64(3), "key2": int64(4)}}, `[{"key":1,"key2":2},{"key":3,"key2":4}]`},
	} {
		data := []byte(tt.text)
		d := &schema.Document{Value: "before"}
		if err := codec.Decode(data, d); err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		clear(data) // a reference to data would show now
		if diff := cmp.Diff(tt.want, d.Value); diff != "" || tt.want != nil && isZero(tt.want) && signOf(tt.want) != signOf(d.Value) {
			t.Errorf("%s: %#v (-want +got):\n%s", tt.text, d.Value, diff)
		}
		written := tt.written
		if written == "" {
			written = tt.text
		}
		if b, err := codec.Append(nil, d); err != nil || string(b) != written {
			t.Errorf("%s is written as %s, %v", tt.text, b, err)
		}
	}
}

func isZero(v any) bool { f, ok := v.(float64); return ok && f == 0 }

func signOf(v any) bool { f, _ := v.(float64); return math.Signbit(f) }

// Encoders take more Go types than decoders make.
func TestDocumentTypes(t *testing.T) {
	type (
		number  int16
		natural uint8
		ratio   float32
	)
	for _, tt := range []struct {
		value any
		want  string
	}{
		{int(-1), "-1"},
		{int8(-1), "-1"},
		{int16(-1), "-1"},
		{int32(-1), "-1"},
		{uint(1), "1"},
		{uint8(1), "1"},
		{uint16(1), "1"},
		{uint32(1), "1"},
		{uintptr(1), "1"},
		{number(5), "5"},
		{natural(5), "5"},
		{ratio(0.1), "0.1"},
		{float32(0.1), "0.1"},
		{float32(16777216), "16777216.0"},
		{float32(1e21), "1e+21"},
		{schema.Number("123"), "123"},
		{[]byte("hi"), `"aGk="`},
		{[]byte(nil), `""`},
		{time.Unix(0, 5000).In(time.FixedZone("x", 3600)), `"1970-01-01T00:00:00.000005Z"`},
		{[]any(nil), "[]"},
		{map[string]any(nil), "{}"},
		{schema.Document{Value: true}, "true"},
		{&schema.Document{Value: true}, "true"},
		{(*schema.Document)(nil), "null"},
	} {
		if b, err := codec.Append(nil, &schema.Document{Value: tt.value}); err != nil || string(b) != tt.want {
			t.Errorf("%T %v is written as %s, %v, want %s", tt.value, tt.value, b, err, tt.want)
		}
	}
}

// Output is the same each time, whatever the order of Go's maps.
func TestDeterministic(t *testing.T) {
	m := map[string]any{}
	for _, key := range strings.Split("the quick brown fox jumps over a lazy dog", " ") {
		m[key] = map[string]any{key + "1": nil, key + "0": []any{map[string]any{"b": 1, "a": 2}}}
	}
	first, err := codec.Append(nil, &schema.Document{Value: m})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if b, err := codec.Append(nil, &schema.Document{Value: m}); err != nil || string(b) != string(first) {
			t.Fatalf("%s\n%s, %v", first, b, err)
		}
	}
}
