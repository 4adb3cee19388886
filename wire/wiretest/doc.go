// Package wiretest is the conformance suite of the wires. [Run] serves the
// probe service on one target, calls it in every way, and holds what is seen
// to what bare grpc-go gives for the same call: results, status codes,
// messages, details, headers, trailers.
//
// [RunEncoding] is a shorter suite for one codec on one wire.
//
// Every wire runs the same cases. Where a wire must differ, the difference
// stands in differences.go with its reason.
package wiretest
