package kv_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"sync"
	"testing"

	"github.com/everywire/everywire/service/kv"
)

// keyOf makes keys without an order.
func keyOf(i int) []byte {
	h := fnv.New64a()
	fmt.Fprint(h, i)
	return binary.BigEndian.AppendUint64([]byte("some prefix/"), h.Sum64())
}

// What a read costs, by the number of keys, beside the map that was not taken.
func BenchmarkRetrieve(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		keys := make([][]byte, n)
		s := kv.New(kv.Options{MaxBytes: 1 << 30})
		var m sync.Map
		for i := range keys {
			keys[i] = keyOf(i)
			create(b, s, string(keys[i]), "value")
			m.Store(string(keys[i]), &kv.Item{})
		}
		b.Run(fmt.Sprintf("keys=%d/tree", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.Retrieve(context.Background(), &kv.RetrieveRequest{Key: keys[i*7919%n]}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("keys=%d/sync.Map", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := m.Load(string(keys[i*7919%n])); !ok {
					b.Fatal("not there")
				}
			}
		})
	}
}

// What a change costs, by the number of keys.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		s := kv.New(kv.Options{MaxBytes: 1 << 30})
		for i := range n {
			create(b, s, string(keyOf(i)), "value")
		}
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.Update(context.Background(), &kv.UpdateRequest{Key: keyOf(i * 7919 % n), Value: []byte("value")}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
