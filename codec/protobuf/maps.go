package protobuf

import (
	"errors"
	"reflect"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/everywire/everywire/schema"
)

// A mapKind is how a map is reached. The common types of maps are reached as
// what they are; the others through package reflect, which costs an allocation
// and some time for each entry.
type mapKind uint8

const (
	mapAny mapKind = iota
	mapStringString
	mapStringBytes
	mapStringBool
	mapStringInt32
	mapStringInt64
	mapStringInt
	mapStringFloat64
	mapInt32String
	mapInt64String
	mapInt64Int64
)

func mapKindOf(t reflect.Type) mapKind {
	// A type with a name of its own lies in memory as the one it stands for.
	switch reflect.MapOf(t.Key(), t.Elem()) {
	case reflect.TypeFor[map[string]string]():
		return mapStringString
	case reflect.TypeFor[map[string][]byte]():
		return mapStringBytes
	case reflect.TypeFor[map[string]bool]():
		return mapStringBool
	case reflect.TypeFor[map[string]int32]():
		return mapStringInt32
	case reflect.TypeFor[map[string]int64]():
		return mapStringInt64
	case reflect.TypeFor[map[string]int]():
		return mapStringInt
	case reflect.TypeFor[map[string]float64]():
		return mapStringFloat64
	case reflect.TypeFor[map[int32]string]():
		return mapInt32String
	case reflect.TypeFor[map[int64]string]():
		return mapInt64String
	case reflect.TypeFor[map[int64]int64]():
		return mapInt64Int64
	}
	return mapAny
}

// sizeOfMap returns the size of a map's records.
func (f *field) sizeOfMap(v unsafe.Pointer, depth int) int {
	if *(*unsafe.Pointer)(v) == nil {
		return 0
	}
	if depth > schema.MaxDepth {
		return tooDeep
	}
	switch f.entries.kind {
	case mapStringString:
		return sizeOfMap[string, string](f, v)
	case mapStringBytes:
		return sizeOfMap[string, []byte](f, v)
	case mapStringBool:
		return sizeOfMap[string, bool](f, v)
	case mapStringInt32:
		return sizeOfMap[string, int32](f, v)
	case mapStringInt64:
		return sizeOfMap[string, int64](f, v)
	case mapStringInt:
		return sizeOfMap[string, int](f, v)
	case mapStringFloat64:
		return sizeOfMap[string, float64](f, v)
	case mapInt32String:
		return sizeOfMap[int32, string](f, v)
	case mapInt64String:
		return sizeOfMap[int64, string](f, v)
	case mapInt64Int64:
		return sizeOfMap[int64, int64](f, v)
	}
	total := 0
	s := f.entries.take()
	defer f.entries.give(s)
	for it := reflect.NewAt(f.whole, v).Elem().MapRange(); it.Next(); {
		s.load(it)
		n := f.entries.value.sizeOfElement(s.valueAt, depth)
		if n < 0 {
			return tooDeep
		}
		// The tags of key and value are one byte each.
		total += int(f.tagSize) + protowire.SizeBytes(2+f.entries.key.sizeOfScalar(s.keyAt)+n)
	}
	return total
}

func sizeOfMap[K comparable, V any](f *field, v unsafe.Pointer) int {
	total := 0
	for key, value := range *(*map[K]V)(v) {
		n := f.entries.key.sizeOfScalar(unsafe.Pointer(&key)) + f.entries.value.sizeOfScalar(unsafe.Pointer(&value))
		total += int(f.tagSize) + protowire.SizeBytes(2+n)
	}
	return total
}

// mapField writes a map, of which each entry counts as one level.
func (e *encoder) mapField(f *field, v unsafe.Pointer, depth int) error {
	if *(*unsafe.Pointer)(v) == nil {
		return nil
	}
	if depth > schema.MaxDepth && reflect.NewAt(f.whole, v).Elem().Len() > 0 {
		return errDepth
	}
	switch f.entries.kind {
	case mapStringString:
		return mapField[string, string](e, f, v)
	case mapStringBytes:
		return mapField[string, []byte](e, f, v)
	case mapStringBool:
		return mapField[string, bool](e, f, v)
	case mapStringInt32:
		return mapField[string, int32](e, f, v)
	case mapStringInt64:
		return mapField[string, int64](e, f, v)
	case mapStringInt:
		return mapField[string, int](e, f, v)
	case mapStringFloat64:
		return mapField[string, float64](e, f, v)
	case mapInt32String:
		return mapField[int32, string](e, f, v)
	case mapInt64String:
		return mapField[int64, string](e, f, v)
	case mapInt64Int64:
		return mapField[int64, int64](e, f, v)
	}
	return e.anyMap(f, reflect.NewAt(f.whole, v).Elem(), depth)
}

func mapField[K comparable, V any](e *encoder, f *field, v unsafe.Pointer) error {
	for key, value := range *(*map[K]V)(v) {
		start := e.len()
		if err := e.scalar(&f.entries.value, unsafe.Pointer(&value)); err != nil {
			return atKey(any(key), err)
		}
		e.head(&f.entries.value)
		if err := e.scalar(&f.entries.key, unsafe.Pointer(&key)); err != nil {
			return atKey(any(key), err)
		}
		e.head(&f.entries.key)
		e.varint(uint64(e.len() - start))
		e.head(f)
	}
	return nil
}

func (e *encoder) anyMap(f *field, m reflect.Value, depth int) error {
	key, value := &f.entries.key, &f.entries.value
	var texts map[string]bool // of keys that are written as text
	if key.form == formText {
		texts = make(map[string]bool, m.Len())
	}
	s := f.entries.take()
	defer f.entries.give(s)
	for it := m.MapRange(); it.Next(); {
		s.load(it)
		start := e.len()
		if err := e.element(value, s.valueAt, depth); err != nil {
			return atKey(s.key, err)
		}
		e.head(value)
		before := e.len()
		if err := e.element(key, s.keyAt, depth); err != nil {
			return atKey(s.key, err)
		}
		if texts != nil {
			text := string(e.bytes()[:e.len()-before])
			if texts[text] {
				return atKey(s.key, errors.New("two keys have this text"))
			}
			texts[text] = true
		}
		e.head(key)
		e.varint(uint64(e.len() - start))
		e.head(f)
	}
	return nil
}

// mapEntry reads one entry, a message with the key as field 1 and the value as
// field 2, either of which may be missing.
func (f *field) mapEntry(v unsafe.Pointer, data []byte, depth int) error {
	if depth > schema.MaxDepth {
		return errDepth
	}
	switch f.entries.kind {
	case mapStringString:
		return mapEntry[string, string](f, v, data)
	case mapStringBytes:
		return mapEntry[string, []byte](f, v, data)
	case mapStringBool:
		return mapEntry[string, bool](f, v, data)
	case mapStringInt32:
		return mapEntry[string, int32](f, v, data)
	case mapStringInt64:
		return mapEntry[string, int64](f, v, data)
	case mapStringInt:
		return mapEntry[string, int](f, v, data)
	case mapStringFloat64:
		return mapEntry[string, float64](f, v, data)
	case mapInt32String:
		return mapEntry[int32, string](f, v, data)
	case mapInt64String:
		return mapEntry[int64, string](f, v, data)
	case mapInt64Int64:
		return mapEntry[int64, int64](f, v, data)
	}
	s := f.entries.take()
	defer f.entries.give(s)
	// A value that is missing is an empty message, not an absent one.
	switch {
	case s.value.Kind() == reflect.Pointer:
		s.value.Set(reflect.New(s.value.Type().Elem()))
	case f.entries.value.form == formTime:
		*(*time.Time)(s.valueAt) = time.Unix(0, 0).UTC()
	}
	for len(data) > 0 {
		number, wire, n := consumeTag(data)
		if n < 0 {
			return parseError(n)
		}
		data = data[n:]
		var err error
		switch {
		case number == 1 && wire == f.entries.key.wire:
			n, err = f.entries.key.element(s.keyAt, data, depth)
		case number == 2 && wire == f.entries.value.wire:
			if n, err = f.entries.value.element(s.valueAt, data, depth); err != nil {
				err = atKey(s.key, err)
			}
		default:
			n, err = skip(number, wire, data)
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	m := reflect.NewAt(f.whole, v).Elem()
	if m.IsNil() {
		m.Set(reflect.MakeMap(f.whole))
	}
	m.SetMapIndex(s.key, s.value)
	return nil
}

func mapEntry[K comparable, V any](f *field, v unsafe.Pointer, data []byte) error {
	var key K
	var value V
	for len(data) > 0 {
		number, wire, n := consumeTag(data)
		if n < 0 {
			return parseError(n)
		}
		data = data[n:]
		var err error
		switch {
		case number == 1 && wire == f.entries.key.wire:
			n, err = f.entries.key.scalar(unsafe.Pointer(&key), data)
		case number == 2 && wire == f.entries.value.wire:
			if n, err = f.entries.value.scalar(unsafe.Pointer(&value), data); err != nil {
				err = atKey(any(key), err)
			}
		default:
			n, err = skip(number, wire, data)
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	m := (*map[K]V)(v)
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
	return nil
}

// An entry is where one entry of a map lies while it is written or read.
type entry struct {
	key, value     reflect.Value
	keyAt, valueAt unsafe.Pointer
}

func newEntry(e *entries) *entry {
	key, value := reflect.New(e.key.typ), reflect.New(e.value.typ)
	return &entry{key.Elem(), value.Elem(), key.UnsafePointer(), value.UnsafePointer()}
}

func (e *entries) take() *entry { return e.scratch.Get().(*entry) }

func (e *entries) give(s *entry) {
	s.key.SetZero()
	s.value.SetZero()
	e.scratch.Put(s)
}

func (s *entry) load(it *reflect.MapIter) {
	s.key.SetIterKey(it)
	s.value.SetIterValue(it)
}
