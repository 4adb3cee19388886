// Package json is the JSON codec. It writes and reads plain structs described
// by package schema, generated Protocol Buffers messages and documents, all by
// the one table of docs/spec/types.md.
//
// The syntax is RFC 8259 with the strictness of I-JSON (RFC 7493): UTF-8
// only, no lone surrogates, no duplicate names, nothing after the value.
// Generated messages follow the ProtoJSON format, with two differences: 64-bit
// integers are written as numbers unless the field has jstype = JS_STRING, and
// members that the message does not know are ignored.
//
// Output is compact and deterministic: fields stand in the order of their
// numbers, map keys in byte order.
package json
