package cbor

import (
	"bytes"
	"testing"

	fx "github.com/fxamacker/cbor/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// FuzzDecode reads anything as every kind of message. What can be read is
// well-formed, can be written, and the bytes so written mean the same and stay
// as they are.
func FuzzDecode(f *testing.F) {
	for _, tt := range appendix {
		f.Add(unhex(f, tt.hex))
	}
	for _, msg := range []any{full(), &probepb.RunRequest{Name: "n", Numbers: []int64{1, -1}, Tree: &probepb.Node{}}} {
		data, err := Codec{}.Append(nil, msg)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\xbf\x63any\x9f\x7f\x61a\x61b\xff\xc1\xfb\x41\xd4\x52\xd9\xec\x20\x00\x00\xff\xff"))
	wellformed, err := fx.DecOptions{MaxNestedLevels: 65535, MaxArrayElements: 1 << 30, MaxMapPairs: 1 << 30}.DecMode()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, newMsg := range []func() any{
			func() any { return new(schema.Document) }, func() any { return new(all) },
			func() any { return new(probepb.RunRequest) }, func() any { return new(structpb.Value) },
		} {
			msg, again := newMsg(), newMsg()
			if (Codec{}).Decode(data, msg) != nil {
				continue
			}
			if err := wellformed.Wellformed(data); err != nil {
				t.Fatalf("%x is read as a %T: %v", data, msg, err)
			}
			first, err := Codec{}.Append(nil, msg)
			if err != nil {
				t.Fatalf("what was decoded cannot be encoded: %v", err)
			}
			if err := (Codec{}).Decode(first, again); err != nil {
				t.Fatalf("%x: what was encoded cannot be decoded: %v", first, err)
			}
			second, err := Codec{}.Append(nil, again)
			if err != nil || !bytes.Equal(first, second) {
				t.Fatalf("encoded again:\n%x\n%x, %v", first, second, err)
			}
			if m, ok := msg.(proto.Message); ok && !proto.Equal(m, again.(proto.Message)) {
				t.Fatalf("%v\n%v", m, again)
			}
		}
	})
}
