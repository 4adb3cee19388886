package raw

import (
	"fmt"
	"reflect"

	"github.com/everywire/everywire/schema"
)

// Codec is the codec of raw bytes. It has no state.
type Codec struct{}

// Name returns "raw".
func (Codec) Name() string { return "raw" }

// MediaTypes is the one that says of bytes that nothing is known of them (RFC 2046,
// section 4.5.1).
func (Codec) MediaTypes() []string { return []string{"application/octet-stream"} }

// Carries says what of a type has no form; see the package's documentation.
func (Codec) Carries(m *schema.Message) error { return formOf(m.Type).err }

// Append appends the bytes of msg to dst and returns the extended slice. On error
// it returns dst as it was.
func (Codec) Append(dst []byte, msg any) ([]byte, error) {
	f, v, err := find(msg)
	if err != nil {
		return dst, err
	}
	out, err := f.append(dst, v)
	if err != nil {
		return dst, fmt.Errorf("raw: %v: %w", v.Type(), err)
	}
	return out, nil
}

// Decode makes msg the message that data is. It keeps no reference to data.
func (Codec) Decode(data []byte, msg any) error {
	f, v, err := find(msg)
	if err != nil {
		return err
	}
	v.SetZero()
	if err := f.decode(data, v); err != nil {
		return fmt.Errorf("raw: %v: %w", v.Type(), err)
	}
	return nil
}

// find returns the form of a message, and the struct that msg points at.
func find(msg any) (*form, reflect.Value, error) {
	v := reflect.ValueOf(msg)
	switch {
	case v.Kind() != reflect.Pointer:
		return nil, v, fmt.Errorf("raw: a %T is no message: want a pointer to one", msg)
	case v.IsNil():
		return nil, v, fmt.Errorf("raw: a nil %T is no message", msg)
	}
	v = v.Elem()
	f := formOf(v.Type())
	return f, v, f.err
}
