package cbor

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
)

// A valueType is what a value is, whatever its width.
type valueType uint8

const (
	typeInvalid valueType = iota
	typeNil               // null or undefined
	typeBool
	typeInt
	typeBig // an integer beyond 64 bits
	typeFloat
	typeStr
	typeBin
	typeArray
	typeMap
	typeExt    // a time: tag 0 or 1
	typeSimple // a simple value that the RFC gives no meaning
)

// String returns the type with its article, for messages such as "a text
// string where an integer is needed".
func (t valueType) String() string {
	return [...]string{
		"an invalid value", "null", "a bool", "an integer", "an integer beyond 64 bits", "a float",
		"a text string", "a byte string", "an array", "a map", "a tagged time", "a simple value",
	}[t]
}

// An item is the head of a data item as RFC 8949, section 3, has it.
type item struct {
	major byte
	info  byte
	arg   uint64
	size  int // bytes of the head itself
}

// indefinite is the additional information of an item of indefinite length, and
// of the break at its end.
const indefinite = 31

// isBreak reports whether it is the end of an item of indefinite length.
func (it item) isBreak() bool { return it.major == majorSimple && it.info == indefinite }

// item parses the head that comes next, without reading it.
func (r *reader) item() (item, error) {
	b := r.data[r.pos:]
	if len(b) == 0 {
		return item{}, r.errorf("the input ends where a value should be")
	}
	it := item{major: b[0] >> 5, info: b[0] & 31, size: 1}
	switch {
	case it.info < 24:
		it.arg = uint64(it.info)
		return it, nil
	case it.info == indefinite && it.major != majorUint && it.major != majorNegint && it.major != majorTag:
		return it, nil
	case it.info > 27:
		return item{}, r.errorf("the byte 0x%02x begins no value", b[0])
	}
	width := 1 << (it.info - 24)
	if it.size += width; len(b) < it.size {
		return item{}, r.errorf("the input ends where a value should be")
	}
	switch width {
	case 1:
		it.arg = uint64(b[1])
		if it.major == majorSimple && it.arg < 32 { // section 3.3: not well-formed
			return item{}, r.errorf("the simple value %d in two bytes", it.arg)
		}
	case 2:
		it.arg = uint64(binary.BigEndian.Uint16(b[1:]))
	case 4:
		it.arg = uint64(binary.BigEndian.Uint32(b[1:]))
	default:
		it.arg = binary.BigEndian.Uint64(b[1:])
	}
	return it, nil
}

// claimed parses the next head as item does, and checks that what it claims can
// follow.
func (r *reader) claimed() (item, error) {
	it, err := r.item()
	if err != nil {
		return it, err
	}
	if it.info == indefinite {
		if it.isBreak() {
			return it, r.errorf("a break where a value should be")
		}
		r.indefinite = true
		return it, r.errorf("an item of indefinite length")
	}
	left := uint64(r.Len() - it.size)
	switch it.major {
	case majorMap:
		left /= 2 // each key and each value takes a byte
		fallthrough
	case majorBytes, majorText, majorArray:
		if it.arg > left {
			return it, r.errorf("%v claims a length of %d with %d bytes left", typeOf(it), it.arg, r.Len()-it.size)
		}
	}
	return it, nil
}

func typeOf(it item) valueType {
	switch it.major {
	case majorUint, majorNegint:
		return typeInt
	case majorBytes:
		return typeBin
	case majorText:
		return typeStr
	case majorArray:
		return typeArray
	case majorMap:
		return typeMap
	case majorTag:
		return typeExt
	}
	switch it.info {
	case simpleFalse & 31, simpleTrue & 31:
		return typeBool
	case simpleNull & 31, simpleUndefined & 31:
		return typeNil
	case simpleFloat16 & 31, simpleFloat32 & 31, simpleFloat64 & 31:
		return typeFloat
	}
	return typeSimple
}

// A head is what the decoder needs to know of a value before it reads it.
type head struct {
	typ    valueType
	size   int    // bytes before the content; of a big integer, of all of it
	bits   uint64 // an integer's, as of an int64 if it is below zero
	below  bool   // whether an integer is below zero
	double float64
	length uint64 // bytes that follow (strings), or elements or pairs
}

func (h head) negative() bool { return h.below }

func (h head) float() float64 { return h.double }

// peek parses the head of the next value, passing over tags that say nothing
// that is needed here.
func (r *reader) peek() (head, error) {
	it, err := r.claimed()
	for err == nil && it.major == majorTag && it.arg > tagNegativeBignum {
		r.pos += it.size
		it, err = r.claimed()
	}
	if err != nil {
		return head{}, err
	}
	h := head{typ: typeOf(it), size: it.size, length: it.arg}
	switch it.major {
	case majorUint:
		h.bits = it.arg
	case majorNegint:
		h.bits, h.below = ^it.arg, true
		if it.arg > math.MaxInt64 {
			h.typ, h.bits, h.length = typeBig, it.arg, 0
		}
	case majorTag:
		if it.arg == tagBignum || it.arg == tagNegativeBignum {
			return r.bignum(it)
		}
		h.bits = it.arg
	case majorSimple:
		h.bits = it.arg
		switch it.info {
		case simpleFloat16 & 31:
			h.double = fromHalf(uint16(it.arg))
		case simpleFloat32 & 31:
			h.double = float64(math.Float32frombits(uint32(it.arg)))
		case simpleFloat64 & 31:
			h.double = math.Float64frombits(it.arg)
		}
	}
	return h, nil
}

// bignum parses the integer whose tag is it; section 3.4.3. One that fits
// into 64 bits is like any other.
func (r *reader) bignum(it item) (head, error) {
	start := r.pos
	r.pos += it.size
	content, err := r.claimed()
	r.pos = start
	switch {
	case err != nil:
		return head{}, err
	case content.major != majorBytes:
		return head{}, r.errorf("%v in a bignum, where a byte string is needed", typeOf(content))
	}
	h := head{typ: typeBig, size: it.size + content.size + int(content.arg), below: it.arg == tagNegativeBignum}
	digits := r.data[start+h.size-int(content.arg) : start+h.size]
	for len(digits) > 0 && digits[0] == 0 {
		digits = digits[1:]
	}
	h.length = uint64(len(digits))
	if h.length > 8 {
		return h, nil
	}
	for _, c := range digits {
		h.bits = h.bits<<8 | uint64(c)
	}
	h.length = 0
	if !h.below {
		h.typ = typeInt
	} else if h.bits <= math.MaxInt64 {
		h.typ, h.bits = typeInt, ^h.bits
	}
	return h, nil
}

// maxBig is how many bytes an integer may have, here and in what is written:
// to make digits of them takes time in the square of their number.
const maxBig = 1024

// big returns the integer whose head, of type typeBig, is h.
func (r *reader) big(h head) (*big.Int, error) {
	if h.length > maxBig {
		return nil, r.errorf("an integer of %d bytes: at most %d are read", h.length, maxBig)
	}
	n := new(big.Int).SetUint64(h.bits)
	if h.length > 0 {
		end := r.pos + h.size
		n.SetBytes(r.data[end-int(h.length) : end])
	}
	if h.below {
		n.Not(n) // -1-n
	}
	return n, nil
}

func (r *reader) errorf(format string, args ...any) error {
	return &Error{Offset: r.pos, Reason: fmt.Sprintf(format, args...)}
}
