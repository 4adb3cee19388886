package msgpack

import (
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/schema"
)

// Codec encodes and decodes messages; see docs/spec/types.md. It has no state.
type Codec struct{}

// Name returns "msgpack".
func (Codec) Name() string { return "msgpack" }

// Append appends the encoding of msg to dst and returns the extended slice.
// msg is a pointer to a generated message, to a plain struct or to a
// [schema.Document]. The fields of a message stand in the order of their
// numbers and the keys of maps are sorted, so equal messages have equal bytes.
//
// On error, an [*Error] that names the field, it returns dst as it was. Errors
// are: a string that is not UTF-8, a time or duration that protobuf cannot
// hold, a value that has no MessagePack form, and nesting deeper than
// [schema.MaxDepth].
func (Codec) Append(dst []byte, msg any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.b = dst
	err := e.top(msg)
	b := e.b
	e.release()
	if err != nil {
		return dst, asError(err)
	}
	return b, nil
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// maxPooled bounds the elements that a pooled buffer may keep.
const maxPooled = 4096

func (e *encoder) release() {
	e.b, e.depth = nil, 0
	if cap(e.keys) > maxPooled {
		e.keys = nil
	}
	clear(e.keys[:cap(e.keys)])
	e.keys = e.keys[:0]
	encoders.Put(e)
}

func (e *encoder) top(msg any) error {
	switch msg := msg.(type) {
	case *schema.Document:
		if msg == nil {
			return errNil(msg)
		}
		return e.any(msg.Value)
	case proto.Message:
		return e.generated(msg)
	}
	p, v, err := structPlans.For(msg, compileStruct)
	if err != nil {
		return err
	}
	return e.message(p, v)
}

// Decode reads the message that data holds into msg, which is reset first. msg
// is as for [Codec.Append]. Members that the message does not know are
// skipped. Memory is reserved for what has arrived, not for what a length or
// count claims. Errors are of type [*Error]; after one, msg holds what was
// read until then.
func (Codec) Decode(data []byte, msg any) error {
	d := decoders.Get().(*decoder)
	d.data = data
	err := d.top(msg)
	if err == nil {
		err = d.End()
	}
	d.release()
	return asError(err)
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func (d *decoder) release() {
	d.Reader, d.depth, d.reread = Reader{}, 0, 0
	decoders.Put(d)
}

func (d *decoder) top(msg any) (err error) {
	switch msg := msg.(type) {
	case *schema.Document:
		if msg == nil {
			return errNil(msg)
		}
		msg.Value = nil
		msg.Value, err = d.any()
		return err
	case proto.Message:
		if !msg.ProtoReflect().IsValid() {
			return errNil(msg)
		}
		proto.Reset(msg)
		return d.generated(msg)
	}
	p, v, err := structPlans.For(msg, compileStruct)
	if err != nil {
		return err
	}
	v.SetZero()
	return d.message(p, v)
}

func errNil(msg any) error { return errorf("the message is a nil %T", msg) }

func asError(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{Offset: -1, Reason: err.Error()}
}
