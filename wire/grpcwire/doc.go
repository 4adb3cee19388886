// Package grpcwire is the gRPC wire, on grpc-go: gRPC over HTTP/2 as its
// PROTOCOL-HTTP2 document says, with every codec of this module behind a
// content-subtype, server reflection (v1 and v1alpha) and the health service.
// docs/spec/grpc.md is the rule.
//
// grpc-go is given codecs that only pass messages through; which of ours reads
// and writes a message is decided call by call, from the content-type. Nothing
// is registered with grpc-go's global table of codecs.
package grpcwire
