package connectwire

import (
	"fmt"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
)

// A message is what connect-go takes for a message: the bytes of one. What they
// are in is the codec of the call.
type message struct {
	data []byte
	// read is set when a codec was given the bytes. connect-go calls none for an
	// envelope without content.
	read bool
}

// A bytesCodec is connect-go's codec of one content type. It leaves messages
// as they are. Anything else is the status that gRPC and gRPC-Web put into
// their trailers: a generated message, for the codec proper.
type bytesCodec struct {
	name string
	everywire.Codec
	// empty is the encoding of a message without fields, which is what an
	// envelope without content stands for in every codec.
	empty []byte
}

// codecs are those that calls can have, by the name in their content type.
var codecs = map[string]*bytesCodec{
	"proto":   {"proto", protobuf.Codec{}, nil},
	"json":    {"json", json.Codec{}, []byte("{}")},
	"msgpack": {"msgpack", msgpack.Codec{}, []byte{0x80}},
	"cbor":    {"cbor", cbor.Codec{}, []byte{0xa0}},
}

// jsonWithCharset is the other name that connect-go has for JSON.
const jsonWithCharset = "json; charset=utf-8"

// Name is a part of connect-go's Codec.
func (c *bytesCodec) Name() string { return c.name }

// Marshal is a part of connect-go's Codec.
func (c *bytesCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend is what connect-go calls, if it is there, in place of Marshal.
func (c *bytesCodec) MarshalAppend(dst []byte, v any) ([]byte, error) {
	if m, ok := v.(*message); ok {
		return append(dst, m.data...), nil
	}
	return c.Append(dst, v)
}

// Unmarshal is a part of connect-go's Codec. The data is connect-go's again
// when it returns.
func (c *bytesCodec) Unmarshal(data []byte, v any) error {
	if m, ok := v.(*message); ok {
		m.data, m.read = append(m.data[:0], data...), true
		return nil
	}
	return c.Decode(data, v)
}

// MarshalStable is the encoding of a message in the address of a GET. That it
// should always be the same is for caches, and not a promise.
func (c *bytesCodec) MarshalStable(v any) ([]byte, error) { return c.Marshal(v) }

// IsBinary reports whether messages in addresses are base64.
func (c *bytesCodec) IsBinary() bool { return c.name != "json" }

// bytesOf returns the message that connect-go read.
func (c *bytesCodec) bytesOf(m *message) []byte {
	if !m.read {
		return c.empty
	}
	return m.data
}

// codecNamed returns the codec that a target's option names.
func codecNamed(option string) (*bytesCodec, error) {
	switch option {
	case "", "protobuf":
		return codecs["proto"], nil
	case "json", "msgpack", "cbor":
		return codecs[option], nil
	}
	return nil, fmt.Errorf("unknown codec %q: it is one of protobuf, json, msgpack, cbor", option)
}
