package json_test

import (
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire/schema"
)

// Nesting is allowed as deep as schema.MaxDepth says, for all kinds of
// messages, read and written, also where nobody wants the value.
func TestDepth(t *testing.T) {
	array := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	object := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	// Each level of these messages is an object and a list.
	plain := func(n int) string { return strings.Repeat(`{"r":[`, n/2) + strings.Repeat(`]}`, n/2) }
	rules := func(n int) string {
		return strings.Repeat(`{"additionalBindings":[`, n/2) + strings.Repeat(`]}`, n/2)
	}
	for _, tt := range []struct {
		name string
		msg  any
		text func(int) string
	}{
		{"document, arrays", new(schema.Document), array},
		{"document, objects", new(schema.Document), object},
		{"value, arrays", new(structpb.Value), array},
		{"value, objects", new(structpb.Value), object},
		{"plain", new(nested), plain},
		{"generated", new(annotations.HttpRule), rules},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := codec.Decode([]byte(tt.text(schema.MaxDepth)), tt.msg); err != nil {
				t.Fatal(err)
			}
			if _, err := codec.Append(nil, tt.msg); err != nil {
				t.Error("it was read but cannot be written:", err)
			}
			err := codec.Decode([]byte(tt.text(schema.MaxDepth+2)), tt.msg)
			if err == nil || !strings.Contains(err.Error(), "nested more than 500 deep") {
				t.Error(err)
			}
		})
	}
	if err := codec.Decode([]byte(`{"unknown":`+array(schema.MaxDepth)+`}`), new(nested)); err == nil {
		t.Error("an unknown member may nest deeper than the limit")
	}
}

// What a hostile peer sends is refused, at once and without a panic.
func TestHostile(t *testing.T) {
	const size = 64 << 10
	for name, text := range map[string]string{
		"brackets":         strings.Repeat("[", size),
		"braces":           strings.Repeat(`{"a":`, size/5),
		"unknown brackets": `{"x":` + strings.Repeat("[", size),
		"closing":          strings.Repeat("]", size),
		"commas":           `{"l":[` + strings.Repeat(",", size),
		"digits for int":   `{"l":[` + strings.Repeat("9", size),
		"exponent":         `{"l":[1e` + strings.Repeat("9", size),
		"zeros":            `{"l":[0.` + strings.Repeat("0", size) + "1",
		"open string":      `{"` + strings.Repeat("a", size),
		"backslashes":      `{"` + strings.Repeat(`\`, size+1),
		"escapes":          `{"` + strings.Repeat(`\u00`, size),
		"long wrong path":  `{"m":` + strings.Repeat(`{"`+strings.Repeat("a", 100)+`":`, 600),
		"zero bytes":       strings.Repeat("\x00", size),
		"white space":      strings.Repeat(" ", size),
	} {
		for _, msg := range []any{new(ints), new(nested), new(annotations.HttpRule)} {
			err := codec.Decode([]byte(text), msg)
			if err == nil {
				t.Errorf("%s into %T: no error", name, msg)
			} else if len(err.Error()) > 64<<10 {
				t.Errorf("%s into %T: an error of %d bytes", name, msg, len(err.Error()))
			}
		}
		_ = codec.Decode([]byte(text), new(schema.Document)) // some are documents: only a panic is wrong
	}
}

// Integers of any length are exact or refused; floats are as near as can be.
func TestLongNumbers(t *testing.T) {
	zeros := strings.Repeat("0", 100000)
	i := new(ints)
	if err := codec.Decode([]byte(`{"l":[12.`+zeros+`,12`+zeros+`e-100000,0.`+zeros+`12e100002]}`), i); err != nil {
		t.Fatal(err)
	}
	for k, n := range i.L {
		if n != 12 {
			t.Errorf("l[%d] = %d", k, n)
		}
	}
	d := new(schema.Document)
	digits := strings.Repeat("7", 100000)
	if err := codec.Decode([]byte(digits), d); err != nil || d.Value != schema.Number(digits) {
		t.Errorf("%v, %.40v", err, d.Value)
	}
	if b, err := codec.Append(nil, d); err != nil || string(b) != digits {
		t.Errorf("%v, %.40s", err, b)
	}
}

// Many callers at once, with types seen for the first time.
func TestConcurrent(t *testing.T) {
	type leaf struct {
		V []int64           `wire:"1"`
		M map[string]string `wire:"2"`
	}
	type root struct {
		Leaves []*leaf `wire:"1"`
		Again  *root   `wire:"2"`
	}
	const text = `{"leaves":[{"v":[1,2],"m":{"a":"b"}}],"again":{"leaves":[]}}`
	const rule = `{"selector":"","body":"","additionalBindings":[],"responseBody":"x"}`
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				r, h := new(root), new(annotations.HttpRule)
				if err := codec.Decode([]byte(text), r); err != nil {
					t.Error(err)
				}
				if b, err := codec.Append(nil, r); err != nil || string(b) != text {
					t.Errorf("%s, %v", b, err)
				}
				if err := codec.Decode([]byte(rule), h); err != nil {
					t.Error(err)
				}
				if b, err := codec.Append(nil, h); err != nil || string(b) != rule {
					t.Errorf("%s, %v", b, err)
				}
				_ = codec.Decode([]byte(`{"leaves":[{"v":[true]}]}`), r)
			}
		})
	}
	wg.Wait()
}
