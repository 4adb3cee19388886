package wire

import (
	"errors"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// WithCodecs gives this server or connection codecs beside those that every one
// has (json, msgpack, cbor, protobuf). One with the name of another takes its
// place. A server's calls choose among them by content type, a connection has the
// one that its target's option codec names: docs/spec/codecs.md. The wires jsonrpc
// and msgpackrpc have an encoding of their own and take no other.
func WithCodecs(codecs ...everywire.Codec) Option {
	return both(func(c *config) { c.codecs = append(c.codecs, codecs...) })
}

// codecsFor makes the set of codecs of one target.
func (c *config) codecsFor(t *Target) (*rpc.Codecs, error) {
	ofJSON := json.Codec{BytesAsArray: t.Options["bytes"] == "array"}
	for _, own := range c.codecs {
		if ofJSON.BytesAsArray && own.Name() == ofJSON.Name() {
			return nil, errors.New("the option bytes is about the codec json, whose place another has taken")
		}
	}
	return rpc.NewCodecs(append([]everywire.Codec{ofJSON, msgpack.Codec{}, cbor.Codec{}, protobuf.Codec{}}, c.codecs...)...)
}
