package codecs

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/everywire/everywire/bench/codecs/widepb"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/arith/arithpb"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/kv/kvpb"
)

// A twin is one message as a plain struct and as a generated type, which is made
// of the plain one's bytes.
type twin struct {
	name      string
	plain     any
	generated proto.Message
}

func twins(tb testing.TB) []twin {
	parent, note := int64(41), "seen by two"
	wide := &Wide{
		ID: 1234567, Name: "Ada Lovelace", Active: true, Score: 0.75, Parent: &parent, Note: &note,
		Created: time.Unix(1700000000, 123456789).UTC(), Timeout: 1500 * time.Millisecond, Location: &Point{51.5, -0.125},
		Numbers: []int64{1, 2, 300, 70000, -1}, Samples: []float64{1, 0.5, 0.25, 1e9}, Tags: []string{"first", "program", "engine"},
		Labels: map[string]string{"zone": "eu-west-1", "tier": "backend", "owner": "analytics"},
		Counts: map[string]int64{"read": 1 << 20, "write": 300},
		Points: map[int32]*Point{1: {1, 2}, 2: {3, 4}},
		Data:   make([]byte, 64), Level: -3,
	}
	for range 4 {
		wide.Items = append(wide.Items, Item{Name: "a name of some length", Quantity: 12, Path: []Point{{1, 2}, {3, 4}}})
	}
	all := []twin{
		{"kv/64", &kv.CreateRequest{Key: []byte("key-0001"), Value: make([]byte, 64)}, new(kvpb.CreateRequest)},
		{"kv/64K", &kv.RetrieveResponse{Value: make([]byte, 64<<10)}, new(kvpb.RetrieveResponse)},
		{"arith", &arith.SumRequest{Numbers: []int64{1, 2, 300, 70000, 5, 6, 7, -1}}, new(arithpb.SumRequest)},
		{"arith/reply", &arith.SumReply{Sum: 70321}, new(arithpb.SumReply)},
		{"text/1K", &Item{Name: strings.Repeat("x", 1<<10)}, new(widepb.Item)},
		{"wide", wide, new(widepb.Wide)},
	}
	for _, t := range all {
		data, err := protobuf.Codec{}.Append(nil, t.plain)
		if err != nil {
			tb.Fatalf("%s: %v", t.name, err)
		}
		if err := proto.Unmarshal(data, t.generated); err != nil {
			tb.Fatalf("%s: %v", t.name, err)
		}
	}
	return all
}

// Both forms say the same, so they are measured on the same work.
func TestTwins(t *testing.T) {
	for _, w := range twins(t) {
		data, err := proto.Marshal(w.generated)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(w.plain).Elem()).Interface()
		if err := (protobuf.Codec{}).Decode(data, back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.plain, back, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == "._" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s, written by generated code and read by ours:\n%s", w.name, diff)
		}
		ours, err := protobuf.Codec{}.Append(nil, back)
		if err != nil {
			t.Fatal(err)
		}
		again := w.generated.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(ours, again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.generated, again, protocmp.Transform()); diff != "" || len(ours) != len(data) {
			t.Errorf("%s, %d bytes of ours and %d of generated code:\n%s", w.name, len(ours), len(data), diff)
		}
	}
}

// BenchmarkProtobuf has plain structs beside generated types. Who reads
// allocates a new message each time, as a call does.
func BenchmarkProtobuf(b *testing.B) {
	for _, w := range twins(b) {
		data, err := proto.Marshal(w.generated)
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 0, 2*len(data))
		measure := func(name string, do func() error) {
			b.Run(w.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		measure("append/plain", func() error { _, err := protobuf.Codec{}.Append(buf, w.plain); return err })
		measure("append/generated", func() error {
			_, err := proto.MarshalOptions{}.MarshalAppend(buf, w.generated)
			return err
		})
		typ := reflect.TypeOf(w.plain).Elem()
		measure("decode/plain", func() error { return protobuf.Codec{}.Decode(data, reflect.New(typ).Interface()) })
		generated := reflect.TypeOf(w.generated).Elem()
		measure("decode/generated", func() error {
			return proto.Unmarshal(data, reflect.New(generated).Interface().(proto.Message))
		})
	}
}
