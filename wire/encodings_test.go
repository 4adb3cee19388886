package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/avro"
	"github.com/everywire/everywire/codec/capnp"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/flatbuffers"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/codec/raw"
	"github.com/everywire/everywire/codec/thrift"
	"github.com/everywire/everywire/wire/wiretest"
)

// An encoding is a codec, and the options by which a connection asks for it.
type encoding struct {
	options string
	codec   everywire.Codec
}

var encodings = []encoding{
	{"codec=json", json.Codec{}},
	{"codec=json&bytes=array", json.Codec{BytesAsArray: true}},
	{"codec=msgpack", msgpack.Codec{}},
	{"codec=cbor", cbor.Codec{}},
	{"codec=protobuf", protobuf.Codec{}},
	{"codec=raw", raw.Codec{}},
	{"codec=own", ownCodec()},
	{"codec=thrift", thrift.Binary},
	{"codec=thrift-compact", thrift.Compact},
	{"codec=avro", avro.Codec{}},
	{"codec=flatbuffers", flatbuffers.Codec{}},
	{"codec=capnp", capnp.Codec{}},
}

var errNotOwn = errors.New("want a ! first")

// ownCodec is a program's own for the suite's messages.
func ownCodec() *everywire.OwnCodec {
	c := everywire.NewCodec("own")
	own[wiretest.RunRequest](c)
	own[wiretest.GetRequest](c)
	own[wiretest.RunReply](c)
	own[wiretest.Blob](c)
	own[wiretest.Line](c)
	own[wiretest.Kinds](c)
	return c
}

// own gives a codec a form for T: CBOR, with a byte before it.
func own[T any](c *everywire.OwnCodec) {
	everywire.Encode(c,
		func(dst []byte, m *T) ([]byte, error) { return cbor.Codec{}.Append(append(dst, '!'), m) },
		func(data []byte, m *T) error {
			if len(data) == 0 || data[0] != '!' {
				return errNotOwn
			}
			return cbor.Codec{}.Decode(data[1:], m)
		})
}

// Every codec runs the shorter suite on every wire that carries it, with and
// without compression. With -short it does on one of the wires.
func TestEncodings(t *testing.T) {
	for i, e := range encodings {
		plain := []string{"grpc", "connect", "rest"}
		if testing.Short() {
			e.run(t, wiretest.RunEncoding, plain[i%len(plain)])
			continue
		}
		for _, shape := range plain {
			e.run(t, wiretest.RunEncoding, shape)
		}
		for _, shape := range []string{
			"grpc?compression=gzip", "grpc?compression=zstd",
			"connect?compression=gzip", "connect?compression=br", "connect?protocol=grpc-web", "connect?protocol=grpc-web&compression=zstd",
			"rest?compression=gzip", "rest?compression=br", "rest?compression=zstd",
		} {
			e.run(t, wiretest.RunEncoding, shape)
		}
	}
}

// Every codec is on the port that wires share too.
func TestEncodingsOnOnePort(t *testing.T) {
	if testing.Short() {
		t.Skip("the same wires behind another door")
	}
	for _, e := range encodings {
		for _, shape := range []string{"grpc", "connect", "rest"} {
			e.run(t, wiretest.RunEncodingShared, shape)
		}
	}
}

func (e encoding) run(t *testing.T, suite func(*testing.T, string, everywire.Codec), shape string) {
	separator := "?"
	if strings.Contains(shape, "?") {
		separator = "&"
	}
	shape += separator + e.options
	t.Run(shape, func(t *testing.T) { suite(t, shape, e.codec) })
}
