package everywire

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/everywire/everywire/schema"
)

// An OwnCodec is a [Codec] that a program brings: it has a form for the types that
// [Encode] gave it one for, and for no other. It is given to servers and
// connections by wire.WithCodecs.
type OwnCodec struct {
	name       string
	mediaTypes []string
	forms      sync.Map // reflect.Type of the message -> ownForm
}

// An ownForm is how messages of one type are written and read. Both are given a
// pointer to one.
type ownForm struct {
	append func(dst []byte, msg any) ([]byte, error)
	decode func(data []byte, msg any) error
}

// NewCodec makes a codec without any types. HTTP carries its messages under the
// media types given, by default "application/" and the name.
func NewCodec(name string, mediaTypes ...string) *OwnCodec {
	if len(mediaTypes) == 0 {
		mediaTypes = []string{"application/" + name}
	}
	return &OwnCodec{name: name, mediaTypes: mediaTypes}
}

// Encode gives a codec the form of the messages of type T, which is a plain
// struct, a generated message or [Document]. appendTo appends the encoding of a
// message to dst; decode reads exactly one from data into msg, which is empty, and
// keeps no reference to data. Calls of both may run at the same time. A type has one
// form: a second call for it panics.
func Encode[T any](c *OwnCodec, appendTo func(dst []byte, msg *T) ([]byte, error), decode func(data []byte, msg *T) error) {
	t := reflect.TypeFor[T]()
	if appendTo == nil || decode == nil {
		panic(fmt.Sprintf("everywire: codec %s: %v needs two functions", c.name, t))
	}
	form := ownForm{
		append: func(dst []byte, msg any) ([]byte, error) { return appendTo(dst, msg.(*T)) },
		decode: func(data []byte, msg any) error {
			m := msg.(*T)
			*m = *new(T)
			return decode(data, m)
		},
	}
	if _, twice := c.forms.LoadOrStore(t, form); twice {
		panic(fmt.Sprintf("everywire: codec %s: %v has a form already", c.name, t))
	}
}

// Name is [Codec]'s.
func (c *OwnCodec) Name() string { return c.name }

// MediaTypes is [MediaTyper]'s.
func (c *OwnCodec) MediaTypes() []string { return c.mediaTypes }

// Carries is [PartialCodec]'s.
func (c *OwnCodec) Carries(m *schema.Message) error {
	_, err := c.form(m.Type)
	return err
}

// Append is [Codec]'s.
func (c *OwnCodec) Append(dst []byte, msg any) ([]byte, error) {
	form, err := c.formOf(msg)
	if err != nil {
		return dst, err
	}
	out, err := form.append(dst, msg)
	if err != nil {
		return dst, fmt.Errorf("%s: writing a %T: %w", c.name, msg, err)
	}
	return out, nil
}

// Decode is [Codec]'s.
func (c *OwnCodec) Decode(data []byte, msg any) error {
	form, err := c.formOf(msg)
	if err != nil {
		return err
	}
	if err := form.decode(data, msg); err != nil {
		return fmt.Errorf("%s: reading a %T: %w", c.name, msg, err)
	}
	return nil
}

func (c *OwnCodec) formOf(msg any) (ownForm, error) {
	v := reflect.ValueOf(msg)
	switch {
	case v.Kind() != reflect.Pointer:
		return ownForm{}, fmt.Errorf("%s: a %T is no message: want a pointer to one", c.name, msg)
	case v.IsNil():
		return ownForm{}, fmt.Errorf("%s: a nil %T is no message", c.name, msg)
	}
	return c.form(v.Type().Elem())
}

func (c *OwnCodec) form(t reflect.Type) (ownForm, error) {
	form, ok := c.forms.Load(t)
	if !ok {
		return ownForm{}, fmt.Errorf("%s: %v has no form: give it one with everywire.Encode", c.name, t)
	}
	return form.(ownForm), nil
}
