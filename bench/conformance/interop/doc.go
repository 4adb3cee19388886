// Package interop runs gRPC's interoperability cases, as grpc-go has them, with
// everywire at either end: https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md.
package interop
