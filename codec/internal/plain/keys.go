package plain

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/everywire/everywire/schema"
)

// A Key is a key of a map.
type Key struct {
	// Value is the key as the map has it.
	Value reflect.Value
	// Written is what stands for it in the encoding: a string for a key that is
	// written as text, and else Value.
	Written reflect.Value
}

// SortedKeys returns the keys of the map m in the order in which they are
// written: false before true, numbers by value, strings by bytes. Kind is what
// the keys are, and text says that they go through encoding.TextMarshaler.
func SortedKeys(m reflect.Value, kind schema.Kind, text bool) ([]Key, error) {
	keys := make([]Key, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		k := Key{it.Key(), it.Key()}
		if text {
			b, err := Text(k.Value)
			if err != nil {
				return nil, AtKey(k.Value, err)
			}
			k.Written = reflect.ValueOf(string(b))
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int { return compare(kind, a.Written, b.Written) })
	for i := 1; text && i < len(keys); i++ {
		if keys[i].Written.String() == keys[i-1].Written.String() {
			return nil, AtKey(keys[i].Written, ErrSameText)
		}
	}
	return keys, nil
}

func compare(kind schema.Kind, a, b reflect.Value) int {
	switch {
	case kind == schema.String:
		return cmp.Compare(a.String(), b.String())
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case b.Bool() && !a.Bool():
		return -1
	default: // the two bools differ
		return 1
	}
}
