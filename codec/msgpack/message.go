package msgpack

import (
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/schema"
)

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
