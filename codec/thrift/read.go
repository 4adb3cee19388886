package thrift

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// A decoder reads values one after another.
type decoder struct {
	data    []byte
	pos     int
	compact bool
	depth   int
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func (d *decoder) release() {
	*d = decoder{}
	decoders.Put(d)
}

func (d *decoder) errorf(offset int, format string, args ...any) error {
	return &plain.Error{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// enter counts one more level of nesting. The caller leaves it by depth--,
// unless there was an error, which ends the decoding.
func (d *decoder) enter() error {
	if d.depth++; d.depth > schema.MaxDepth {
		return plain.From(d.pos, plain.ErrDepth)
	}
	return nil
}

// take returns the next n bytes.
func (d *decoder) take(n int) ([]byte, error) {
	if len(d.data)-d.pos < n {
		return nil, d.errorf(d.pos, "the input ends in the middle of a value: %d bytes are needed, %d are there", n, len(d.data)-d.pos)
	}
	b := d.data[d.pos : d.pos+n]
	d.pos += n
	return b, nil
}

func (d *decoder) byte() (byte, error) {
	if d.pos >= len(d.data) {
		return 0, d.errorf(d.pos, "the input ends in the middle of a value")
	}
	b := d.data[d.pos]
	d.pos++
	return b, nil
}

func (d *decoder) uvarint() (uint64, error) {
	n, size := binary.Uvarint(d.data[d.pos:])
	switch {
	case size == 0:
		return 0, d.errorf(d.pos, "the input ends in the middle of an integer")
	case size < 0:
		return 0, d.errorf(d.pos, "an integer of more than 64 bits")
	}
	d.pos += size
	return n, nil
}

// zigzag reads an integer of the compact protocol that must have at most so many
// bits.
func (d *decoder) zigzag(bits int) (int64, error) {
	start := d.pos
	u, err := d.uvarint()
	if err != nil {
		return 0, err
	}
	n := int64(u>>1) ^ -int64(u&1) //nolint:gosec // as zigzag has it
	if n != n<<(64-bits)>>(64-bits) {
		return 0, d.errorf(start, "%d does not fit an i%d", n, bits)
	}
	return n, nil
}

func (d *decoder) i16() (int16, error) {
	if d.compact {
		n, err := d.zigzag(16)
		return int16(n), err //nolint:gosec // checked
	}
	b, err := d.take(2)
	if err != nil {
		return 0, err
	}
	return int16(binary.BigEndian.Uint16(b)), nil //nolint:gosec // two's complement
}

func (d *decoder) i32() (int32, error) {
	if d.compact {
		n, err := d.zigzag(32)
		return int32(n), err //nolint:gosec // checked
	}
	b, err := d.take(4)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(b)), nil //nolint:gosec // two's complement
}

func (d *decoder) i64() (int64, error) {
	if d.compact {
		return d.zigzag(64)
	}
	b, err := d.take(8)
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b)), nil //nolint:gosec // two's complement
}

func (d *decoder) double() (float64, error) {
	b, err := d.take(8)
	if err != nil {
		return 0, err
	}
	if d.compact {
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
}

// bool reads a bool that is no field. Anything but true is false, as generated
// code has it.
func (d *decoder) bool() (bool, error) {
	b, err := d.byte()
	return b == 1, err
}

// size reads a length, or a count of values of at least so many bytes each, that
// is no more than what has arrived.
func (d *decoder) size(least int) (int, error) {
	start := d.pos
	var n int64
	if d.compact {
		u, err := d.uvarint()
		if err != nil {
			return 0, err
		}
		n = int64(min(u, math.MaxInt64)) //nolint:gosec // bounded
	} else {
		i, err := d.i32()
		if err != nil {
			return 0, err
		}
		n = int64(i)
	}
	return d.counted(start, n, least)
}

// counted checks a claim of n values of at least so many bytes each.
func (d *decoder) counted(start int, n int64, least int) (int, error) {
	switch left := len(d.data) - d.pos; {
	case n < 0:
		return 0, d.errorf(start, "the length or count %d is negative", n)
	case n > int64(left/least):
		return 0, d.errorf(start, "a length or count of %d, but only %d bytes follow", n, left)
	}
	return int(n), nil
}

// bytes reads a string or binary; the result is part of the input.
func (d *decoder) bytes() ([]byte, error) {
	n, err := d.size(1)
	if err != nil {
		return nil, err
	}
	return d.take(n)
}

// fieldHeader reads the type and the id of the next field of a struct, in which
// the one before is last. In the compact protocol a bool's value is in there.
func (d *decoder) fieldHeader(last int16) (t wireType, id int16, value bool, err error) {
	start := d.pos
	b, err := d.byte()
	if err != nil || b == byte(typeStop) {
		return typeStop, 0, false, err
	}
	if d.compact {
		t, value = fromCompact[b&0xf], b&0xf == compactTrue
		if delta := int(b >> 4); delta == 0 {
			id, err = d.i16()
		} else if int(last)+delta > math.MaxInt16 {
			err = d.errorf(start, "a field number above %d", math.MaxInt16)
		} else {
			id = last + int16(delta)
		}
	} else {
		t = wireType(b)
		id, err = d.i16()
	}
	if err == nil && !t.known() {
		err = d.errorf(start, "a field of an unknown type (0x%02x)", b)
	}
	return t, id, value, err
}

// elemType checks the type of the elements of a list, set or map.
func (d *decoder) elemType(start int, b byte) (wireType, error) {
	t := wireType(b)
	if d.compact {
		t = fromCompact[b&0xf]
	}
	if !t.known() {
		return t, d.errorf(start, "elements of an unknown type (0x%02x)", b)
	}
	return t, nil
}

// listHeader reads the type and the number of the elements of a list or set. That
// of none says nothing: some write no type then.
func (d *decoder) listHeader() (elem wireType, n int, err error) {
	start := d.pos
	b, err := d.byte()
	if err != nil {
		return 0, 0, err
	}
	elem, typeErr := d.elemType(start, b)
	least := 1
	if typeErr == nil {
		least = elem.least(d.compact)
	}
	if short := b >> 4; d.compact && short < 15 {
		n, err = d.counted(start, int64(short), least)
	} else {
		n, err = d.size(least)
	}
	if err == nil && n > 0 {
		err = typeErr
	}
	return elem, n, err
}

// mapHeader reads the types and the number of the entries of a map.
func (d *decoder) mapHeader() (key, value wireType, n int, err error) {
	start := d.pos
	var codes [2]byte
	if d.compact {
		if n, err = d.size(1); err != nil || n == 0 {
			return 0, 0, 0, err
		}
		both, err := d.byte()
		if err != nil {
			return 0, 0, 0, err
		}
		codes = [2]byte{both >> 4, both & 0xf}
	} else {
		b, err := d.take(2)
		if err != nil {
			return 0, 0, 0, err
		}
		codes = [2]byte(b)
		if n, err = d.size(1); err != nil || n == 0 {
			return 0, 0, 0, err
		}
	}
	if key, err = d.elemType(start, codes[0]); err == nil {
		value, err = d.elemType(start, codes[1])
	}
	if err == nil {
		n, err = d.counted(start, int64(n), key.least(d.compact)+value.least(d.compact))
	}
	return key, value, n, err
}
