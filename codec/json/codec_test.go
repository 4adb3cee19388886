package json_test

import (
	"testing"

	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
)

func TestName(t *testing.T) {
	if got := (json.Codec{}).Name(); got != "json" {
		t.Errorf("Name() = %q, want json", got)
	}
}

func TestPosition(t *testing.T) {
	data := []byte("ab\ncé\nx")
	for _, tt := range []struct{ offset, line, column int }{
		{-1, 1, 1},
		{0, 1, 1},
		{2, 1, 3},
		{3, 2, 1},
		{6, 2, 3}, // after é, which is two bytes
		{7, 3, 1},
		{99, 3, 2},
	} {
		line, column := json.Position(data, tt.offset)
		if line != tt.line || column != tt.column {
			t.Errorf("Position(%d) = %d, %d, want %d, %d", tt.offset, line, column, tt.line, tt.column)
		}
	}
}

// What is not a message is an error and never a panic.
func TestNotAMessage(t *testing.T) {
	type s struct {
		A int `wire:"1"`
	}
	p := new(s)
	for _, msg := range []any{nil, 1, s{}, (*s)(nil), &p, (*schema.Document)(nil), new(int), map[string]any{}} {
		if b, err := (json.Codec{}).Append([]byte("x"), msg); err == nil || string(b) != "x" {
			t.Errorf("Append(%T) = %q, %v, want the slice as it was and an error", msg, b, err)
		}
		if err := (json.Codec{}).Decode([]byte("{}"), msg); err == nil {
			t.Errorf("Decode(%T): no error", msg)
		}
	}
}
