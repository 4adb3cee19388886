// Package protobuf is the codec of Protocol Buffers' binary format
// (https://protobuf.dev/programming-guides/encoding/), with the semantics of
// syntax proto3.
//
// Generated messages go through google.golang.org/protobuf. Plain structs are
// written and read directly, by the field numbers and kinds of package schema;
// the bytes are those of the message that [schema.Message.Descriptor]
// describes. A [schema.Document], and a field of type any, is a
// google.protobuf.Value, in which every number is a double. One level of lists
// or maps inside it counts as one level of [schema.MaxDepth]; where a generated
// google.protobuf.Value is decoded, each of its two or three messages does.
package protobuf

import (
	"errors"
	"fmt"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// Codec encodes and decodes messages; see the package's documentation. It has
// no state.
type Codec struct{}

// Name returns "protobuf".
func (Codec) Name() string { return "protobuf" }

// MediaTypes are the one in use, and the one with the x- of before.
func (Codec) MediaTypes() []string {
	return []string{"application/protobuf", "application/x-protobuf"}
}

// Append appends the encoding of msg to dst and returns the extended slice.
// msg is a pointer to a generated message, to a plain struct or to a
// [schema.Document]. On error it returns dst as it was; the error names the
// field. Errors are: a string that is not UTF-8, a time or duration outside
// protobuf's range, a value inside a Document that google.protobuf.Value
// cannot hold, and nesting deeper than [schema.MaxDepth].
//
// The fields of a plain struct are written in the order of their numbers; the
// entries of maps come in no particular order.
func (Codec) Append(dst []byte, msg any) ([]byte, error) {
	if p, m := recentPlan(msg); p != nil {
		return appendPlain(dst, p, m)
	}
	switch msg := msg.(type) {
	case proto.Message:
		return appendGenerated(dst, msg)
	case *schema.Document:
		return appendDocument(dst, msg)
	}
	p, m, err := planOf(msg)
	if err != nil {
		return dst, wrap(err)
	}
	return appendPlain(dst, p, m)
}

func appendPlain(dst []byte, p *plan, m unsafe.Pointer) ([]byte, error) {
	var out []byte
	var err error
	if p.exact {
		out, err = appendExact(dst, p, m)
	} else {
		out, err = appendPooled(dst, func(e *encoder) error { return e.message(p, m, 1) })
	}
	if err != nil {
		return dst, wrap(err)
	}
	return out, nil
}

func appendDocument(dst []byte, doc *schema.Document) ([]byte, error) {
	if doc == nil {
		return dst, errNil(doc)
	}
	out, err := appendPooled(dst, func(e *encoder) error { return e.document(doc.Value, 1) })
	return out, wrap(err)
}

func appendGenerated(dst []byte, m proto.Message) ([]byte, error) {
	if !m.ProtoReflect().IsValid() {
		return dst, errNil(m)
	}
	if err := checkDepth(m, schema.MaxDepth); err != nil {
		return dst, fmt.Errorf("protobuf: %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	out, err := proto.MarshalOptions{}.MarshalAppend(dst, m)
	if err != nil {
		return dst, fmt.Errorf("protobuf: %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return out, nil
}

// Decode reads the message that data holds into msg, which is reset first. msg
// is as for [Codec.Append]. Unknown fields of plain structs are skipped, or kept
// in the field that the struct has for them.
// Errors are: malformed or cut-off bytes, strings that are not UTF-8, numbers
// outside the range of a Go field narrower than the protobuf type, times and
// durations outside Go's or protobuf's range, and nesting deeper than
// [schema.MaxDepth]. After an error msg holds what was read until then.
func (Codec) Decode(data []byte, msg any) error {
	p, m := recentPlan(msg)
	if p == nil {
		switch msg := msg.(type) {
		case proto.Message:
			return decodeGenerated(data, msg)
		case *schema.Document:
			return decodeDocument(data, msg)
		}
		var err error
		if p, m, err = planOf(msg); err != nil {
			return wrap(err)
		}
	}
	p.reset(m)
	if err := p.decode(m, data, 1); err != nil {
		return wrap(err)
	}
	return nil
}

func decodeDocument(data []byte, doc *schema.Document) (err error) {
	if doc == nil {
		return errNil(doc)
	}
	doc.Value, err = decodeValue(nil, data, 1)
	return wrap(err)
}

func decodeGenerated(data []byte, m proto.Message) error {
	if !m.ProtoReflect().IsValid() {
		return errNil(m)
	}
	if err := (proto.UnmarshalOptions{RecursionLimit: schema.MaxDepth}).Unmarshal(data, m); err != nil {
		return fmt.Errorf("protobuf: %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return nil
}

func errNil(msg any) error { return fmt.Errorf("protobuf: a nil %T is no message", msg) }

// A pathError says where in the message something was wrong. The path is put
// together from the inside out, on the way up.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// at puts one step, such as "name" or "[2]", before err's path.
func at(step string, err error) error {
	var inner *pathError
	if !errors.As(err, &inner) {
		return &pathError{path: step, err: err}
	}
	inner.path = text.Path(step, inner.path)
	return err
}

func atIndex(i int, err error) error { return at(text.Index(i), err) }

func atKey(key any, err error) error { return at(text.Key(fmt.Sprint(key)), err) }

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("protobuf: %w", err)
}

var errDepth = fmt.Errorf("nested deeper than %d levels", schema.MaxDepth)
