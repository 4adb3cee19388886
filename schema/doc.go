// Package schema describes Go message types once, for every codec.
//
// A message is either a generated Protocol Buffers message or a plain Go
// struct. [Of] analyses the type and returns its [Message]: fields with their
// numbers, names and kinds. Codecs walk that description, so that a value
// looks the same in JSON, MessagePack and Protocol Buffers whichever kind of
// type it came from. The table they obey is docs/spec/types.md.
//
// The package imports nothing of this module; it knows Go's reflection and
// the protobuf descriptor types, and no wire or codec.
package schema
