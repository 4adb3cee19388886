package flatbuffers

import (
	"testing"

	"github.com/everywire/everywire/service/kv"
)

// The messages of a store: a value of 64 KiB is copied once either way.
func BenchmarkKV(b *testing.B) {
	msg := &kv.CreateRequest{Key: make([]byte, 16), Value: make([]byte, 64<<10)}
	data := encode(b, msg)
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
		for b.Loop() {
			if err := (Codec{}).Decode(data, new(kv.CreateRequest)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
