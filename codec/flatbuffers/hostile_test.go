package flatbuffers

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire/internal/allocs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

// small has one field of each form.
type small struct {
	Flag  bool            `wire:"1"`
	Tiny  int8            `wire:"2"`
	Name  string          `wire:"3"`
	Longs []int64         `wire:"4"`
	Left  *small          `wire:"5"`
	All   []small         `wire:"6"`
	By    map[string]bool `wire:"7"`
	When  *time.Time      `wire:"8"`
	Blobs [][]byte        `wire:"9"`
	Any   any             `wire:"10"`
}

// slot is a buffer whose table has four bytes for the field in one slot, and
// what follows them.
func slot(n int, content string) string {
	vt := make([]byte, 4+2*(n+1))
	vt[0], vt[2], vt[4+2*n] = byte(len(vt)), 8, 4
	at := 4 + len(vt) // of the table
	pad := -at & 3
	b := append([]byte{byte(at + pad), 0, 0, 0}, vt...)
	b = append(b, make([]byte, pad)...)
	b = append(b, byte(len(vt)+pad), 0, 0, 0)
	return string(b) + content
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"nothing", "", "byte 0: 0 bytes are no buffer"},
		{"cut root", "\x04\x00\x00", "byte 0: 3 bytes are no buffer"},
		{"root beyond the end", "\x08\x00\x00\x00\x00\x00\x00\x00", "byte 0: the offset 8 leads beyond the end"},
		{"root of 0", "\x00\x00\x00\x00", "byte 0: an offset of 0"},
		{"vtable before the buffer", "\x04\x00\x00\x00\xff\x00\x00\x00", "byte 4: the vtable's offset leads out"},
		{"vtable behind the buffer", "\x04\x00\x00\x00\x00\x00\x00\x80", "byte 4: the vtable's offset leads out"},
		{"odd vtable", "\x08\x00\x00\x00\x05\x00\x04\x00\x04\x00\x00\x00", "byte 4: a vtable of 5 bytes"},
		{"short vtable", "\x08\x00\x00\x00\x02\x00\x04\x00\x04\x00\x00\x00", "byte 4: a vtable of 2 bytes"},
		{"long vtable", "\x08\x00\x00\x00\x0a\x00\x04\x00\x04\x00\x00\x00", "byte 4: a vtable of 10 bytes with 8 bytes left"},
		{"long table", "\x08\x00\x00\x00\x04\x00\x05\x00\x04\x00\x00\x00", "byte 8: a table of 5 bytes with 4 bytes left"},
		{"short table", "\x08\x00\x00\x00\x04\x00\x03\x00\x04\x00\x00\x00", "byte 8: a table of 3 bytes"},
		{"field beyond its table", "\x0c\x00\x00\x00\x06\x00\x04\x00\x04\x00\x00\x00\x08\x00\x00\x00", "byte 8: flag: the field is at byte 4 of a table of 4 bytes"},
		{"field before its table", "\x0c\x00\x00\x00\x06\x00\x08\x00\x03\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00", "flag: the field is at byte 3"},
		{"int8", slot(1, "\x80\x00\x00\x00"), "tiny: 128 is out of range for int8"},
		{"offset of 0", slot(2, "\x00\x00\x00\x00"), "name: an offset of 0"},
		{"offset beyond the end", slot(2, "\x04\x00\x00\x00\x00\x00\x00"), "name: the offset 4 leads beyond the end"},
		{"largest offset", slot(2, "\xff\xff\xff\xff\x00\x00\x00\x00"), "name: the offset 4294967295 leads beyond the end"},
		{"string beyond the end", slot(2, "\x04\x00\x00\x00\x02\x00\x00\x00a"), "name: a vector claims a length of 2 with 1 bytes left"},
		{"string without an end", slot(2, "\x04\x00\x00\x00\x01\x00\x00\x00a"), "name: the string does not end with a zero byte"},
		{"string that goes on", slot(2, "\x04\x00\x00\x00\x01\x00\x00\x00ab"), "name: the string does not end with a zero byte"},
		{"not UTF-8", slot(2, "\x04\x00\x00\x00\x01\x00\x00\x00\xff\x00"), "name: the string is not valid UTF-8"},
		{"vector beyond the end", slot(3, "\x04\x00\x00\x00\x02\x00\x00\x0012345678"), "longs: a vector claims a length of 2 with 8 bytes left"},
		{"largest vector", slot(3, "\x04\x00\x00\x00\xff\xff\xff\xff"), "longs: a vector claims a length of 4294967295"},
		{"an element that is none", slot(5, "\x04\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"), "all[0]: an offset of 0"},
		{"an entry that is none", slot(6, "\x04\x00\x00\x00\x01\x00\x00\x00\x09\x00\x00\x00"), "by[0]: the offset 9 leads beyond"},
		{"time cut off by its table", slot(7, "\x00\x00\x00\x00"), "when: the field is at byte 4 of a table of 8 bytes"},
		{"bytes in a list", slot(8, "\x04\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"), "blobs[0]: a vtable of 0 bytes"},
		{"document", slot(9, "\x04\x00\x00\x00\x01\x00\x00\x00{\x00"), "any: json: line 1 column 2"},
	} {
		err := Codec{}.Decode([]byte(tt.data), new(small))
		if err == nil || !strings.HasPrefix(err.Error(), "flatbuffers: byte ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\n got %v\nwant %s", tt.name, err, tt.want)
		}
	}
	twice := encode(t, &struct {
		By []entryOf `wire:"7"`
	}{[]entryOf{{"k", true}, {"k", false}}})
	if err := (Codec{}).Decode(twice, new(small)); err == nil || !strings.Contains(err.Error(), `by["k"]: the key occurs twice`) {
		t.Errorf("a key that occurs twice: %v", err)
	}
	year := encode(t, &struct {
		When *time.Time `wire:"8"`
	}{new(time.Time)})
	for i := range year {
		if bytes.HasPrefix(year[i:], []byte{0, 9, 0x6e, 0x88, 0xf1, 0xff, 0xff, 0xff}) { // -62135596800
			copy(year[i:], []byte{0xff, 8})
		}
	}
	if err := (Codec{}).Decode(year, new(small)); err == nil || !strings.Contains(err.Error(), "when: -62135596801 seconds") {
		t.Errorf("a time before the year 1: %v", err)
	}
}

// An entryOf is how the entries of small.By look.
type entryOf struct {
	Key   string `wire:"1"`
	Value bool   `wire:"2"`
}

func TestAppendErrors(t *testing.T) {
	circle := new(small)
	circle.Left = circle
	type large struct {
		A bool `wire:"4097"`
	}
	for _, tt := range []struct {
		msg  any
		want string
	}{
		{&small{All: []small{{}, {Name: "\xff"}}}, "flatbuffers: all[1].name: the string is not valid UTF-8"},
		{&small{By: map[string]bool{"\xff": true}}, "flatbuffers: by["},
		{&small{When: ptr(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))}, "flatbuffers: when: the time 10000-01-01T00:00:00Z"},
		{&small{Any: func() {}}, "flatbuffers: any: json: "},
		{&schematest.Wide{PartPs: []*schematest.Part{nil}}, "flatbuffers: partPs[0]: a nil pointer in a list or map"},
		{&schematest.Wide{PartPMap: map[int64]*schematest.Part{3: nil}}, `flatbuffers: partPMap["3"]: a nil pointer in a list or map`},
		{circle, "nested deeper than 500 levels"},
		{&large{}, "flatbuffers.large.A: the field number 4097 is above 4096"},
		{&timestamppb.Timestamp{}, "google.protobuf.Timestamp is generated from a .proto file"},
		{&struct {
			T *timestamppb.Timestamp `wire:"1"`
		}{}, ".T: "},
		{(*small)(nil), "the message is a nil *flatbuffers.small"},
		{small{}, "not a pointer"},
		{nil, "not a pointer"},
	} {
		got, err := Codec{}.Append([]byte("before"), tt.msg)
		if err == nil || !strings.HasPrefix(err.Error(), "flatbuffers: ") || !strings.Contains(err.Error(), tt.want) || string(got) != "before" {
			t.Errorf("%T: got %q, %v\nwant %s", tt.msg, got, err, tt.want)
		}
		if _, isCircle := tt.msg.(*small); tt.msg != nil && !isCircle && !strings.Contains(tt.want, "nil pointer") {
			if err := (Codec{}).Decode(nil, tt.msg); err == nil {
				t.Errorf("%T: decoded", tt.msg)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

// What is written can be read, at every depth; what nests deeper is refused when
// it is read, too.
func TestDepth(t *testing.T) {
	nest := func(n int) *small {
		m := &small{}
		for range n - 1 {
			m = &small{Left: m}
		}
		return m
	}
	decode[small](t, encode(t, nest(schema.MaxDepth)))
	if _, err := (Codec{}).Append(nil, nest(schema.MaxDepth+1)); err == nil {
		t.Error("501 levels were written")
	}
	for levels, want := range map[int]string{schema.MaxDepth: "", schema.MaxDepth + 1: "nested deeper than 500 levels"} {
		b := chain(4, levels-1, "\x04\x00\x00\x00")
		b = append(b, "\xfc\xff\xff\xff\x04\x00\x04\x00"...) // a table whose vtable, behind it, has no field
		if err := (Codec{}).Decode(b, new(small)); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}

// chain is a buffer of tables that each have the field in one slot, with an
// offset to what is repeated behind it.
func chain(n, tables int, field string) []byte {
	b := []byte(slot(n, ""))
	b = b[:len(b)-4] // without its table
	for range tables {
		vt := len(b) - 4
		b = append(b, byte(vt), byte(vt>>8), 0, 0)
		b = append(b, field...)
	}
	return b
}

// Offsets that share what they lead to are read so often as the bound says, and
// no more: 40 levels of vectors with two offsets to the next one each would be
// read 2^40 times.
func TestSharedTablesAreBounded(t *testing.T) {
	b := chain(5, 40, "\x04\x00\x00\x00"+"\x02\x00\x00\x00\x08\x00\x00\x00\x04\x00\x00\x00")
	b = append(b, "\xfc\xff\xff\xff\x04\x00\x04\x00"...) // a table whose vtable, behind it, has no field
	var err error
	n := allocs.Bytes(func() { err = Codec{}.Decode(b, new(small)) })
	if err == nil || !strings.Contains(err.Error(), "the offsets lead to the same bytes too often") {
		t.Errorf("%v", err)
	}
	if n > 4<<20 {
		t.Errorf("%d bytes were allocated for %d", n, len(b))
	}
}

// Whatever is cut off or changed is an error or a message, and no more memory
// than a multiple of it.
func TestSpoiled(t *testing.T) {
	whole := encode(t, schematest.Full())
	for n := range whole {
		if n < len(whole)-8 {
			if err := (Codec{}).Decode(whole[:n], new(schematest.Wide)); err == nil {
				t.Errorf("%d of %d bytes are a message", n, len(whole))
			}
		}
		changed := bytes.Clone(whole)
		changed[n] ^= 0xff
		_ = Codec{}.Decode(changed, new(schematest.Wide)) // it may be one
	}
}
