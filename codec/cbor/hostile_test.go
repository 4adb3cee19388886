package cbor

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire/internal/allocs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// A few bytes must not make the decoder reserve memory for what they claim.
func TestHostileClaims(t *testing.T) {
	claims := map[string]string{
		"array":            "\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
		"half the array":   "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",
		"map":              "\xbb\xff\xff\xff\xff\xff\xff\xff\xff",
		"half the map":     "\xbb\x80\x00\x00\x00\x00\x00\x00\x00", // twice as many items are none in 64 bits
		"text":             "\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
		"bytes":            "\x5a\xff\xff\xff\xff",
		"bignum":           "\xc2\x5b\xff\xff\xff\xff\xff\xff\xff\xff",
		"a part":           "\x5f\x5b\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"in an open array": "\x9f\x9b\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	}
	targets := map[string]func() any{
		"document": func() any { return new(schema.Document) },
		"plain":    func() any { return new(all) },
		"proto":    func() any { return new(probepb.RunRequest) },
		"value":    func() any { return new(structpb.Value) },
	}
	for name, claim := range claims {
		for target, newMsg := range targets {
			for _, key := range []string{"", "ints", "leaves", "any", "byInt", "unknown", "str", "bytes", "numbers", "labels", "payload", "tree", "i64"} {
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
	level := appendArrayHeader(nil, size) // and so many bytes do follow
	data := append(bytes.Repeat(level, schema.MaxDepth-1), bytes.Repeat([]byte{0x1c}, size)...)
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

// nested returns n arrays around null; open ones have no definite length.
func nested(n int) []byte { return append(bytes.Repeat([]byte{0x81}, n), simpleNull) }

func nestedOpen(n int) []byte {
	return append(append(bytes.Repeat([]byte{0x9f}, n), simpleNull), bytes.Repeat([]byte{0xff}, n)...)
}

func TestDepth(t *testing.T) {
	for _, tt := range []struct {
		name string
		try  func(n int) error // n levels
	}{
		{"a document", func(n int) error { return Codec{}.Decode(nested(n), new(schema.Document)) }},
		{"a document of open arrays", func(n int) error { return Codec{}.Decode(nestedOpen(n), new(schema.Document)) }},
		{"a struct", func(n int) error {
			return Codec{}.Decode(append(bytes.Repeat(appendString([]byte{0xa1}, "next"), n-1), 0xa0), new(leaf))
		}},
		{"a Value", func(n int) error { return Codec{}.Decode(nested(n), new(structpb.Value)) }},
	} {
		if err := tt.try(schema.MaxDepth); err != nil {
			t.Errorf("%s: %d levels: %v", tt.name, schema.MaxDepth, err)
		}
		for _, n := range []int{schema.MaxDepth + 1, 1 << 16} {
			if err := tt.try(n); err == nil || !strings.Contains(err.Error(), "nested deeper than 500 levels") || len(err.Error()) > 300 {
				t.Errorf("%s: %d levels: %v", tt.name, n, err)
			}
		}
	}
	// What is skipped uses no stack, and neither do tags.
	if err := (Codec{}).Decode(one("unknown", string(nested(1<<20))), new(leaf)); err != nil {
		t.Error(err)
	}
	tags := append(bytes.Repeat([]byte{0xd8, 0x20}, 1<<20), 0x61, 'a')
	for _, key := range []string{"name", "unknown"} {
		if err := (Codec{}).Decode(one(key, string(tags)), new(leaf)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := (Codec{}).Decode(append([]byte{0x9f}, append(tags, 0xff)...), new(schema.Document)); err != nil {
		t.Error(err)
	}
}

// An item of indefinite length within another is looked at twice, however deep
// it is.
func TestIndefiniteIsLinear(t *testing.T) {
	const levels = schema.MaxDepth - 1
	data := bytes.Repeat([]byte{0x9f}, levels)
	data = append(data, bytes.Repeat([]byte{0x5f, 0x41, 1, 0xff}, 1<<18)...)
	data = append(data, bytes.Repeat([]byte{0xff}, levels)...)
	got := allocs.Bytes(func() {
		out, err := definite(data)
		if err != nil || len(out) >= len(data) {
			t.Errorf("%d bytes of %d, %v", len(out), len(data), err)
		}
	})
	if got > 20*uint64(len(data)) {
		t.Errorf("%d bytes allocated for %d bytes of input", got, len(data))
	}
}
