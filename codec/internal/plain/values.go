package plain

import (
	"bytes"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
)

// Absent reports whether the value of a field that is no list, no map and not
// optional is what a missing field is read as, so that an encoding with default
// values need not write it. The text of a text type is not looked at, and a
// struct that is not behind a pointer is always there.
func Absent(kind schema.Kind, isText bool, v reflect.Value) bool {
	switch kind {
	case schema.String:
		return !isText && v.Len() == 0
	case schema.Bytes:
		return v.Len() == 0
	case schema.Float32, schema.Float64:
		return math.Float64bits(v.Float()) == 0 // -0 is written
	case schema.Time:
		return TimeOf(v).IsZero()
	case schema.Struct:
		return v.Kind() == reflect.Pointer && v.IsNil()
	case schema.Any:
		if v.Kind() == reflect.Struct {
			v = v.Field(0)
		}
		return v.IsNil()
	default:
		return v.IsZero()
	}
}

// Text is the text of a value of a text type.
func Text(v reflect.Value) ([]byte, error) {
	b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, ErrUTF8
	}
	return b, nil
}

// SetString sets a string, or a value of a text type, of which no text is the
// zero value. It keeps no part of b.
func SetString(v reflect.Value, isText bool, b []byte) error {
	switch {
	case !utf8.Valid(b):
		return ErrUTF8
	case !isText:
		v.SetString(string(b))
	case len(b) == 0:
		v.SetZero()
	default:
		// A copy, so that a careless type keeps no part of the input.
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(bytes.Clone(b))
	}
	return nil
}

// SetInt sets an integer of any signed type, which n may not fit.
func SetInt(v reflect.Value, n int64) error {
	if v.OverflowInt(n) {
		return fmt.Errorf("%d is out of range for %s", n, v.Kind())
	}
	v.SetInt(n)
	return nil
}

// SetUint sets an integer of any unsigned type, which n may not fit.
func SetUint(v reflect.Value, n uint64) error {
	if v.OverflowUint(n) {
		return fmt.Errorf("%d is out of range for %s", n, v.Kind())
	}
	v.SetUint(n)
	return nil
}

// TimeOf returns v as a time.Time, without allocating where v can be
// addressed.
func TimeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}

// Seconds returns a time or a duration as seconds, of a time since 1970, and
// nanoseconds, which have the sign of a duration.
func Seconds(kind schema.Kind, v reflect.Value) (seconds int64, nanos int32, err error) {
	if kind == schema.Duration {
		d := time.Duration(v.Int())
		return int64(d / time.Second), int32(d % time.Second), nil //nolint:gosec // below 1e9
	}
	t := TimeOf(v)
	if !text.InYears(t) {
		return 0, 0, fmt.Errorf("the time %s is not within the years 1 to 9999", t.UTC().Format(time.RFC3339))
	}
	return t.Unix(), int32(t.Nanosecond()), nil //nolint:gosec // below 1e9
}

// SetSeconds sets what [Seconds] returned.
func SetSeconds(kind schema.Kind, v reflect.Value, seconds int64, nanos int32) error {
	if kind == schema.Duration {
		if nanos <= -1e9 || nanos >= 1e9 || seconds < 0 && nanos > 0 || seconds > 0 && nanos < 0 {
			return fmt.Errorf("%d seconds and %d nanoseconds are no duration", seconds, nanos)
		}
		d, ok := text.GoDuration(seconds, nanos)
		if !ok {
			return fmt.Errorf("%d seconds are out of range for time.Duration", seconds)
		}
		v.SetInt(int64(d))
		return nil
	}
	if seconds < text.MinSeconds || seconds > text.MaxSeconds || nanos < 0 || nanos >= 1e9 {
		return fmt.Errorf("%d seconds and %d nanoseconds since 1970 are not within the years 1 to 9999", seconds, nanos)
	}
	*v.Addr().Interface().(*time.Time) = time.Unix(seconds, int64(nanos)).UTC()
	return nil
}

// Target returns the struct that v is or points at, which it creates if need
// be.
func Target(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

// AppendDocument appends the JSON of a field of the kind Any.
func AppendDocument(dst []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return dst, ErrNilElement
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct {
		v = v.Field(0)
	}
	return json.Codec{}.Append(dst, &schema.Document{Value: v.Interface()})
}

// SetDocument sets a field of the kind Any from JSON.
func SetDocument(v reflect.Value, b []byte) error {
	v = Target(v)
	if v.Kind() == reflect.Struct {
		v = v.Field(0)
	}
	var doc schema.Document
	if err := (json.Codec{}).Decode(b, &doc); err != nil {
		return err
	}
	if doc.Value == nil {
		v.SetZero()
		return nil
	}
	v.Set(reflect.ValueOf(doc.Value))
	return nil
}
