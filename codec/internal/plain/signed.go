package plain

import (
	"fmt"
	"reflect"
)

// SetSigned sets an integer of any unsigned type from a signed one: for encodings
// that have no unsigned integers. All values of up to 32 bits are positive there;
// those of 64 bits are in two's complement.
func SetSigned(v reflect.Value, n int64) error {
	if n < 0 && v.Type().Bits() < 64 {
		return fmt.Errorf("%d is out of range for %s", n, v.Kind())
	}
	return SetUint(v, uint64(n)) //nolint:gosec // two's complement
}

// SetFloat sets a float of any type from one of 64 bits, which may not fit.
func SetFloat(v reflect.Value, f float64) error {
	if v.OverflowFloat(f) {
		return fmt.Errorf("%v is out of range for %s", f, v.Kind())
	}
	v.SetFloat(f)
	return nil
}

// Struct returns the struct that v is or points at, as an element of a list or
// map, where a nil pointer is an error.
func Struct(v reflect.Value) (reflect.Value, error) {
	if v.Kind() != reflect.Pointer {
		return v, nil
	}
	if v.IsNil() {
		return v, ErrNilElement
	}
	return v.Elem(), nil
}
