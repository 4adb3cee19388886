package wire_test

import (
	"testing"

	"github.com/everywire/everywire/wire/wiretest"
)

// Every wire runs the one suite, with gRPC as the oracle.
func TestConformance(t *testing.T) {
	for _, shape := range []string{
		"rest",
		"rest?reconnect",
		"rest?http=2",
		"rest?codec=msgpack",
		"rest?codec=cbor&compression=zstd",
		"rest+h3",
		"rest+unix",
		"jsonrpc+http",
		"jsonrpc+http?compression=br",
		"jsonrpc+tcp",
		"jsonrpc+tcp?framing=header",
		"jsonrpc+tcp?framing=netstring",
		"jsonrpc+unix",
		"jsonrpc+ws",
		"msgpackrpc+tcp?meta=on",
		"msgpackrpc+unix?meta=on",
		"grpc",
		"grpc+unix",
		"grpc?codec=json",
		"grpc?codec=msgpack",
		"grpc?codec=cbor",
		"connect",
		"connect?codec=json",
		"connect?protocol=grpc-web",
		"connect+unix",
	} {
		t.Run(shape, func(t *testing.T) { wiretest.Run(t, shape) })
	}
}
