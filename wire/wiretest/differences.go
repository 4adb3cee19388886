package wiretest

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// expectDifferences changes what gRPC gave for a case into what the wire under
// test must give. Every line is a difference that users can see, and says why
// it is there.
func (s *suite) expectDifferences(name string, want *observation) {
	s.expectTLS(want.Reply)
	if name == "panic" {
		// grpc-go lets a panic take the process down; the registry recovers it
		// on every wire, gRPC included. The oracle's stand-in only gives the code.
		want.Message = "panic in the handler of " + runMethod
	}
	if name == "headers too late" && !s.is("grpc") {
		// grpc-go's text speaks of its own transport.
		want.Message = "the headers of this call have been sent"
	}
	if s.is("connect") && s.shape.Options["protocol"] != "grpc-web" && want.Code > codes.Unauthenticated {
		// Connect's codes are names, and there are sixteen.
		want.Code = codes.Unknown
	}
}

// onPackets is true for HTTP/3, which nobody accepts connections for and no
// dialer of the caller's opens any.
func (s *suite) onPackets() bool { return s.is("rest+h3") }

// expectTLS: HTTP/3 is always over TLS, and the oracle is not.
func (s *suite) expectTLS(want *probepb.RunReply) {
	if want != nil && s.shape.TLS {
		want.PeerAuth = "tls"
	}
}

// carriesStreams is true for wires with streaming calls. JSON-RPC over HTTP has
// none, for HTTP/1.1 gives no way to go on sending while receiving that proxies
// and clients would keep up; REST has WebSockets beside it, but not over HTTP/3.
// MessagePack-RPC has fixed arrays and no extension for it.
func (s *suite) carriesStreams() bool {
	return !s.is("rest+h3") && s.is("grpc", "connect", "rest", "jsonrpc+tcp", "jsonrpc+unix", "jsonrpc+ws")
}

// saysPaths is true for REST: a path without a route may have meant anything, so
// the message speaks of the path, not of a method; the code is the same.
func (s *suite) saysPaths() bool { return s.is("rest") }

// A carriage says which messages a codec has a form for.
type carriage uint8

const (
	// everything: plain structs, generated messages, documents. These codecs stand on
	// docs/spec/types.md, which is about all three.
	everything carriage = iota
	// onlyPlain: not generated messages. Thrift, Avro, FlatBuffers and Cap'n Proto have
	// schemas of their own, which are made from plain structs; who has a .proto file
	// has protobuf. A program's own codec has what it was given functions for.
	onlyPlain
	// onlyBytes: messages of one field of bytes or text. Raw has no names and no
	// numbers by which it could tell fields apart.
	onlyBytes
)

func carriageOf(codec string) carriage {
	switch codec {
	case "json", "msgpack", "cbor", "protobuf":
		return everything
	case "raw":
		return onlyBytes
	}
	return onlyPlain
}

// measuresCompressed is true where a message that is sent is held to the limit after
// compression, as grpc-go does it. One that is received is held to it before and
// after on every wire.
func (s *suite) measuresCompressed() bool {
	return s.is("grpc") && s.shape.Options["compression"] != ""
}

// recovering gives the oracle what grpc-go lacks: it answers a panic.
type recovering struct{ *probe }

func (r recovering) Run(ctx context.Context, in *probepb.RunRequest) (out *probepb.RunReply, err error) {
	defer func() {
		if recover() != nil {
			out, err = nil, status.Error(codes.Internal, "panic")
		}
	}()
	return r.probe.Run(ctx, in)
}
