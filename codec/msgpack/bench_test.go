package msgpack

import (
	"testing"

	"github.com/everywire/everywire/schema"
)

func BenchmarkPlain(b *testing.B) {
	msg := full()
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
		var out all
		for b.Loop() {
			if err := (Codec{}).Decode(data, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDocument(b *testing.B) {
	var list []any
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

func BenchmarkScan(b *testing.B) {
	data, err := Codec{}.Append(nil, full())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	var s ScanState
	for b.Loop() {
		if n, err := Scan(data, &s, len(data)); n != len(data) {
			b.Fatal(n, err)
		}
	}
}
