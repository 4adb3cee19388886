package raw

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// A form is how messages of one type are written and read.
type form struct {
	append func(dst []byte, v reflect.Value) ([]byte, error)
	decode func(data []byte, v reflect.Value) error // v is zero
	err    error                                    // why there is none
}

var forms sync.Map // reflect.Type -> *form

// formOf returns the form of a type, which is not a pointer.
func formOf(t reflect.Type) *form {
	if f, ok := forms.Load(t); ok {
		return f.(*form)
	}
	f := newForm(t)
	if f.err != nil {
		f.err = fmt.Errorf("raw: %v has no form: %w", t, f.err)
	}
	known, _ := forms.LoadOrStore(t, f)
	return known.(*form)
}

func newForm(t reflect.Type) *form {
	if f := ofItself(t); f != nil {
		return f
	}
	m, err := schema.For(reflect.New(t).Interface())
	switch {
	case err != nil:
		return &form{err: err}
	case m.Document:
		return &form{err: errors.New("it is a document")}
	case m.Desc != nil:
		return generated(m.Desc)
	}
	return plain(m)
}

var (
	appenderType    = reflect.TypeFor[encoding.BinaryAppender]()
	marshalerType   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// ofItself is the form of a type that writes and reads itself, or nil.
func ofItself(t reflect.Type) *form {
	p := reflect.PointerTo(t)
	appends := p.Implements(appenderType)
	if !p.Implements(unmarshalerType) || !appends && !p.Implements(marshalerType) {
		return nil
	}
	f := &form{decode: func(data []byte, v reflect.Value) error {
		return v.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(data)
	}}
	if appends {
		f.append = func(dst []byte, v reflect.Value) ([]byte, error) {
			return v.Addr().Interface().(encoding.BinaryAppender).AppendBinary(dst)
		}
		return f
	}
	f.append = func(dst []byte, v reflect.Value) ([]byte, error) {
		data, err := v.Addr().Interface().(encoding.BinaryMarshaler).MarshalBinary()
		return append(dst, data...), err
	}
	return f
}

// empty is the form of messages without fields.
func empty() *form {
	return &form{
		append: func(dst []byte, _ reflect.Value) ([]byte, error) { return dst, nil },
		decode: func(data []byte, _ reflect.Value) error {
			if len(data) > 0 {
				return fmt.Errorf("%d bytes for a message without fields", len(data))
			}
			return nil
		},
	}
}

// plain is the form of a plain struct.
func plain(m *schema.Message) *form {
	if len(m.Fields) == 0 {
		return empty()
	}
	field := m.Fields[0]
	switch {
	case len(m.Fields) > 1:
		return manyFields(len(m.Fields))
	case field.Repeated || field.MapKey != schema.Invalid || field.Kind != schema.Bytes && field.Kind != schema.String:
		return wrongField(field.Name)
	case field.Optional:
		return &form{err: fmt.Errorf("%s may be absent, which bytes cannot say", field.Name)}
	case field.Text:
		return &form{err: fmt.Errorf("%s is a string by its MarshalText only", field.Name)}
	}
	i := field.Index
	if field.Kind == schema.Bytes {
		return &form{
			append: func(dst []byte, v reflect.Value) ([]byte, error) { return append(dst, v.Field(i).Bytes()...), nil },
			decode: func(data []byte, v reflect.Value) error {
				if len(data) > 0 {
					v.Field(i).SetBytes(append([]byte(nil), data...))
				}
				return nil
			},
		}
	}
	return &form{
		append: func(dst []byte, v reflect.Value) ([]byte, error) {
			return appendText(dst, field.Name, v.Field(i).String())
		},
		decode: func(data []byte, v reflect.Value) error {
			text, err := textOf(field.Name, data)
			v.Field(i).SetString(text)
			return err
		},
	}
}

// generated is the form of a generated message.
func generated(m protoreflect.MessageDescriptor) *form {
	fields := m.Fields()
	if fields.Len() == 0 {
		return empty()
	}
	field := fields.Get(0)
	isText := field.Kind() == protoreflect.StringKind
	switch {
	case fields.Len() > 1:
		return manyFields(fields.Len())
	case field.Cardinality() == protoreflect.Repeated || !isText && field.Kind() != protoreflect.BytesKind:
		return wrongField(string(field.Name()))
	case field.HasPresence():
		return &form{err: fmt.Errorf("%s may be absent, which bytes cannot say", field.Name())}
	}
	return &form{
		append: func(dst []byte, v reflect.Value) ([]byte, error) {
			value := v.Addr().Interface().(proto.Message).ProtoReflect().Get(field)
			if isText {
				return appendText(dst, string(field.Name()), value.String())
			}
			return append(dst, value.Bytes()...), nil
		},
		decode: func(data []byte, v reflect.Value) error {
			m := v.Addr().Interface().(proto.Message).ProtoReflect()
			if !isText {
				m.Set(field, protoreflect.ValueOfBytes(append([]byte(nil), data...)))
				return nil
			}
			text, err := textOf(string(field.Name()), data)
			m.Set(field, protoreflect.ValueOfString(text))
			return err
		},
	}
}

func manyFields(n int) *form {
	return &form{err: fmt.Errorf("it has %d fields, and raw bytes are one", n)}
}

func wrongField(name string) *form {
	return &form{err: fmt.Errorf("its field %s is neither a string nor bytes", name)}
}

func appendText(dst []byte, field, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return dst, notUTF8(field)
	}
	return append(dst, text...), nil
}

func textOf(field string, data []byte) (string, error) {
	if !utf8.Valid(data) {
		return "", notUTF8(field)
	}
	return string(data), nil
}

func notUTF8(field string) error { return fmt.Errorf("%s: the string is not UTF-8", field) }
