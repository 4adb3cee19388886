// Package avro is the codec of Apache Avro's binary encoding, by the
// specification 1.12 (https://avro.apache.org/docs/1.12.0/specification/). A
// message is a datum in Avro's single-object encoding: two bytes of a mark, the
// fingerprint of the schema that it was written with, and the datum.
//
// Messages are plain structs and documents. Their schemas are those of package
// schema/avsc; docs/spec/codecs.md has the table, and "everywire describe --as
// avro" writes them.
//
// Avro's bytes mean nothing without the schema of who wrote them. A codec reads
// what was written with the schema that its own message has. What was written
// with another one it refuses, unless it was made by [New] with that schema: then
// it reads by the specification's rules of schema resolution.
package avro

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
)

// Codec encodes and decodes messages. Its zero value knows the schemas of its
// own messages alone.
type Codec struct{ known *knownSchemas }

// New returns a codec that also reads what others have written: programs with an
// older or a newer version of a message, or in other languages. Each schema is
// the text of an .avsc file; of a union, as "everywire describe --as avro" writes
// it, each branch is one.
func New(schemas ...[]byte) (Codec, error) {
	known := &knownSchemas{byFingerprint: map[uint64]*avsc.Type{}}
	for i, text := range schemas {
		t, err := avsc.Parse(text)
		if err != nil {
			return Codec{}, fmt.Errorf("avro: schema %d: %w", i, err)
		}
		known.byFingerprint[t.Fingerprint()] = t
		for _, b := range t.Branches {
			known.byFingerprint[b.Fingerprint()] = b
		}
	}
	return Codec{known}, nil
}

// Name returns "avro".
func (Codec) Name() string { return "avro" }

// Carries returns nil if the codec has a form for messages of the type. It has
// none for messages that were generated from .proto files.
func (Codec) Carries(m *schema.Message) error {
	if _, err := plans.Of(m, compile); err != nil {
		return fmt.Errorf("avro: %w", err)
	}
	return nil
}

// The single-object encoding begins with a mark and the fingerprint, its lowest
// byte first.
const (
	mark0, mark1 = 0xc3, 0x01
	headerSize   = 10
)

// Append appends the encoding of msg to dst and returns the extended slice. msg
// is a pointer to a plain struct or to a [schema.Document]. The entries of maps
// stand in the order of their keys, so equal messages have equal bytes.
//
// On error it returns dst as it was; the error names the field. Errors are: a
// type that Avro cannot carry, a string that is not UTF-8, a time outside the
// years 1 to 9999, a document that JSON cannot hold, and nesting deeper than
// [schema.MaxDepth].
func (Codec) Append(dst []byte, msg any) ([]byte, error) {
	p, v, err := plans.For(msg, compile)
	if err != nil {
		return dst, fmt.Errorf("avro: %w", err)
	}
	e := encoders.Get().(*encoder)
	e.b = dst
	e.b = append(e.b, p.header[:]...)
	err = e.element(&p.top, v)
	b := e.b
	e.release()
	if err != nil {
		return dst, fmt.Errorf("avro: %w", err)
	}
	return b, nil
}

// Decode reads the datum that data holds into msg, which is reset first. msg is
// as for [Codec.Append]. Memory is reserved for what has arrived, not for what a
// length or count claims. An error names the byte and the field; after one, msg
// holds what was read until then.
func (c Codec) Decode(data []byte, msg any) error {
	p, v, err := plans.For(msg, compile)
	if err != nil {
		return fmt.Errorf("avro: %w", err)
	}
	v.SetZero()
	read, err := c.reader(p, v.Type(), data)
	if err != nil {
		return fmt.Errorf("avro: %w", err)
	}
	d := decoders.Get().(*decoder)
	d.data, d.pos = data, headerSize
	if err = read(d, v); err == nil && d.pos < len(data) {
		err = d.errorf(d.pos, "%d bytes after the end of the datum", len(data)-d.pos)
	}
	d.release()
	if err != nil {
		return fmt.Errorf("avro: %w", err)
	}
	return nil
}

// reader finds how the datum is read into a message of type t, by the schema that
// it says it was written with.
func (c Codec) reader(p *plan, t reflect.Type, data []byte) (readFunc, error) {
	if len(data) < headerSize || data[0] != mark0 || data[1] != mark1 {
		return nil, fmt.Errorf("no single-object encoding: it begins with the bytes c3 01 and a fingerprint of 8 bytes")
	}
	fingerprint := binary.LittleEndian.Uint64(data[2:])
	if fingerprint == p.fingerprint {
		return p.read, nil
	}
	if c.known != nil {
		if read, ok, err := c.known.reader(p, t, fingerprint); ok {
			return read, err
		}
	}
	return nil, fmt.Errorf("written with the schema of the fingerprint %016x, which is neither that of %s (%016x) nor one that the codec was given by New",
		fingerprint, p.name, p.fingerprint)
}
