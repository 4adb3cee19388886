package main

import (
	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/avro"
	"github.com/everywire/everywire/codec/capnp"
	"github.com/everywire/everywire/codec/flatbuffers"
	"github.com/everywire/everywire/codec/raw"
	"github.com/everywire/everywire/codec/thrift"
	"github.com/everywire/everywire/service/kv"
)

// codecs are those that the command knows beside the ones of every server and
// connection.
func codecs() []everywire.Codec {
	return []everywire.Codec{raw.Codec{}, kv.OwnCodec(), avro.Codec{}, thrift.Binary, thrift.Compact, flatbuffers.Codec{}, capnp.Codec{}}
}
