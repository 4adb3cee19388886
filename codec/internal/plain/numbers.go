package plain

import (
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
)

var order = binary.LittleEndian

// PutNumbers writes the numbers of a list one behind the other into b, the lowest byte
// first, without reflection for each. It does so for the most common types of lists,
// which hold numbers of 32 or 64 bits, and else returns false.
func PutNumbers(b []byte, v reflect.Value) bool {
	switch list := v.Addr().Interface().(type) {
	case *[]int64:
		for i, n := range *list {
			order.PutUint64(b[8*i:], uint64(n)) //nolint:gosec // its two's complement
		}
	case *[]int:
		for i, n := range *list {
			order.PutUint64(b[8*i:], uint64(n)) //nolint:gosec // its two's complement
		}
	case *[]uint64:
		for i, n := range *list {
			order.PutUint64(b[8*i:], n)
		}
	case *[]int32:
		for i, n := range *list {
			order.PutUint32(b[4*i:], uint32(n)) //nolint:gosec // its two's complement
		}
	case *[]float64:
		for i, n := range *list {
			order.PutUint64(b[8*i:], math.Float64bits(n))
		}
	default:
		return false
	}
	return true
}

// Numbers reads n numbers that [PutNumbers] has written; that they are there has been
// checked. It returns false for what it does not know.
func Numbers(data []byte, n int, v reflect.Value) bool {
	switch list := v.Addr().Interface().(type) {
	case *[]int64:
		*list = make([]int64, n)
		for i := range *list {
			(*list)[i] = int64(order.Uint64(data[8*i:])) //nolint:gosec // its two's complement
		}
	case *[]int:
		if strconv.IntSize < 64 {
			return false // an element may be out of range
		}
		*list = make([]int, n)
		for i := range *list {
			(*list)[i] = int(order.Uint64(data[8*i:])) //nolint:gosec // its two's complement
		}
	case *[]uint64:
		*list = make([]uint64, n)
		for i := range *list {
			(*list)[i] = order.Uint64(data[8*i:])
		}
	case *[]int32:
		*list = make([]int32, n)
		for i := range *list {
			(*list)[i] = int32(order.Uint32(data[4*i:])) //nolint:gosec // its two's complement
		}
	case *[]float64:
		*list = make([]float64, n)
		for i := range *list {
			(*list)[i] = math.Float64frombits(order.Uint64(data[8*i:]))
		}
	default:
		return false
	}
	return true
}
