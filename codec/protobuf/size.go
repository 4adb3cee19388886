package protobuf

import (
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/everywire/everywire/schema"
)

// Sizes are needed once, of the whole message: to take memory for it at once.
// Inside it the encoder sees each length when it has written what is behind it.
// A size is negative if the message is nested too deep; a cycle of pointers is.

// tooDeep is any size below 0.
const tooDeep = -1

// sizeOf returns the size of the struct at m, whose plan is exact.
func (p *plan) sizeOf(m unsafe.Pointer, depth int) int {
	if depth > schema.MaxDepth {
		return tooDeep
	}
	total := 0
	if p.keeps {
		total = len(*(*[]byte)(unsafe.Add(m, p.unknown)))
	}
	for i := range p.fields {
		f := &p.fields[i]
		n := f.sizeOf(unsafe.Add(m, f.offset), depth)
		if n < 0 {
			return tooDeep
		}
		total += n
	}
	return total
}

// sizeOf returns the size of the field's records.
func (f *field) sizeOf(v unsafe.Pointer, depth int) int {
	switch f.shape {
	case optional:
		if v = *(*unsafe.Pointer)(v); v == nil {
			return 0
		}
		return int(f.tagSize) + f.sizeOfScalar(v)
	case list:
		return f.sizeOfList((*slice)(v), depth+1)
	case mapping:
		return f.sizeOfMap(v, depth+1)
	}
	switch f.form {
	case formString:
		if n := len(*(*string)(v)); n != 0 {
			return int(f.tagSize) + protowire.SizeBytes(n)
		}
		return 0
	case formBytes:
		if n := len(*(*[]byte)(v)); n != 0 {
			return int(f.tagSize) + protowire.SizeBytes(n)
		}
		return 0
	case formBool:
		if *(*bool)(v) {
			return int(f.tagSize) + 1
		}
		return 0
	case formFloat32:
		if *(*uint32)(v) != 0 {
			return int(f.tagSize) + 4
		}
		return 0
	case formFloat64:
		if *(*uint64)(v) != 0 {
			return int(f.tagSize) + 8
		}
		return 0
	case formInt64, formUint64:
		if x := *(*uint64)(v); x != 0 {
			return int(f.tagSize) + protowire.SizeVarint(x)
		}
		return 0
	case formStruct:
		return f.withTag(f.sizeOfElement(v, depth))
	}
	if f.absent(v) {
		return 0
	}
	return f.withTag(f.sizeOfElement(v, depth))
}

func (f *field) withTag(n int) int {
	if n < 0 {
		return tooDeep
	}
	return int(f.tagSize) + n
}

// sizeOfList returns the size of a list's records.
func (f *field) sizeOfList(s *slice, depth int) int {
	if s.len == 0 {
		return 0
	}
	if depth > schema.MaxDepth {
		return tooDeep
	}
	total := 0
	switch f.form {
	case formBool:
		total = s.len
	case formFloat32:
		total = 4 * s.len
	case formFloat64:
		total = 8 * s.len
	case formInt64:
		for _, x := range *(*[]int64)(unsafe.Pointer(s)) {
			total += protowire.SizeVarint(uint64(x))
		}
	case formString:
		for _, x := range *(*[]string)(unsafe.Pointer(s)) {
			total += protowire.SizeBytes(len(x))
		}
	default:
		for i := range s.len {
			n := f.sizeOfElement(s.at(i, f.size), depth)
			if n < 0 {
				return tooDeep
			}
			total += n
		}
	}
	if f.packed {
		return int(f.tagSize) + protowire.SizeBytes(total)
	}
	return s.len*int(f.tagSize) + total
}

// sizeOfElement returns the size of one value, with its length if it has one,
// without a tag.
func (f *field) sizeOfElement(v unsafe.Pointer, depth int) int {
	n := 0
	switch f.form {
	case formStruct:
		n = f.message.sizeOf(v, depth+1)
	case formStructPointer:
		// A nil one in a list or map is an error, which the encoder finds.
		if v = *(*unsafe.Pointer)(v); v != nil {
			n = f.message.sizeOf(v, depth+1)
		}
	default:
		return f.sizeOfScalar(v)
	}
	if n < 0 {
		return tooDeep
	}
	return protowire.SizeBytes(n)
}

// sizeOfScalar is sizeOfElement for what is no message, see [encoder.scalar].
func (f *field) sizeOfScalar(v unsafe.Pointer) int {
	switch f.form {
	case formBool:
		return 1
	case formFloat32:
		return 4
	case formFloat64:
		return 8
	case formString:
		return protowire.SizeBytes(len(*(*string)(v)))
	case formBytes:
		return protowire.SizeBytes(len(*(*[]byte)(v)))
	case formTime:
		t := (*time.Time)(v)
		return sizeOfSecondsNanos(t.Unix(), int64(t.Nanosecond()))
	case formDuration:
		d := *(*time.Duration)(v)
		return sizeOfSecondsNanos(int64(d/time.Second), int64(d%time.Second))
	default:
		return protowire.SizeVarint(f.integer(v))
	}
}

// sizeOfSecondsNanos returns the size of the message that Timestamp and
// Duration both are, with its length, which is below 128.
func sizeOfSecondsNanos(seconds, nanos int64) int {
	n := 1
	if seconds != 0 {
		n += 1 + protowire.SizeVarint(uint64(seconds))
	}
	if nanos != 0 {
		n += 1 + protowire.SizeVarint(uint64(nanos))
	}
	return n
}
