package msgpack

import (
	"errors"
	"reflect"

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
	e := encoder{b: dst}
	if err := e.top(msg); err != nil {
		return dst, asError(err)
	}
	return e.b, nil
}

func (e *encoder) top(msg any) error {
	if m, ok := msg.(proto.Message); ok {
		return e.generated(m)
	}
	v, m, err := plain(msg)
	if err != nil {
		return err
	}
	if m.Document {
		return e.any(v.Addr().Interface().(*schema.Document).Value)
	}
	return e.message(structPlanOf(m), v)
}

// Decode reads the message that data holds into msg, which is reset first. msg
// is as for [Codec.Append]. Members that the message does not know are
// skipped. Memory is reserved for what has arrived, not for what a length or
// count claims. Errors are of type [*Error]; after one, msg holds what was
// read until then.
func (Codec) Decode(data []byte, msg any) error {
	d := decoder{Reader: Reader{data: data}}
	err := d.top(msg)
	if err == nil {
		err = d.End()
	}
	return asError(err)
}

func (d *decoder) top(msg any) error {
	if m, ok := msg.(proto.Message); ok {
		if !m.ProtoReflect().IsValid() {
			return errorf("a nil %T is no message", msg)
		}
		proto.Reset(m)
		return d.generated(m)
	}
	v, m, err := plain(msg)
	if err != nil {
		return err
	}
	v.SetZero()
	if m.Document {
		v.Addr().Interface().(*schema.Document).Value, err = d.any()
		return err
	}
	return d.message(structPlanOf(m), v)
}

// plain returns the struct that msg points at and its description.
func plain(msg any) (reflect.Value, *schema.Message, error) {
	m, err := schema.For(msg)
	if err != nil {
		return reflect.Value{}, nil, err
	}
	v := reflect.ValueOf(msg)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return v, nil, errorf("a nil %T is no message", msg)
		}
		v = v.Elem()
	}
	return v, m, nil
}

func asError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{Offset: -1, Reason: err.Error()}
}
