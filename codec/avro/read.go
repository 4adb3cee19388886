package avro

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
)

// A decoder reads values one after another.
type decoder struct {
	data  []byte
	pos   int
	depth int
	empty int // items so far that took no bytes
}

// maxEmpty bounds the items of one message that take no bytes, such as records
// without fields: a count of them cannot be held against what has arrived.
const maxEmpty = 1 << 16

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

func (d *decoder) bool() (bool, error) {
	b, err := d.take(1)
	if err != nil {
		return false, err
	}
	if b[0] > 1 {
		return false, d.errorf(d.pos-1, "the byte 0x%02x is no boolean", b[0])
	}
	return b[0] == 1, nil
}

// long reads a long, which is zigzag as in package binary.
func (d *decoder) long() (int64, error) {
	n, size := binary.Varint(d.data[d.pos:])
	switch {
	case size == 0:
		return 0, d.errorf(d.pos, "the input ends in the middle of an integer")
	case size < 0:
		return 0, d.errorf(d.pos, "an integer of more than 64 bits")
	}
	d.pos += size
	return n, nil
}

// int reads an int, which has 32 bits.
func (d *decoder) int() (int64, error) {
	start := d.pos
	n, err := d.long()
	if err == nil && n != int64(int32(n)) { //nolint:gosec // that is the question
		err = d.errorf(start, "%d does not fit an int", n)
	}
	return n, err
}

func (d *decoder) float() (float64, error) {
	b, err := d.take(4)
	if err != nil {
		return 0, err
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), nil
}

func (d *decoder) double() (float64, error) {
	b, err := d.take(8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
}

// bytes reads a string or bytes; the result is part of the input.
func (d *decoder) bytes() ([]byte, error) {
	start := d.pos
	n, err := d.long()
	if err != nil {
		return nil, err
	}
	if left := len(d.data) - d.pos; n < 0 || n > int64(left) {
		return nil, d.errorf(start, "a length of %d, but %d bytes follow", n, left)
	}
	return d.take(int(n))
}

func (d *decoder) str() (string, error) {
	start := d.pos
	b, err := d.bytes()
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", plain.From(start, plain.ErrUTF8)
	}
	return string(b), nil
}

// branch reads which of n branches of a union follows.
func (d *decoder) branch(n int) (int, error) {
	start := d.pos
	i, err := d.long()
	if err == nil && (i < 0 || i >= int64(n)) {
		err = d.errorf(start, "a union of %d branches has none of the number %d", n, i)
	}
	return int(i), err
}

// block reads the head of the next block of an array or a map: how many items it
// has, of at least so many bytes each, and how many bytes, or -1 if it does not
// say. An array or map ends with a block of none.
func (d *decoder) block(least int) (n, size int, err error) {
	start := d.pos
	count, err := d.long()
	if err != nil || count == 0 {
		return 0, 0, err
	}
	size = -1
	if count < 0 { // then the block's size follows
		bytes, err := d.long()
		if err != nil {
			return 0, 0, err
		}
		if bytes < 0 || bytes > int64(len(d.data)-d.pos) {
			return 0, 0, d.errorf(start, "a block of %d bytes, but %d follow", bytes, len(d.data)-d.pos)
		}
		count, size = -count, int(bytes)
	}
	left := len(d.data) - d.pos
	switch {
	case count < 0: // there is a negative number without a positive one
		return 0, 0, d.errorf(start, "a block of too many items")
	case least == 0:
		if count > int64(maxEmpty-d.empty) {
			return 0, 0, d.errorf(start, "more than %d items that take no bytes", maxEmpty)
		}
		d.empty += int(count)
	case count > int64(left/least):
		return 0, 0, d.errorf(start, "a block of %d items, but only %d bytes follow", count, left)
	}
	return int(count), size, nil
}

// skip passes over a value.
func (d *decoder) skip(t *avsc.Type) (err error) {
	switch t.Kind {
	case avsc.Null:
	case avsc.Boolean:
		_, err = d.bool()
	case avsc.Int, avsc.Long, avsc.Enum:
		_, err = d.long()
	case avsc.Float, avsc.Double:
		_, err = d.take(t.Least)
	case avsc.Fixed:
		_, err = d.take(t.Size)
	case avsc.Bytes, avsc.String:
		_, err = d.bytes()
	case avsc.Union: // no level of its own, and never in another
		var i int
		if i, err = d.branch(len(t.Branches)); err == nil {
			err = d.skip(t.Branches[i])
		}
	default:
		if err = d.enter(); err == nil {
			err = d.skipInside(t)
			d.depth--
		}
	}
	return err
}

func (d *decoder) skipInside(t *avsc.Type) error {
	switch t.Kind {
	case avsc.Record:
		for i := range t.Fields {
			if err := d.skip(t.Fields[i].Type); err != nil {
				return plain.At(t.Fields[i].Name, err)
			}
		}
	case avsc.Array:
		return d.skipBlocks(t.Elem.Least, func() error { return d.skip(t.Elem) })
	case avsc.Map:
		return d.skipBlocks(1+t.Elem.Least, func() error {
			_, err := d.bytes()
			if err == nil {
				err = d.skip(t.Elem)
			}
			return err
		})
	}
	return nil
}

func (d *decoder) skipBlocks(least int, item func() error) error {
	for {
		n, size, err := d.block(least)
		if err != nil || n == 0 {
			return err
		}
		if size >= 0 {
			d.pos += size // it is checked
			continue
		}
		for range n {
			if err := item(); err != nil {
				return err
			}
		}
	}
}
