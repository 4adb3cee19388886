package msgpack

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/everywire/everywire/internal/allocs"
	"github.com/everywire/everywire/schema"
)

// A few bytes must not make the decoder reserve memory for what they claim.
func TestHostileClaims(t *testing.T) {
	claims := map[string]string{
		"array":  "\xdd\xff\xff\xff\xff",
		"map":    "\xdf\xff\xff\xff\xff",
		"string": "\xdb\xff\xff\xff\xff",
		"bin":    "\xc6\xff\xff\xff\xff",
		"ext":    "\xc9\xff\xff\xff\xff\xff",
	}
	targets := map[string]func() any{
		"document": func() any { return new(schema.Document) },
		"plain":    func() any { return new(all) },
		"proto":    func() any { return dynamicpb.NewMessage(kindsDesc) },
	}
	for name, claim := range claims {
		for target, newMsg := range targets {
			for _, key := range []string{"", "ints", "leaves", "anys", "any", "byInt", "list", "value", "unknown", "str", "bytes", "data"} {
				data := []byte(claim)
				if key != "" {
					data = one(key, claim)
				}
				msg := newMsg()
				_ = Codec{}.Decode(data, msg) // plans are made once
				got := allocs.Bytes(func() {
					if err := (Codec{}).Decode(data, msg); err == nil {
						t.Errorf("%s %s %q: no error", target, name, key)
					}
				})
				if got > 64<<10 {
					t.Errorf("%s %s %q: %d bytes allocated for %d bytes of input", target, name, key, got, len(data))
				}
			}
		}
	}
}

// The same bytes may be claimed by an array on every level.
func TestHostileNestedClaims(t *testing.T) {
	const size = 1 << 20
	level := AppendArrayHeader(nil, size) // and so many bytes do follow
	data := append(bytes.Repeat(level, schema.MaxDepth-1), bytes.Repeat([]byte{formatUnused}, size)...)
	got := allocs.Bytes(func() {
		var doc schema.Document
		if err := (Codec{}).Decode(data, &doc); err == nil {
			t.Error("no error")
		}
	})
	if got > uint64(len(data)) {
		t.Errorf("%d bytes allocated for %d bytes of input", got, len(data))
	}
}

func TestDepth(t *testing.T) {
	nestedMaps := func(n int, inner string) []byte {
		return append(bytes.Repeat(AppendString([]byte{0x81}, "next"), n), inner...)
	}
	deepDoc := func(n int) *schema.Document {
		var v any
		for range n {
			v = []any{v}
		}
		return &schema.Document{Value: v}
	}
	deepLeaf := func(n int) *leaf {
		var l *leaf
		for range n {
			l = &leaf{Next: l}
		}
		return l
	}
	tests := []struct {
		name string
		try  func(n int) error // n levels
	}{
		{"decode a document", func(n int) error { return Codec{}.Decode(nested(n), new(schema.Document)) }},
		{"decode a struct", func(n int) error { return Codec{}.Decode(nestedMaps(n-1, "\x80"), new(leaf)) }},
		{"decode a generated message", func(n int) error {
			return Codec{}.Decode(append(bytes.Repeat(AppendString([]byte{0x81}, "kinds"), n-1), 0x80), dynamicpb.NewMessage(kindsDesc))
		}},
		{"decode a Value", func(n int) error {
			return Codec{}.Decode(one("value", string(nested(n-1))), dynamicpb.NewMessage(kindsDesc))
		}},
		{"encode a document", func(n int) error { _, err := Codec{}.Append(nil, deepDoc(n)); return err }},
		{"encode a struct", func(n int) error { _, err := Codec{}.Append(nil, deepLeaf(n)); return err }},
	}
	for _, tt := range tests {
		if err := tt.try(schema.MaxDepth); err != nil {
			t.Errorf("%s: %d levels: %v", tt.name, schema.MaxDepth, err)
		}
		if err := tt.try(schema.MaxDepth + 1); err == nil || !strings.Contains(err.Error(), "nested deeper than 500 levels") {
			t.Errorf("%s: %d levels: %v", tt.name, schema.MaxDepth+1, err)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", tt.name, len(err.Error()))
		}
		if err := tt.try(1 << 16); err == nil {
			t.Errorf("%s: no error for 65536 levels", tt.name)
		}
	}
	// What is skipped uses no stack.
	if err := (Codec{}).Decode(one("unknown", string(nested(1<<20))), new(leaf)); err != nil {
		t.Error(err)
	}
}

// Nested Any messages whose type comes last must not be read over and over.
func TestHostileAny(t *testing.T) {
	const url = "type.googleapis.com/google.protobuf.Any"
	var data []byte
	data = append(data, 0x80)
	for range 200 {
		outer := AppendMapHeader(nil, 2)
		outer = append(AppendString(outer, "value"), data...)
		data = AppendString(AppendString(outer, "@type"), url)
	}
	err := Codec{}.Decode(one("any", string(data)), dynamicpb.NewMessage(kindsDesc))
	if err == nil || !strings.Contains(err.Error(), "too many google.protobuf.Any") {
		t.Errorf("got %v", err)
	}
}
