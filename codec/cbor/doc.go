// Package cbor is the codec of CBOR, the Concise Binary Object Representation
// of RFC 8949.
//
// Messages are maps keyed by the names that their fields have in JSON. What
// each Go type looks like is the table of docs/spec/types.md.
//
// What is written is in preferred serialization (section 4.1): lengths and
// integers in their shortest form, floats in the shortest width that keeps
// their value, nothing of indefinite length. Fields stand in the order of their
// numbers and map keys in the order of their values, so equal messages have
// equal bytes; it is not the bytewise order of section 4.2.1.
//
// Every well-formed item is read (section 5.1), indefinite lengths, wider heads
// and undefined included. The tags 0 and 1 are times, 2 and 3 integers; all
// others are passed over, since a field's type already says what its value
// means.
//
// The files named table_* are made from package msgpack's: the table is the same.
package cbor

//go:generate go run ../internal/tablegen
