package json

import (
	"bytes"
	"encoding"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/schema"
)

// scalarElement returns the functions of a scalar that is no text type.
func scalarElement(f *schema.Field) (appendFunc, readFunc) {
	size, name := 0, f.Type.Kind().String()
	switch f.Kind {
	case schema.Bool:
		return appendBool, readBool
	case schema.Int32, schema.Int64:
		size = f.Type.Bits()
		quoted := f.Quoted && f.Kind == schema.Int64
		return func(_ *encoder, b []byte, v reflect.Value) ([]byte, error) {
				return appendInt(b, v.Int(), quoted), nil
			}, func(d *decoder, v reflect.Value) error {
				n, err := d.int(size, name)
				v.SetInt(n)
				return err
			}
	case schema.Uint32, schema.Uint64:
		size = f.Type.Bits()
		quoted := f.Quoted && f.Kind == schema.Uint64
		return func(_ *encoder, b []byte, v reflect.Value) ([]byte, error) {
				return appendUint(b, v.Uint(), quoted), nil
			}, func(d *decoder, v reflect.Value) error {
				n, err := d.uint(size, name)
				v.SetUint(n)
				return err
			}
	case schema.Float32, schema.Float64:
		size = f.Type.Bits()
		return func(_ *encoder, b []byte, v reflect.Value) ([]byte, error) {
				return appendFloat(b, v.Float(), size), nil
			}, func(d *decoder, v reflect.Value) error {
				n, err := d.float(size)
				v.SetFloat(n)
				return err
			}
	case schema.String:
		return appendStringValue, readString
	case schema.Bytes:
		return func(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
				return e.bytes(b, v.Bytes())
			}, func(d *decoder, v reflect.Value) error {
				data, err := d.bytes()
				v.SetBytes(data)
				return err
			}
	case schema.Time:
		return func(_ *encoder, b []byte, v reflect.Value) ([]byte, error) {
				return appendTime(b, v.Interface().(time.Time))
			}, func(d *decoder, v reflect.Value) error {
				t, err := d.time()
				if err == nil {
					v.Set(reflect.ValueOf(t))
				}
				return err
			}
	case schema.Duration:
		return func(_ *encoder, b []byte, v reflect.Value) ([]byte, error) {
				n := v.Int()
				return appendDuration(b, n/int64(time.Second), int32(n%int64(time.Second))), nil
			}, func(d *decoder, v reflect.Value) error {
				n, err := d.duration()
				v.SetInt(int64(n))
				return err
			}
	}
	panic("json: schema gave a field of an unknown kind")
}

func appendBool(_ *encoder, b []byte, v reflect.Value) ([]byte, error) {
	if v.Bool() {
		return append(b, "true"...), nil
	}
	return append(b, "false"...), nil
}

func readBool(d *decoder, v reflect.Value) error {
	t, err := d.bool()
	v.SetBool(t)
	return err
}

func appendStringValue(_ *encoder, b []byte, v reflect.Value) ([]byte, error) {
	return appendString(b, v.String())
}

func readString(d *decoder, v reflect.Value) error {
	s, err := d.text("a string")
	if err == nil {
		v.SetString(string(s))
	}
	return err
}

func appendText(_ *encoder, b []byte, v reflect.Value) ([]byte, error) {
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return b, &Error{Reason: err.Error(), cause: err}
	}
	return appendString(b, string(text))
}

func readText(d *decoder, v reflect.Value) error {
	d.peek()
	start := d.pos
	s, err := d.text("a string")
	if err != nil {
		return err
	}
	// A copy, so that a careless type keeps no part of the input.
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(bytes.Clone(s)); err != nil {
		return &Error{offset: start, Reason: err.Error(), cause: err}
	}
	return nil
}

func appendOptional(elem appendFunc) appendFunc {
	return func(e *encoder, b []byte, v reflect.Value) ([]byte, error) { return elem(e, b, v.Elem()) }
}

func readOptional(elem readFunc) readFunc {
	return func(d *decoder, v reflect.Value) error {
		v.Set(reflect.New(v.Type().Elem()))
		return elem(d, v.Elem())
	}
}

// errNilElement is for a nil pointer in a list or map: protobuf cannot say it.
func errNilElement() error { return errorf("a nil pointer in a list or map") }

func appendPointer(p *structPlan) appendFunc {
	return func(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return b, errNilElement()
		}
		return p.append(e, b, v.Elem())
	}
}

func readPointer(p *structPlan) readFunc {
	return func(d *decoder, v reflect.Value) error {
		if d.peek() != '{' {
			return d.mismatch("an object")
		}
		v.Set(reflect.New(v.Type().Elem()))
		return p.read(d, v.Elem())
	}
}

func appendProto(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return b, errNilElement()
	}
	return e.generated(b, v.Interface().(proto.Message).ProtoReflect())
}

func readProto(d *decoder, v reflect.Value) error {
	d.peek()
	start := d.pos
	v.Set(reflect.New(v.Type().Elem()))
	m := v.Interface().(proto.Message).ProtoReflect()
	if err := protoPlanOf(m.Descriptor()).read(d, m); err != nil {
		return err
	}
	if err := proto.CheckInitialized(m.Interface()); err != nil {
		return protoError(start, err)
	}
	return nil
}

// anyElement returns the functions of any, Document and *Document.
func anyElement(t reflect.Type) (appendFunc, readFunc) {
	switch t.Kind() {
	case reflect.Interface:
		return func(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
				return e.any(b, v.Interface())
			}, func(d *decoder, v reflect.Value) error {
				x, err := d.any()
				if x != nil {
					v.Set(reflect.ValueOf(x))
				}
				return err
			}
	case reflect.Pointer:
		return func(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
				doc := v.Interface().(*schema.Document)
				if doc == nil {
					return b, errNilElement()
				}
				return e.any(b, doc.Value)
			}, func(d *decoder, v reflect.Value) error {
				x, err := d.any()
				v.Set(reflect.ValueOf(&schema.Document{Value: x}))
				return err
			}
	}
	return func(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
			return e.any(b, v.Interface().(schema.Document).Value)
		}, func(d *decoder, v reflect.Value) error {
			x, err := d.any()
			v.Set(reflect.ValueOf(schema.Document{Value: x}))
			return err
		}
}
