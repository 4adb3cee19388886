package thrift_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/everywire/everywire/codec/thrift"
	"github.com/everywire/everywire/internal/allocs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

// A few bytes must not make the decoder reserve memory for what they claim.
func TestHostileClaims(t *testing.T) {
	for name, c := range map[string]struct {
		codec thrift.Codec
		data  string
	}{
		"string":                 {thrift.Binary, "0b 0028 7fffffff"},
		"binary":                 {thrift.Binary, "0b 0030 7fffffff"},
		"list of bools":          {thrift.Binary, "0f 0003 02 7fffffff"},
		"list of i64":            {thrift.Binary, "0f 000c 0a 7fffffff"},
		"list of structs":        {thrift.Binary, "0f 0048 0c 7fffffff"},
		"map":                    {thrift.Binary, "0d 0004 02 08 7fffffff"},
		"unknown list":           {thrift.Binary, "0f 0200 0a 7fffffff"},
		"unknown list of lists":  {thrift.Binary, "0f 0200 0f 7fffffff"},
		"unknown map":            {thrift.Binary, "0d 0200 0a 0a 7fffffff"},
		"compact string":         {thrift.Compact, "08 50 ffffffff0f"},
		"compact list of bools":  {thrift.Compact, "09 06 f1 ffffffff0f"},
		"compact list of i64":    {thrift.Compact, "09 18 f6 ffffffff0f"},
		"compact beyond 64 bits": {thrift.Compact, "09 18 f6 ffffffffffffffffff01"},
		"compact structs":        {thrift.Compact, "09 9001 fc ffffffff0f"},
		"compact map":            {thrift.Compact, "0b 08 ffffffff0f 15"},
		"compact unknown list":   {thrift.Compact, "09 8008 f6 ffffffff0f"},
	} {
		data, msg := unhex(t, c.data), new(schematest.Wide)
		if err := c.codec.Decode([]byte{0}, msg); err != nil { // plans are made once
			t.Fatal(err)
		}
		got := allocs.Bytes(func() {
			if err := c.codec.Decode(data, msg); err == nil || !strings.Contains(err.Error(), "a length or count of") {
				t.Errorf("%s: %v", name, err)
			}
		})
		if got > 64<<10 {
			t.Errorf("%s: %d bytes allocated for %d bytes of input", name, got, len(data))
		}
	}
}

func TestDepth(t *testing.T) {
	deep := func(n int) *schematest.Wide {
		var w *schematest.Wide
		for range n {
			w = &schematest.Wide{Self: w}
		}
		return w
	}
	tests := []struct {
		name string
		try  func(c thrift.Codec, n int) error // n levels
	}{
		{"encode", func(c thrift.Codec, n int) error { // the part in the innermost one, and its labels, are levels too
			_, err := c.Append(nil, deep(n-2))
			return err
		}},
		{"decode", func(c thrift.Codec, n int) error {
			level := "\x0c\x00\x5a" // the field self
			if c == thrift.Compact {
				level = "\x0c\xb4\x01"
			}
			return c.Decode(append(bytes.Repeat([]byte(level), n-1), make([]byte, n)...), new(schematest.Wide))
		}},
		{"skip structs", func(c thrift.Codec, n int) error {
			level := "\x0c\x02\x00"
			if c == thrift.Compact {
				level = "\x0c\x80\x08"
			}
			return c.Decode(append(bytes.Repeat([]byte(level), n-1), make([]byte, n)...), new(schematest.Wide))
		}},
		{"skip lists", func(c thrift.Codec, n int) error {
			head, level := "\x0f\x02\x00", "\x0f\x00\x00\x00\x01"
			if c == thrift.Compact {
				head, level = "\x09\x80\x08", "\x19"
			}
			data := append([]byte(head), bytes.Repeat([]byte(level), n-2)...)
			return c.Decode(append(data, make([]byte, len(level)+1)...), new(schematest.Wide))
		}},
	}
	for _, tt := range tests {
		for _, c := range []thrift.Codec{thrift.Binary, thrift.Compact} {
			if err := tt.try(c, schema.MaxDepth); err != nil {
				t.Errorf("%s by %s: %d levels: %v", tt.name, c.Name(), schema.MaxDepth, err)
			}
			for _, n := range []int{schema.MaxDepth + 1, 1 << 16} {
				if err := tt.try(c, n); err == nil || !strings.Contains(err.Error(), "nested deeper than 500 levels") || len(err.Error()) > 400 {
					t.Errorf("%s by %s: %d levels: %v", tt.name, c.Name(), n, err)
				}
			}
		}
	}
}

// Every cut of a message, and every changed byte, is read or refused.
func TestTruncated(t *testing.T) {
	number := int64(7)
	msg := &schematest.Wide{Text: "text", LongP: &number, Longs: []int64{1, 2}, TextMap: map[string]string{"a": "b"}, Parts: []schematest.Part{{Named: "n"}}, Self: &schematest.Wide{}}
	for _, c := range []thrift.Codec{thrift.Binary, thrift.Compact} {
		data, err := c.Append(nil, msg)
		if err != nil {
			t.Fatal(err)
		}
		var got schematest.Wide
		for n := range data {
			if err := c.Decode(data[:n:n], &got); err == nil {
				t.Errorf("%s: %d bytes of %d are read", c.Name(), n, len(data))
			}
		}
	}
}

// What is read is written and read again as the same, and no input does harm.
func FuzzDecode(f *testing.F) {
	number := int64(7)
	for _, c := range []thrift.Codec{thrift.Binary, thrift.Compact} {
		for _, msg := range []*schematest.Wide{{}, {LongP: &number, Flags: []bool{true}, Texts: []string{"a"}, Any: []any{int64(1)}, PartMap: map[string]schematest.Part{"x": {}}, Self: &schematest.Wide{}}} {
			data, err := c.Append(nil, msg)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(c), data)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		c := thrift.Codec(which % 2)
		var first, second schematest.Wide
		if err := c.Decode(data, &first); err != nil {
			return
		}
		written, err := c.Append(nil, &first)
		if err != nil {
			t.Fatalf("%v\n%+v", err, first)
		}
		if err := c.Decode(written, &second); err != nil {
			t.Fatalf("%v\n%x", err, written)
		}
		again, err := c.Append(nil, &second)
		if err != nil || !bytes.Equal(written, again) {
			t.Fatalf("%v\n%x\n%x", err, written, again)
		}
	})
}
