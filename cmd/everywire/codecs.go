package main

import (
	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/raw"
	"github.com/everywire/everywire/codec/thrift"
)

// codecs are those that the command knows beside the ones of every server and
// connection.
func codecs() []everywire.Codec {
	return []everywire.Codec{raw.Codec{}, thrift.Binary, thrift.Compact}
}
