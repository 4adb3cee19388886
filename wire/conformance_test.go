package wire_test

import (
	"testing"

	"github.com/everywire/everywire/wire/wiretest"
)

// Every wire runs the one suite, with gRPC as the oracle.
func TestConformance(t *testing.T) {
	conform(t, wiretest.Run,
		[]string{
			"rest",
			"rest?http=2",
			"jsonrpc+http",
			"jsonrpc+tcp",
			"jsonrpc+ws",
			"msgpackrpc+tcp?meta=on",
			"grpc",
			"connect",
		},
		[]string{
			"rest+h3", // quic-go waits for seconds where nobody listens
			"rest?reconnect",
			"grpc?reconnect",
			"connect?reconnect",
			"rest?codec=msgpack",
			"rest?codec=cbor&compression=zstd",
			"rest+unix",
			"jsonrpc+http?compression=br",
			"jsonrpc+tcp?framing=header",
			"jsonrpc+tcp?framing=netstring",
			"jsonrpc+unix",
			"msgpackrpc+unix?meta=on",
			"grpc+unix",
			"grpc?codec=json",
			"grpc?codec=msgpack",
			"grpc?codec=cbor",
			"connect?codec=json",
			"connect?protocol=grpc-web",
			"connect+unix",
		})
}

// Every wire does the same where it shares its port with the others.
func TestConformanceOnOnePort(t *testing.T) {
	conform(t, wiretest.RunShared,
		[]string{
			"rest",
			"jsonrpc+tcp",
			"grpc",
			"connect",
		},
		[]string{
			"jsonrpc+ws",
			"msgpackrpc+tcp?meta=on",
			"msgpackrpc+unix?meta=on",
		})
}

// conform runs the suite on the first shapes of their kind and on others: most are
// one of these with another codec, framing or socket. With -short it leaves them out.
func conform(t *testing.T, run func(*testing.T, string), kinds, others []string) {
	for _, shape := range kinds {
		t.Run(shape, func(t *testing.T) { run(t, shape) })
	}
	for _, shape := range others {
		t.Run(shape, func(t *testing.T) {
			if testing.Short() {
				t.Skip("another shape of a wire that is tested")
			}
			run(t, shape)
		})
	}
}
