package load

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

func TestDifference(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		name      string
		got, want any
		diff      string // "" if equal; else a part of the text
	}{
		{"null", nil, nil, ""},
		{"null for a value", nil, "x", `the whole document: got null, want "x"`},
		{"value for null", false, nil, "want null"},
		{"bool", true, true, ""},
		{"bool differs", true, false, "got true"},
		{"bool is no number", true, int64(1), "got true"},
		{"string is no number", "1", int64(1), `got "1", want 1`},
		{"integer as double", float64(3), int64(3), ""},
		{"double as integer", int64(3), float64(3), ""},
		{"half", 0.5, int64(0), "got 0.5"},
		{"not finite", math.NaN(), int64(1), "NaN"},
		{"lost digits", float64(1 << 53), int64(1<<53 + 1), "want 9007199254740993"},
		{"kept digits", int64(1<<53 + 1), int64(1<<53 + 1), ""},
		{"large power of two", float64(1 << 60), int64(1 << 60), ""},
		{"above int64", uint64(math.MaxUint64), uint64(math.MaxUint64), ""},
		{"above int64 as double", float64(1 << 63), uint64(1 << 63), ""},
		{"above int64 lost", float64(1<<63) * 2, uint64(math.MaxUint64), "want 18446744073709551615"},
		{"number", schema.Number("100000000000000000000"), schema.Number("100000000000000000000"), ""},
		{"number as double", 1e20, schema.Number("100000000000000000000"), ""},
		{"number lost", 1e20, schema.Number("100000000000000000001"), "want 100000000000000000001"},
		{"bytes", []byte{1}, []byte{1}, ""},
		{"bytes differ", []byte{1}, []byte{2}, "got [1]"},
		{"time", now.UTC(), now, ""},
		{"array", []any{int64(1), "a"}, []any{1.0, "a"}, ""},
		{"array is no object", []any{}, map[string]any{}, "got an array of 0 elements, want an object of 0 members"},
		{"shorter", []any{1.0}, []any{1.0, 2.0}, "has 1 elements, want 2"},
		{"element", []any{1.0, []any{"x"}}, []any{1.0, []any{"y"}}, `/1/0: got "x", want "y"`},
		{"missing", map[string]any{}, map[string]any{"a/b~": nil}, "/a~1b~0: is missing"},
		{"added", map[string]any{"a": nil, "b": nil}, map[string]any{"a": nil}, "has 2 members, want 1"},
		{"member", map[string]any{"a": []any{true}}, map[string]any{"a": []any{false}}, "/a/0: got true, want false"},
		{"long text is cut", strings.Repeat("é", 100), "x", "…, want"},
	} {
		got := Difference(tc.got, tc.want)
		if (got == "") != (tc.diff == "") || !strings.Contains(got, tc.diff) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.diff)
		}
	}
}

// documents makes documents of doubles, as encoding/json decodes them.
func documents() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		var v any
		text := rapid.Custom(func(t *rapid.T) string { return value(t, 3) }).Draw(t, "json")
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return v
	})
}

func value(t *rapid.T, depth int) string {
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case kind == 1 || depth == 0:
		b, _ := json.Marshal(rapid.Float64().Draw(t, "number") + 0) // no negative zero: it equals zero
		return string(b)
	case kind == 2:
		b, _ := json.Marshal(rapid.String().Draw(t, "string"))
		return string(b)
	case kind == 3:
		m := map[string]json.RawMessage{}
		for _, k := range rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "keys") {
			m[k] = json.RawMessage(value(t, depth-1))
		}
		b, _ := json.Marshal(m)
		return string(b)
	default:
		l := []json.RawMessage{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			l = append(l, json.RawMessage(value(t, depth-1)))
		}
		b, _ := json.Marshal(l)
		return string(b)
	}
}

// Two documents are equal exactly if their canonical JSON is.
func TestDifferenceAgreesWithJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents().Draw(t, "a"), documents().Draw(t, "b")
		ja, _ := json.Marshal(a)
		jb, _ := json.Marshal(b)
		if (Difference(a, b) == "") != (string(ja) == string(jb)) {
			t.Fatalf("%s and %s: %q", ja, jb, Difference(a, b))
		}
		if d := Difference(a, a); d != "" {
			t.Fatalf("%s differs from itself: %s", ja, d)
		}
	})
}

func TestEchoCallersShareTheDocumentOnly(t *testing.T) {
	w := Echo(&everywire.Document{Value: []any{int64(1)}})
	a, b := w.Caller(0, 0), w.Caller(0, 1)
	_, in, outA := a.Next()
	_, _, outB := b.Next()
	outA.(*everywire.Document).Value = in.(*everywire.Document).Value
	if wrong := a.Check(); wrong != "" {
		t.Error(wrong)
	}
	if outB.(*everywire.Document).Value != nil || b.Check() == "" {
		t.Error("the reply of one caller is seen by the other")
	}
}
