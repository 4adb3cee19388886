package capnp

import (
	"fmt"
	"sync"

	"github.com/everywire/everywire/schema"
)

// MaxNumber is the largest field number that a message may have: its schema has
// a line for each number up to the largest.
const MaxNumber = 4096

// Codec encodes and decodes messages; see the package's documentation. It has
// no state.
type Codec struct{}

// Name returns "capnp".
func (Codec) Name() string { return "capnp" }

// Carries returns nil if the codec has a form for messages of the type. It has
// none for messages that were generated from .proto files, and for fields whose
// numbers are above [MaxNumber].
func (Codec) Carries(m *schema.Message) error {
	_, err := plans.Of(m, compile)
	return wrap(err)
}

// Append appends the encoding of msg to dst and returns the extended slice.
// msg is a pointer to a plain struct or to a [schema.Document]. The entries of
// maps are sorted by key, so equal messages have equal bytes. On error, which
// names the field, it returns dst as it was.
//
// Errors are: a generated message, a field number above [MaxNumber], a string
// that is not UTF-8, a time outside the years 1 to 9999, a document that JSON
// cannot hold, nesting deeper than [schema.MaxDepth], a list of 2^29 elements
// or words, and a message of 4 GiB.
func (Codec) Append(dst []byte, msg any) ([]byte, error) {
	p, v, err := plans.For(msg, compile)
	if err != nil {
		return dst, wrap(err)
	}
	e := encoders.Get().(*encoder)
	e.b, e.base = dst, len(dst)
	err = e.root(p, v)
	b := e.b
	*e = encoder{}
	encoders.Put(e)
	if err != nil {
		return dst, wrap(err)
	}
	return b, nil
}

// Decode reads the message that data holds into msg, which is reset first. msg
// is as for [Codec.Append]. Fields that the message does not know are passed
// over, and so are words that no pointer leads to. Errors name the byte and the
// field; after one, msg holds what was read until then.
func (Codec) Decode(data []byte, msg any) error {
	p, v, err := plans.For(msg, compile)
	if err != nil {
		return wrap(err)
	}
	v.SetZero()
	d := decoders.Get().(*decoder)
	err = d.message(data, p, v)
	d.release()
	return wrap(err)
}

var (
	encoders = sync.Pool{New: func() any { return new(encoder) }}
	decoders = sync.Pool{New: func() any { return new(decoder) }}
)

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("capnp: %w", err)
}
