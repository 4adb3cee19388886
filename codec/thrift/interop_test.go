package thrift_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/thrift"
	"github.com/everywire/everywire/codec/thrift/internal/widethrift"
	"github.com/everywire/everywire/schema/schematest"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/kv/kvthrift"
)

var codecs = []everywire.PartialCodec{thrift.Binary, thrift.Compact}

// theirs is Thrift's own library with the encoding of ours.
type theirs struct {
	transport *apache.TMemoryBuffer
	protocol  apache.TProtocol
}

func library(c everywire.Codec) theirs {
	transport := apache.NewTMemoryBuffer()
	if c == thrift.Compact {
		return theirs{transport, apache.NewTCompactProtocolConf(transport, nil)}
	}
	return theirs{transport, apache.NewTBinaryProtocolConf(transport, nil)}
}

func (l theirs) write(t rapid.TB, msg apache.TStruct) []byte {
	t.Helper()
	if err := msg.Write(context.Background(), l.protocol); err != nil {
		t.Fatal(err)
	}
	if err := l.protocol.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(l.transport.Bytes())
}

func (l theirs) read(t rapid.TB, data []byte, msg apache.TStruct) {
	t.Helper()
	if _, err := l.transport.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := msg.Read(context.Background(), l.protocol); err != nil {
		t.Fatalf("%v\n%x", err, data)
	}
	if n := l.transport.Len(); n > 0 {
		t.Fatalf("the library left %d bytes of %x", n, data)
	}
}

// The messages of kv, as ours and as Thrift's compiler has them, have the same
// bytes and mean the same.
func TestKVMessages(t *testing.T) {
	str, number := `"7", *`, int64(7)
	ttl, then := 90*time.Second+5, time.Unix(1750000000, 42).UTC()
	for _, c := range []struct {
		name  string
		ours  any
		other apache.TStruct
	}{
		{"create", &kv.CreateRequest{Key: []byte("key"), Value: []byte{0, 0xff}, TTL: &ttl},
			&kvthrift.CreateRequest{Key: []byte("key"), Value: []byte{0, 0xff}, TTL: &kvthrift.Duration{Seconds: 90, Nanos: 5}}},
		{"create, zero", &kv.CreateRequest{}, &kvthrift.CreateRequest{}},
		{"created", &kv.CreateResponse{Version: 1 << 40}, &kvthrift.CreateResponse{Version: 1 << 40}},
		{"retrieved", &kv.RetrieveResponse{Value: bytes.Repeat([]byte("v"), 300), Version: 9, Expires: &then},
			&kvthrift.RetrieveResponse{Value: bytes.Repeat([]byte("v"), 300), Version: 9, Expires: &kvthrift.Timestamp{Seconds: 1750000000, Nanos: 42}}},
		{"update", &kv.UpdateRequest{Key: []byte("k"), Value: []byte{}, IfMatch: &str, IfVersion: &number},
			&kvthrift.UpdateRequest{Key: []byte("k"), Value: []byte{}, IfMatch: &str, IfVersion: &number}},
		{"deleted", &kv.DeleteResponse{}, &kvthrift.DeleteResponse{}},
		{"scan", &kv.ScanRequest{Prefix: []byte("a"), Limit: 3, KeysOnly: true}, &kvthrift.ScanRequest{Prefix: []byte("a"), Limit: 3, KeysOnly: true}},
		{"watch", &kv.WatchRequest{Prefix: []byte("a"), After: &number}, &kvthrift.WatchRequest{Prefix: []byte("a"), After: &number}},
	} {
		for _, codec := range codecs {
			t.Run(c.name+" by "+codec.Name(), func(t *testing.T) {
				want := library(codec).write(t, c.other)
				got, err := codec.Append(nil, c.ours)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("ours is\n%x, the generated code's\n%x", got, want)
				}
				fresh := newLike(c.ours)
				if err := codec.Decode(want, fresh); err != nil {
					t.Fatal(err)
				}
				again, err := codec.Append(nil, fresh)
				if err != nil || !bytes.Equal(again, want) {
					t.Errorf("read and written again it is\n%x, %v, want\n%x", again, err, want)
				}
			})
		}
	}
}

// Whatever we write, generated code reads and writes again, the same bytes
// where maps have one entry, for whose order it does not care. It knows each
// field: of one that it did not, nothing would be left.
func TestWideMessage(t *testing.T) {
	for _, codec := range codecs {
		for _, entries := range []int{1, 3} {
			t.Run(codec.Name(), rapid.MakeCheck(func(t *rapid.T) {
				w := schematest.Draw(t, 2, entries)
				ours, err := codec.Append(nil, w)
				if err != nil {
					t.Fatal(err)
				}
				var between widethrift.Wide
				library(codec).read(t, ours, &between)
				back := library(codec).write(t, &between)
				if entries == 1 && !bytes.Equal(ours, back) {
					t.Fatalf("ours is\n%x, the generated code's\n%x", ours, back)
				}
				var got schematest.Wide
				if err := codec.Decode(back, &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(w, &got, schematest.Equal); diff != "" {
					t.Fatal(diff)
				}
			}))
		}
	}
}
