// Package connectwire is the wire connect: the Connect protocol and gRPC-Web,
// the two ways in which a page in a browser calls what gRPC describes. The
// same handler answers gRPC too.
//
// It obeys the Connect protocol's reference (https://connectrpc.com/docs/protocol),
// version 1, whole: unary calls by POST and, for methods without side effects,
// by GET; all kinds of streams; and the gRPC-Web specification
// (PROTOCOL-WEB.md of the gRPC repository) in its binary and its text form.
// connectrpc's own conformance suite runs against it. docs/spec/connect.md is
// the rule in full, with what the package adds and what it leaves out.
//
// The protocols themselves are connect-go's work. It is given messages that are
// bytes already: encoding, limits, interceptors, stats and metadata are this
// module's, as on every other wire.
package connectwire
