package capnp

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire/internal/allocs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

// small has one field of each form: a word of data, and eight pointers.
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

// segments is a message of segments of words.
func segments(all ...[]uint64) []byte {
	b := order.AppendUint32(nil, uint32(len(all)-1))
	for _, s := range all {
		b = order.AppendUint32(b, uint32(len(s)))
	}
	if len(all)%2 == 0 {
		b = append(b, 0, 0, 0, 0)
	}
	for _, s := range all {
		for _, w := range s {
			b = order.AppendUint64(b, w)
		}
	}
	return b
}

// The pointers. Offsets are in words from the word behind the pointer.

func structTo(offset, data, pointers int) uint64 {
	return uint64(uint32(offset<<2)) | uint64(data)<<32 | uint64(pointers)<<48
}

func listTo(offset, elements, n int) uint64 {
	return uint64(uint32(offset<<2|listPointer)) | uint64(n)<<35 | uint64(elements)<<32
}

func farTo(segment, offset int, double bool) uint64 {
	w := uint64(segment)<<32 | uint64(offset)<<3 | farPointer
	if double {
		w |= 4
	}
	return w
}

// with is a message of one segment: a small that has one pointer, and what
// follows it, from the eleventh word of the segment on.
func with(field int, pointer uint64, rest ...uint64) []byte {
	words := make([]uint64, 10, 10+len(rest))
	words[0] = structTo(0, 1, 8)
	words[2+field] = pointer
	return segments(append(words, rest...))
}

func TestDecodeErrors(t *testing.T) {
	const name, longs, left, all, by, when, blobs, doc = 0, 1, 2, 3, 4, 5, 6, 7
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "byte 0: 0 bytes are no message"},
		{"cut table", []byte{1, 0, 0, 0, 0, 0, 0, 0}, "byte 0: the input ends within the table of 2 segments"},
		{"too many segments", []byte{0, 2, 0, 0}, "byte 0: 513 segments"},
		{"most segments", []byte{255, 255, 255, 255}, "byte 0: 4294967296 segments"},
		{"cut segment", segments([]uint64{0})[:8], "byte 4: segment 0 claims 1 words with 0 bytes left"},
		{"half a word", append(segments([]uint64{0}), 0), "byte 16: 1 bytes after the end"},
		{"empty segment", segments(nil), "byte 8: the first segment is empty"},
		{"a list as the message", segments([]uint64{listTo(0, voidElements, 0)}), "byte 8: a list where a struct is needed"},
		{"a capability as the message", segments([]uint64{3}), "byte 8: a capability where a struct is needed"},
		{"struct beyond the end", segments([]uint64{structTo(0, 1, 0)}), "byte 8: a struct of 1 words is not in its segment"},
		{"struct before the beginning", segments([]uint64{structTo(-3, 1, 0), 0}), "byte 8: a struct of 1 words is not in its segment"},
		{"far beyond the segments", segments([]uint64{farTo(1, 0, false)}), "byte 8: the far pointer leads to segment 1 of 1"},
		{"far out of the segment", segments([]uint64{farTo(0, 1, false)}), "byte 8: the far pointer leads out of segment 0"},
		{"far to a far pointer", segments([]uint64{farTo(0, 0, false)}), "a far pointer at a far pointer's landing pad"},
		{"double far without a tag", segments([]uint64{farTo(0, 0, true)}), "byte 8: the far pointer leads out of segment 0"},
		{"double far to no far pointer", segments([]uint64{farTo(0, 1, true), 0, 0}), "byte 16: no far pointer at the double far pointer's landing pad"},
		{"double far with a far tag", segments([]uint64{farTo(0, 1, true), farTo(0, 0, false), farTo(0, 0, false)}), "byte 24: a far pointer as the tag"},
		{"double far out of the segment", segments([]uint64{farTo(0, 1, true), farTo(0, 3, false), structTo(0, 1, 0)}), "a struct of 1 words is not in its segment"},
		{"int8", segments([]uint64{structTo(0, 1, 0), 128 << 32}), "byte 20: tiny: 128 is out of range for int8"},
		{"text beyond the end", with(name, listTo(7, byteElements, 9), 0), "name: the list is not in its segment"},
		{"empty text", with(name, listTo(7, byteElements, 0)), "name: the text does not end with a zero byte"},
		{"text without an end", with(name, listTo(7, byteElements, 1), 'a'), "name: the text does not end with a zero byte"},
		{"not UTF-8", with(name, listTo(7, byteElements, 2), 0xff), "name: the string is not valid UTF-8"},
		{"a struct as text", with(name, structTo(7, 1, 0), 0), "name: a struct where a list is needed"},
		{"words as text", with(name, listTo(7, eightByteElements, 1), 0), "name: a list of other elements where bytes are needed"},
		{"list beyond the end", with(longs, listTo(6, eightByteElements, 2), 0), "longs: the list is not in its segment"},
		{"largest list", with(longs, listTo(6, eightByteElements, maxList), 0), "longs: the list is not in its segment"},
		{"narrow list", with(longs, listTo(6, fourByteElements, 2), 0), "longs: a list of other elements where ones of 64 bits are needed"},
		{"list of nothing", with(longs, listTo(6, voidElements, 2)), "longs: a list of other elements"},
		{"bits as structs", with(all, listTo(4, bitElements, 2), 0), "all: a list of bits where structs are needed"},
		{"tag that is none", with(all, listTo(4, compositeElements, 1), 1, 0), "all: the tag of a list of 1 words claims 0 structs"},
		{"tag that claims too much", with(all, listTo(4, compositeElements, 1), structTo(2, 1, 0), 0), "all: the tag of a list of 1 words claims 2 structs of 1 words"},
		{"list of structs beyond the end", with(all, listTo(4, compositeElements, 1), structTo(1, 1, 0)), "all: the list is not in its segment"},
		{"in an element", with(all, listTo(4, compositeElements, 2), structTo(2, 0, 1), listTo(1, byteElements, 2), 0, 'x'<<8|'x'), "all[0].name: the text does not end"},
		{"in an entry", with(by, listTo(3, compositeElements, 1), structTo(1, 0, 1), listTo(0, byteElements, 2), 'x'<<8|'x'), "by: the text does not end"},
		{"the same key", with(by, listTo(3, compositeElements, 2), structTo(2, 0, 1), 0, 0), `by[""]: the key occurs twice`},
		{"no time", with(when, structTo(2, 2, 0), 0, 1e9), "when: 0 seconds and 1000000000 nanoseconds since 1970 are not"},
		{"numbers as pointers", with(blobs, listTo(1, eightByteElements, 1), 0), "blobs: a list of elements without pointers"},
		{"bytes in a list", with(blobs, listTo(1, pointerElements, 1), listTo(0, byteElements, 1)), "blobs[0]: the list is not in its segment"},
		{"document", with(doc, listTo(0, byteElements, 2), '{'), "any: json: line 1 column 2"},
		{"an unknown kind", with(left, 3), "left: a capability where a struct is needed"},
	} {
		err := Codec{}.Decode(tt.data, new(small))
		if err == nil || !strings.HasPrefix(err.Error(), "capnp: byte ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\n got %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

// What other writers may write: sections of other sizes, and lists whose
// elements have become structs, or were none yet.
func TestDecodeOtherVersions(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		want small
	}{
		{"null", segments([]uint64{0}), small{}},
		{"no sections", segments([]uint64{structTo(-1, 0, 0)}), small{}},
		{"no pointers", segments([]uint64{structTo(0, 1, 0), 5<<32 | 1}), small{Flag: true, Tiny: 5}},
		{"further fields", segments([]uint64{structTo(0, 2, 9), 5<<32 | 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 3}), small{Flag: true, Tiny: 5}},
		{"the root in another segment", segments([]uint64{farTo(1, 1, false)}, []uint64{9, structTo(0, 1, 0), 1}), small{Flag: true}},
		{"the root's landing pad in another one", segments([]uint64{farTo(1, 0, true)}, []uint64{farTo(2, 1, false), structTo(0, 1, 0)}, []uint64{9, 1}), small{Flag: true}},
		{"numbers in structs", with(1, listTo(6, compositeElements, 4), structTo(2, 1, 1), 7, 0, 8, 0), small{Longs: []int64{7, 8}}},
		{"structs that were numbers", with(3, listTo(4, fourByteElements, 2), 1<<32), small{All: []small{{}, {Flag: true}}}},
		{"structs that were texts", with(3, listTo(4, pointerElements, 1), listTo(0, byteElements, 2), 'x'), small{All: []small{{Name: "x"}}}},
		{"structs that were nothing", with(3, listTo(4, voidElements, 2)), small{All: []small{{}, {}}}},
		{"structs without content", with(3, listTo(4, compositeElements, 0), structTo(2, 0, 0)), small{All: []small{{}, {}}}},
		{"a time without nanoseconds", with(5, structTo(2, 1, 0), 7), small{When: ptr(time.Unix(7, 0).UTC())}},
		{"a struct behind its content", with(2, structTo(-4, 1, 0)), small{Left: &small{}}},
	} {
		if diff := cmp.Diff(&tt.want, decode[small](t, tt.data), schematest.Equal); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
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
		{&small{All: []small{{}, {Name: "\xff"}}}, "capnp: all[1].name: the string is not valid UTF-8"},
		{&small{By: map[string]bool{"\xff": true}}, "capnp: by["},
		{&small{When: ptr(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))}, "capnp: when: the time 10000-01-01T00:00:00Z"},
		{&small{Any: func() {}}, "capnp: any: json: "},
		{&schematest.Wide{PartPs: []*schematest.Part{nil}}, "capnp: partPs[0]: a nil pointer in a list or map"},
		{&schematest.Wide{PartPMap: map[int64]*schematest.Part{3: nil}}, `capnp: partPMap["3"]: a nil pointer in a list or map`},
		{circle, "nested deeper than 500 levels"},
		{&large{}, "capnp.large.A: the field number 4097 is above 4096"},
		{&timestamppb.Timestamp{}, "google.protobuf.Timestamp is generated from a .proto file"},
		{&struct {
			T *timestamppb.Timestamp `wire:"1"`
		}{}, ".T: "},
		{(*small)(nil), "the message is a nil *capnp.small"},
		{small{}, "not a pointer"},
		{nil, "not a pointer"},
	} {
		got, err := Codec{}.Append([]byte("before"), tt.msg)
		if err == nil || !strings.HasPrefix(err.Error(), "capnp: ") || !strings.Contains(err.Error(), tt.want) || string(got) != "before" {
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

// What is written can be read, at every depth; a circle of pointers, which is as
// deep as one likes, is refused.
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
	circle := with(2, structTo(-4, 1, 8), make([]uint64, 1000)...) // the struct itself
	if err := (Codec{}).Decode(circle, new(small)); err == nil || !strings.Contains(err.Error(), "nested deeper than 500 levels") {
		t.Errorf("a circle: %v", err)
	}
	// In a short message the bound on what is read comes first.
	if err := (Codec{}).Decode(with(2, structTo(-4, 1, 8)), new(small)); err == nil || !strings.Contains(err.Error(), "the pointers lead to more than the message has") {
		t.Errorf("a short circle: %v", err)
	}
}

// Short messages that claim to be large ones.
func TestAmplification(t *testing.T) {
	for name, data := range map[string][]byte{
		"structs without content": with(3, listTo(4, compositeElements, 0), structTo(maxList, 0, 0)),
		"nothings":                with(3, listTo(4, voidElements, maxList)),
		"entries without content": with(4, listTo(3, compositeElements, 0), structTo(maxList, 0, 0)),
		"bytes as structs":        with(3, listTo(4, byteElements, 8*6000), make([]uint64, 6000)...),
	} {
		var err error
		n := allocs.Bytes(func() { err = Codec{}.Decode(data, new(small)) })
		if err == nil && name != "bytes as structs" { // a word is counted for each of these
			t.Errorf("%s: a message of %d bytes was read", name, len(data))
		}
		if n > 16<<20 {
			t.Errorf("%s: %d bytes were allocated for %d", name, n, len(data))
		}
	}
}

// Two pointers of each struct lead to the same one, 40 levels deep, which would
// be read 2^40 times.
func TestSharedStructsAreBounded(t *testing.T) {
	type pair struct {
		Left  *pair `wire:"1"`
		Right *pair `wire:"2"`
	}
	words := []uint64{structTo(0, 0, 2)}
	for range 40 {
		words = append(words, structTo(1, 0, 2), structTo(0, 0, 2))
	}
	data := segments(append(words, 0, 0))
	var err error
	n := allocs.Bytes(func() { err = Codec{}.Decode(data, new(pair)) })
	if err == nil || !strings.Contains(err.Error(), "the pointers lead to more than the message has") {
		t.Errorf("%v", err)
	}
	if n > 4<<20 {
		t.Errorf("%d bytes were allocated for %d", n, len(data))
	}
}

// Whatever is cut off is an error, and whatever is changed an error or a message.
func TestSpoiled(t *testing.T) {
	whole := encode(t, schematest.Full())
	for n := range whole {
		if err := (Codec{}).Decode(whole[:n], new(schematest.Wide)); err == nil {
			t.Errorf("%d of %d bytes are a message", n, len(whole))
		}
		changed := bytes.Clone(whole)
		changed[n] ^= 0xff
		_ = Codec{}.Decode(changed, new(schematest.Wide)) // it may be one
	}
}
