package connectwire

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
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
// their trailers, which is protobuf whatever the messages are in.
type bytesCodec struct {
	name string
	everywire.Codec
	// empty is the encoding of a message without fields, which is what an
	// envelope without content stands for in every codec.
	empty []byte
}

// nothing is a message without fields.
type nothing struct{}

func newBytesCodec(c everywire.Codec) *bytesCodec {
	b := &bytesCodec{name: c.Name(), Codec: c}
	if b.name == rpc.Protobuf {
		b.name = "proto"
	}
	if empty, err := c.Append(nil, new(nothing)); err == nil {
		b.empty = empty
	}
	return b
}

// codecs are those that a server's calls can have, by the name in their content
// type.
type codecs map[string]*bytesCodec

func newCodecs(set *rpc.Codecs) codecs {
	all := codecs{}
	for _, c := range set.All() {
		b := newBytesCodec(c)
		all[b.name] = b
	}
	return all
}

// names are the names in content types, sorted.
func (cs codecs) names() []string {
	var names []string
	for name := range cs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (cs codecs) String() string { return strings.Join(cs.names(), ", ") }

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
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is neither a message nor a status", v)
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, m)
}

// Unmarshal is a part of connect-go's Codec. The data is connect-go's again
// when it returns.
func (c *bytesCodec) Unmarshal(data []byte, v any) error {
	if m, ok := v.(*message); ok {
		m.data, m.read = append(m.data[:0], data...), true
		return nil
	}
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is neither a message nor a status", v)
	}
	return proto.Unmarshal(data, m)
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
