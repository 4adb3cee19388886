// Package flatbuffers is the codec of FlatBuffers
// (https://flatbuffers.dev/internals/) for plain structs. What it writes is a
// buffer without a size prefix and without a file identifier; the schema that
// code of any language can be generated from is what `everywire describe --as
// flatbuffers` prints, and docs/spec/codecs.md says how a struct looks in it.
//
// A buffer is written from its beginning to its end, in the slice that it is
// appended to: a table first, and then what its offsets lead to. So nothing is
// copied but the fields themselves. Other writers work from the end to the
// beginning; readers follow offsets and cannot tell.
//
// Whatever a buffer says is verified before it is used: each offset, vtable,
// length and end of a string. Several offsets may lead to one place, as the
// format allows, but not so that much more is read than there is.
package flatbuffers
