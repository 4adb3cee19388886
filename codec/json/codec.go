package json

import (
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// Codec is the JSON codec. Its zero value is ready and safe for concurrent use.
type Codec struct {
	// BytesAsArray has bytes written as arrays of integers from -128 to 127,
	// the way of Java programs that let Gson write a byte[], in place of
	// base64. Both are always read.
	BytesAsArray bool
}

// Name returns "json".
func (Codec) Name() string { return "json" }

// Append appends the JSON text of msg to dst and returns the extended slice.
// msg is a pointer to a plain struct, a generated message or a
// *[schema.Document]. On error, dst is returned as it was; the error is an
// [*Error] if a value inside msg is at fault.
func (c Codec) Append(dst []byte, msg any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.bytesAsArray = c.BytesAsArray
	b, err := e.message(dst, msg)
	e.release()
	if err != nil {
		return dst, err
	}
	return b, nil
}

// Decode reads the one JSON value in data into msg, which is reset first. msg
// is of the types that Append takes. An error in data is an [*Error].
func (Codec) Decode(data []byte, msg any) error {
	d := decoders.Get().(*decoder)
	d.data = data
	err := d.message(msg)
	d.release()
	if e, ok := err.(*Error); ok { //nolint:errorlint // ours is never wrapped here
		e.Line, e.Column = Position(data, e.offset)
	}
	return err
}

// An encoder holds what one Append needs besides its output.
type encoder struct {
	depth int
	keys  []string // a stack of map keys being sorted, one stretch an open map

	bytesAsArray bool // of the Codec
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// maxPooled bounds the elements that a pooled buffer may keep.
const maxPooled = 4096

func (e *encoder) release() {
	e.depth = 0
	if cap(e.keys) > maxPooled {
		e.keys = nil
	}
	clear(e.keys[:cap(e.keys)])
	e.keys = e.keys[:0]
	encoders.Put(e)
}

func (e *encoder) enter() error {
	if e.depth++; e.depth > schema.MaxDepth {
		return errorf("nested more than %d deep (or a cycle of pointers)", schema.MaxDepth)
	}
	return nil
}

func (e *encoder) message(b []byte, msg any) ([]byte, error) {
	switch msg := msg.(type) {
	case *schema.Document:
		if msg == nil {
			return b, errNil(msg)
		}
		return e.any(b, msg.Value)
	case proto.Message:
		m := msg.ProtoReflect()
		if !m.IsValid() {
			return b, errNil(msg)
		}
		return e.generated(b, m)
	}
	p, v, err := structPlans.For(msg, compileStruct)
	if err != nil {
		return b, fmt.Errorf("json: %w", err)
	}
	return p.append(e, b, v)
}

// generated writes a generated message. Required fields are looked for after
// it has been written, since a cycle of pointers has then been found.
func (e *encoder) generated(b []byte, m protoreflect.Message) ([]byte, error) {
	b, err := protoPlanOf(m.Descriptor()).append(e, b, m)
	if err != nil {
		return b, err
	}
	if err := proto.CheckInitialized(m.Interface()); err != nil {
		return b, protoError(0, err)
	}
	return b, nil
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func (d *decoder) release() {
	d.data, d.pos, d.depth, d.reread = nil, 0, 0, 0
	if cap(d.scratch) > maxPooled {
		d.scratch = nil
	}
	decoders.Put(d)
}

func (d *decoder) message(msg any) error {
	var err error
	switch msg := msg.(type) {
	case *schema.Document:
		if msg == nil {
			return errNil(msg)
		}
		msg.Value = nil
		msg.Value, err = d.any()
	case proto.Message:
		m := msg.ProtoReflect()
		if !m.IsValid() {
			return errNil(msg)
		}
		proto.Reset(msg)
		if err = protoPlanOf(m.Descriptor()).read(d, m); err == nil {
			if missing := proto.CheckInitialized(msg); missing != nil {
				return protoError(0, missing)
			}
		}
	default:
		var (
			p *structPlan
			v reflect.Value
		)
		if p, v, err = structPlans.For(msg, compileStruct); err != nil {
			return fmt.Errorf("json: %w", err)
		}
		v.SetZero()
		err = p.read(d, v)
	}
	if err != nil {
		return err
	}
	if d.space(); d.pos < len(d.data) {
		return d.errorf(d.pos, "%s after the end of the value", d.here())
	}
	return nil
}

func errNil(msg any) error { return fmt.Errorf("json: the message is a nil %T", msg) }
