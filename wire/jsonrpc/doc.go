// Package jsonrpc is the JSON-RPC wire: JSON-RPC 2.0 (the specification of
// 2013-01-04) over HTTP POST, over byte streams such as TCP and unix sockets, and
// over WebSockets (RFC 6455). docs/spec/jsonrpc.md is the normative page: how ids, params,
// batches, errors, metadata, deadlines and cancellation look.
//
// Servers answer everything that the specification describes, batches and
// notifications included; clients send single requests and notifications. The
// level of syntax is RFC 8259, checked as a whole before anything runs.
package jsonrpc

// wireName is how messages name this wire.
const wireName = "jsonrpc"
