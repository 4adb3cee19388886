// Package raw is the codec of messages that are bytes already: what a service
// carries and does not look into. What it has a form for is in
// docs/spec/codecs.md:
//
//   - a message with one field, a string or bytes: the field's bytes and nothing
//     around them;
//   - a message without fields: no bytes;
//   - a type that writes itself (encoding.BinaryAppender or BinaryMarshaler, and
//     BinaryUnmarshaler): what it writes.
//
// Every other type is refused by its name, and with it the methods that have it.
package raw
