package avro_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/everywire/everywire/codec/avro"
	"github.com/everywire/everywire/internal/allocs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

type lists struct {
	Longs []int64               `wire:"1"`
	Parts []schematest.Part     `wire:"2"`
	Map   map[string]int32      `wire:"3"`
	Text  string                `wire:"4"`
	Empty []*schematest.Nothing `wire:"5"`
	More  []struct {
		Empty []schematest.Nothing `wire:"1"`
	} `wire:"6"`
}

// without is a message of the same name that knows none of its fields.
type without struct {
	_ struct{} `wire:"name=avro_test.lists"`
}

// A few bytes must not make the decoder reserve memory for what they claim, nor
// work for it, whether it reads them or passes over them.
func TestHostileClaims(t *testing.T) {
	const most = "feffffffffffffffff01" // the largest long
	skips := mustNew(t, string(textOf(t, new(lists))))
	for name, c := range map[string]struct{ datum, want string }{
		"longs":           {most, "a block of 9223372036854775807 items"},
		"five bytes":      {"feffffff0f", "a block of 2147483647 items"},
		"sized block":     {"ffffffffffffffffff01 00", "a block of too many items"},
		"size":            {"03 feffffff0f", "a block of 2147483647 bytes"},
		"negative size":   {"03 01", "a block of -1 bytes"},
		"records":         {"00" + most, "a block of 9223372036854775807 items"},
		"map":             {"00 00" + most, "a block of 9223372036854775807 items"},
		"string":          {"00 00 00" + most, "a length of 9223372036854775807"},
		"empty":           {"00 00 00 00" + most, "more than 65536 items that take no bytes"},
		"empty in blocks": {"00 00 00 00 808008 02", "more than 65536 items that take no bytes"},
		"empty in lists":  {"00 00 00 00 00 04 808008 00 808008 00", "more than 65536 items that take no bytes"},
	} {
		data := framed(t, new(lists), c.datum)
		for kind, msg := range map[string]any{"read": new(lists), "skipped": new(without)} {
			if err := skips.Decode(framed(t, new(lists), "00 00 00 00 00 00"), msg); err != nil { // plans are made once
				t.Fatal(err)
			}
			got := allocs.Bytes(func() {
				if err := skips.Decode(data, msg); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, %s: %v, want %q", name, kind, err, c.want)
				}
			})
			if got > 4<<20 { // 65536 pointers to nothing are half of a MiB, and grow there in steps
				t.Errorf("%s, %s: %d bytes allocated for %d bytes of input", name, kind, got, len(data))
			}
		}
	}
}

type chain struct {
	Next  *chain   `wire:"1"`
	Nexts []*chain `wire:"2"`
}

type noChain struct {
	_ struct{} `wire:"name=avro_test.chain"`
}

func TestDepth(t *testing.T) {
	skips := mustNew(t, string(textOf(t, new(chain))))
	deep := func(n int) *chain {
		var c *chain
		for range n {
			c = &chain{Next: c}
		}
		return c
	}
	// The innermost record has a list, which is a level.
	datum := func(n int) string { return strings.Repeat("02", n-2) + strings.Repeat("00", n) }
	for _, tt := range []struct {
		name string
		try  func(n int) error // n levels
	}{
		{"encode", func(n int) error { _, err := avro.Codec{}.Append(nil, deep(n-1)); return err }},
		{"decode", func(n int) error { return avro.Codec{}.Decode(framed(t, new(chain), datum(n)), new(chain)) }},
		{"skip", func(n int) error { return skips.Decode(framed(t, new(chain), datum(n)), new(noChain)) }},
		{"decode lists", func(n int) error {
			data := strings.Repeat("0002", n/2-1) + "0000" + strings.Repeat("00", n/2-1)
			if n%2 == 1 { // one more level is one more pair
				data = "0002" + data + "00"
			}
			return avro.Codec{}.Decode(framed(t, new(chain), data), new(chain))
		}},
	} {
		if err := tt.try(schema.MaxDepth); err != nil {
			t.Errorf("%s: %d levels: %v", tt.name, schema.MaxDepth, err)
		}
		for _, n := range []int{schema.MaxDepth + 1, 1 << 16} {
			if err := tt.try(n); err == nil || !strings.Contains(err.Error(), "nested deeper than 500 levels") || len(err.Error()) > 400 {
				t.Errorf("%s: %d levels: %v", tt.name, n, err)
			}
		}
	}
}

func TestTruncated(t *testing.T) {
	number := int64(7)
	msg := &schematest.Wide{Text: "text", LongP: &number, Longs: []int64{1, 2}, TextMap: map[string]string{"a": "b"}, Parts: []schematest.Part{{Named: "n"}}, Self: &schematest.Wide{}}
	data, err := avro.Codec{}.Append(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if err := (avro.Codec{}).Decode(data[:n:n], new(schematest.Wide)); err == nil {
			t.Errorf("%d bytes of %d are read", n, len(data))
		}
	}
}

// What is read is written and read again as the same, and no input does harm.
func FuzzDecode(f *testing.F) {
	number := int64(7)
	for _, msg := range []*schematest.Wide{{}, {LongP: &number, Flags: []bool{true}, Texts: []string{"a"}, Any: []any{int64(1)}, PartMap: map[string]schematest.Part{"x": {}}, Self: &schematest.Wide{}}} {
		data, err := avro.Codec{}.Append(nil, msg)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[10:])
	}
	header := framed(f, new(schematest.Wide), "")
	f.Fuzz(func(t *testing.T, datum []byte) {
		var first, second schematest.Wide
		if err := (avro.Codec{}).Decode(append(header[:10:10], datum...), &first); err != nil {
			return
		}
		written, err := avro.Codec{}.Append(nil, &first)
		if err != nil {
			t.Fatalf("%v\n%+v", err, first)
		}
		if err := (avro.Codec{}).Decode(written, &second); err != nil {
			t.Fatalf("%v\n%x", err, written)
		}
		again, err := avro.Codec{}.Append(nil, &second)
		if err != nil || !bytes.Equal(written, again) {
			t.Fatalf("%v\n%x\n%x", err, written, again)
		}
	})
}
