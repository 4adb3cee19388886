package codecs

import (
	"bytes"
	stdjson "encoding/json"
	"reflect"
	"strings"
	"testing"

	fxamacker "github.com/fxamacker/cbor/v2"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/everywire/everywire/codec/avro"
	"github.com/everywire/everywire/codec/capnp"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/flatbuffers"
	"github.com/everywire/everywire/codec/json"
	ours "github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/thrift"
)

// A codec writes and reads messages. Each writes into buf if it can.
type codec struct {
	name   string
	append func(buf []byte, msg any) ([]byte, error)
	decode func(data []byte, msg any) error
	// own makes a message of the type that the codec takes; nil if it takes ours.
	own func(msg any) any
}

func (c codec) message(msg any) any {
	if c.own == nil {
		return msg
	}
	return c.own(msg)
}

var codecs = []codec{
	{"msgpack/ours", ours.Codec{}.Append, ours.Codec{}.Decode, nil},
	{"msgpack/tinylib-generated",
		func(buf []byte, msg any) ([]byte, error) { return msg.(msgp.Marshaler).MarshalMsg(buf) },
		func(data []byte, msg any) error { _, err := msg.(msgp.Unmarshaler).UnmarshalMsg(data); return err }, nil},
	{"msgpack/vmihailenco", appendVmihailenco, func(data []byte, msg any) error { return msgpack.Unmarshal(data, msg) }, nil},
	{"cbor/ours", cbor.Codec{}.Append, cbor.Codec{}.Decode, nil},
	{"cbor/fxamacker", func(_ []byte, msg any) ([]byte, error) { return fxamacker.Marshal(msg) }, fxamacker.Unmarshal, nil},
	{"json/ours", json.Codec{}.Append, json.Codec{}.Decode, nil},
	{"json/std", func(_ []byte, msg any) ([]byte, error) { return stdjson.Marshal(msg) }, stdjson.Unmarshal, nil},
	{"json/v2", appendV2, func(data []byte, msg any) error { return jsonv2.Unmarshal(data, msg) }, nil},
	{"thrift/ours", thrift.Binary.Append, thrift.Binary.Decode, nil},
	{"thrift/apache-generated", appendApache(newBinary), decodeApache(newBinary), apacheOf},
	{"thrift-compact/ours", thrift.Compact.Append, thrift.Compact.Decode, nil},
	{"thrift-compact/apache-generated", appendApache(newCompact), decodeApache(newCompact), apacheOf},
	{"avro/ours", avro.Codec{}.Append, avro.Codec{}.Decode, nil},
	{"avro/hamba", appendHamba, decodeHamba, nil},
	{"flatbuffers/ours", flatbuffers.Codec{}.Append, flatbuffers.Codec{}.Decode, nil},
	{"flatbuffers/google-generated", appendGoogle, decodeGoogle, nil},
	{"capnp/ours", capnp.Codec{}.Append, capnp.Codec{}.Decode, nil},
	{"capnp/capnp-generated", appendCapnp, decodeCapnp, nil},
}

func appendVmihailenco(buf []byte, msg any) ([]byte, error) {
	e := msgpack.GetEncoder()
	defer msgpack.PutEncoder(e)
	w := bytes.NewBuffer(buf)
	e.Reset(w)
	e.UseCompactInts(true)
	err := e.Encode(msg)
	return w.Bytes(), err
}

func appendV2(buf []byte, msg any) ([]byte, error) {
	w := bytes.NewBuffer(buf)
	err := jsonv2.MarshalWrite(w, msg)
	return w.Bytes(), err
}

func messages() []struct {
	name string
	msg  any
} {
	parent := int64(41)
	return []struct {
		name string
		msg  any
	}{
		{"Text64", &Text{strings.Repeat("x", 64)}},
		{"Data64", &Data{make([]byte, 64)}},
		{"Sum", &Sum{[]int64{1, 2, 300, 70000}}},
		{"Ten", &Ten{
			ID: 1234567, Name: "Ada Lovelace", Email: "ada@example.org", Age: 36, Active: true, Score: 0.75, Flags: 0x10,
			Tags: []string{"first", "program"}, Parent: &parent, Location: Point{51.5, -0.125},
		}},
		{"Text1K", &Text{strings.Repeat("x", 1<<10)}},
		{"Data1K", &Data{make([]byte, 1<<10)}},
		{"Text64K", &Text{strings.Repeat("x", 64<<10)}},
		{"Data64K", &Data{make([]byte, 64<<10)}},
	}
}

// All of one encoding read what the others of it write: they are measured on the
// same work.
func TestCodecsAgree(t *testing.T) {
	for _, m := range messages() {
		for _, writer := range codecs {
			data, err := writer.append(nil, writer.message(m.msg))
			if err != nil {
				t.Fatalf("%s, %s: %v", m.name, writer.name, err)
			}
			encoding, _, _ := strings.Cut(writer.name, "/")
			for _, reader := range codecs {
				if !strings.HasPrefix(reader.name, encoding+"/") {
					continue
				}
				want := reader.message(m.msg)
				out := reflect.New(reflect.TypeOf(want).Elem()).Interface()
				if err := reader.decode(data, out); err != nil || !reflect.DeepEqual(want, out) {
					t.Errorf("%s, written by %s, read by %s: %+v, %v", m.name, writer.name, reader.name, out, err)
				}
			}
		}
	}
}

// Whoever reads allocates for a new message each time, as a call does.
func BenchmarkCodecs(b *testing.B) {
	for _, m := range messages() {
		for _, c := range codecs {
			msg := c.message(m.msg)
			data, err := c.append(nil, msg)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(m.name+"/append/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				buf := make([]byte, 0, 2*len(data))
				for b.Loop() {
					if _, err := c.append(buf, msg); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(m.name+"/decode/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				typ := reflect.TypeOf(msg).Elem()
				for b.Loop() {
					if err := c.decode(data, reflect.New(typ).Interface()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
