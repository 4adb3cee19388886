// Package msgpackrpc is the MessagePack-RPC wire, by the specification of
// https://github.com/msgpack-rpc/msgpack-rpc/blob/master/spec.md over byte
// streams such as TCP, and beside its arrays the objects of JSON-RPC 2.0
// (https://www.jsonrpc.org/specification) as MessagePack maps: each message is
// answered in kind. docs/spec/msgpackrpc.md is the normative page: envelopes,
// names, errors, metadata, deadlines and cancellation.
//
// The shape of messages is checked exactly. What the specification does not
// have (metadata, deadlines on the wire, cancellation) is sent only to a peer
// that asked for it.
package msgpackrpc

import "github.com/everywire/everywire/codec/msgpack"

// codec is the encoding of messages within envelopes.
var codec msgpack.Codec

// wireName is how messages name this wire.
const wireName = "msgpackrpc"

// The notifications that are ours.
const (
	metaName   = "rpc.meta"
	cancelName = "$/cancelRequest"
)
