// Package thrift is the codec of Apache Thrift's two encodings of structs: the
// binary protocol, as
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md
// has it, and the compact protocol, as thrift-compact-protocol.md beside it has
// it. A message is one struct, without the envelope of Thrift's own RPC.
//
// Messages are plain structs and documents. What Thrift types their fields have
// is in docs/spec/codecs.md; the command "everywire describe --as thrift" writes
// it as a .thrift file, and code that Thrift's compiler makes of that reads and
// writes the same bytes.
package thrift

import (
	"fmt"

	"github.com/everywire/everywire/schema"
)

// Codec is one of Thrift's encodings: [Binary] or [Compact].
type Codec uint8

const (
	// Binary is the codec "thrift": numbers in their full width, big-endian.
	Binary Codec = iota
	// Compact is the codec "thrift-compact": integers as varints, field numbers
	// as differences.
	Compact
)

// Name returns "thrift" or "thrift-compact".
func (c Codec) Name() string {
	if c == Compact {
		return "thrift-compact"
	}
	return "thrift"
}

// MediaTypes returns the media type that is registered for the encoding.
func (c Codec) MediaTypes() []string {
	if c == Compact {
		return []string{"application/vnd.apache.thrift.compact"}
	}
	return []string{"application/vnd.apache.thrift.binary", "application/x-thrift"}
}

// Carries returns nil if the codec has a form for messages of the type. It has
// none for messages that were generated from .proto files, and for fields whose
// numbers are above 32767: Thrift's have 16 bits.
func (Codec) Carries(m *schema.Message) error {
	if _, err := plans.Of(m, compile); err != nil {
		return fmt.Errorf("thrift: %w", err)
	}
	return nil
}

// Append appends the encoding of msg to dst and returns the extended slice. msg
// is a pointer to a plain struct or to a [schema.Document]. Fields stand in the
// order of their numbers and maps in that of their keys, so equal messages have
// equal bytes.
//
// On error it returns dst as it was; the error names the field. Errors are: a
// type that Thrift cannot carry, a string that is not UTF-8, a time outside the
// years 1 to 9999, a document that JSON cannot hold, and nesting deeper than
// [schema.MaxDepth].
func (c Codec) Append(dst []byte, msg any) ([]byte, error) {
	p, v, err := plans.For(msg, compile)
	if err != nil {
		return dst, fmt.Errorf("thrift: %w", err)
	}
	e := encoders.Get().(*encoder)
	e.b, e.compact = dst, c == Compact
	err = e.message(p, v)
	b := e.b
	e.release()
	if err != nil {
		return dst, fmt.Errorf("thrift: %w", err)
	}
	return b, nil
}

// Decode reads the struct that data holds into msg, which is reset first. msg is
// as for [Codec.Append]. Fields that the message does not know, or knows with
// another type, are skipped, as generated code does; a field or a key that
// occurs twice is an error. Memory is reserved for what has arrived, not for
// what a length or count claims. An error names the byte and the field; after
// one, msg holds what was read until then.
func (c Codec) Decode(data []byte, msg any) error {
	p, v, err := plans.For(msg, compile)
	if err != nil {
		return fmt.Errorf("thrift: %w", err)
	}
	v.SetZero()
	d := decoders.Get().(*decoder)
	d.data, d.compact = data, c == Compact
	if err = d.message(p, v); err == nil && d.pos < len(data) {
		err = d.errorf(d.pos, "%d bytes after the end of the struct", len(data)-d.pos)
	}
	d.release()
	if err != nil {
		return fmt.Errorf("thrift: %w", err)
	}
	return nil
}
