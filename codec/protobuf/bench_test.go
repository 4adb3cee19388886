package protobuf

import (
	"testing"

	"github.com/everywire/everywire/schema"
)

type ints struct {
	Numbers []int64 `wire:"1"`
}

func BenchmarkInts(b *testing.B) {
	msg, out := &ints{Numbers: []int64{1, 300, 70000}}, new(ints)
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		data, err := Codec{}.Append(buf, msg)
		if err == nil {
			err = Codec{}.Decode(data, out)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList is a list of messages with a string each.
func BenchmarkList(b *testing.B) {
	msg := &all{}
	for range 100 {
		msg.Leaves = append(msg.Leaves, leaf{Name: "a name of some length", Count: 1})
	}
	data, err := Codec{}.Append(nil, msg)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		buf := make([]byte, 0, 2*len(data))
		for b.Loop() {
			if _, err := (Codec{}).Append(buf, msg); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		out := new(all)
		for b.Loop() {
			if err := (Codec{}).Decode(data, out); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDocument(b *testing.B) {
	list := make([]any, 0, 1000)
	for i := range 1000 {
		list = append(list, map[string]any{"id": i, "name": "a name of some length", "tags": []any{"a", "b"}, "score": 0.5})
	}
	data, err := Codec{}.Append(nil, &schema.Document{Value: list})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var doc schema.Document
	for b.Loop() {
		if err := (Codec{}).Decode(data, &doc); err != nil {
			b.Fatal(err)
		}
	}
}
