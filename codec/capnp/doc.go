// Package capnp is the codec of Cap'n Proto's encoding
// (https://capnproto.org/encoding.html) for plain structs. What it writes is a
// message in the standard framing for streams: a segment table, and then one
// segment. The schema that code of any language can be generated from is what
// `everywire describe --as capnp` prints, and docs/spec/codecs.md says how a
// struct looks in it.
//
// Where a field lies in its struct follows from the fields before it, by the
// rule that the capnp compiler has: a field's number less one is its ordinal,
// and a number that no field has is a field of type Void, which takes no room.
//
// A message is written from its beginning to its end, in the slice that it is
// appended to: a struct first, and then what its pointers lead to. So nothing
// is copied but the fields themselves. Messages of several segments, with far
// pointers of both kinds, are read.
//
// Whatever a message says is verified before it is used: each segment, pointer,
// size and end of a text. How much is read is bounded by the message's size, as
// Cap'n Proto's traversal limit does it, so that neither pointers that share
// what they lead to, nor circles, nor lists of structs without content make a
// short message a large one.
package capnp
