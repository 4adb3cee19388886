package msgpack

import "encoding/binary"

// Type is the type of a value, whatever its format and width.
type Type uint8

// The types of MessagePack values.
const (
	Invalid Type = iota
	Nil
	Bool
	Int
	Float
	Str
	Bin
	Array
	Map
	Ext
)

// String returns the type with its article, for messages such as "a string
// where an integer is needed".
func (t Type) String() string {
	return [...]string{"an invalid value", "nil", "a bool", "an integer", "a float", "a string", "a bin", "an array", "a map", "an extension"}[t]
}

// A head is a value's format byte and what directly follows it: a number, or
// the length of what comes next.
type head struct {
	typ    Type
	format byte
	size   int    // bytes of the head itself
	bits   uint64 // a number's bits as they stand, or a bool
	length uint64 // bytes that follow (str, bin, ext), or elements or pairs
	ext    int8   // the extension's type
}

// parseHead reads the head at the beginning of b. If b is too short it returns
// a head of type Invalid that says in size how many bytes are needed. A head of
// type Invalid and size 0 is the format byte that is not used.
func parseHead(b []byte) head {
	if len(b) == 0 {
		return head{size: 1}
	}
	c := b[0]
	switch {
	case c < fixmap:
		return head{typ: Int, format: c, size: 1, bits: uint64(c)}
	case c < fixarray:
		return head{typ: Map, format: c, size: 1, length: uint64(c & 0x0f)}
	case c < fixstr:
		return head{typ: Array, format: c, size: 1, length: uint64(c & 0x0f)}
	case c < formatNil:
		return head{typ: Str, format: c, size: 1, length: uint64(c & 0x1f)}
	case c >= negativeFixint:
		return head{typ: Int, format: c, size: 1, bits: uint64(int64(int8(c)))}
	}
	f := formats[c-formatNil]
	h := head{typ: f.typ, format: c, size: 1 + int(f.width)}
	if f.typ == Ext {
		h.size++
	}
	if f.typ == Invalid {
		return head{format: c}
	}
	if len(b) < h.size {
		return head{format: c, size: h.size}
	}
	var x uint64
	switch f.width {
	case 1:
		x = uint64(b[1])
	case 2:
		x = uint64(binary.BigEndian.Uint16(b[1:]))
	case 4:
		x = uint64(binary.BigEndian.Uint32(b[1:]))
	case 8:
		x = binary.BigEndian.Uint64(b[1:])
	}
	switch f.typ {
	case Str, Bin, Array, Map:
		h.length = x
	case Ext:
		h.length = x + uint64(f.fixed)
		h.ext = int8(b[h.size-1])
	case Bool:
		h.bits = uint64(c - formatFalse)
	case Int:
		switch c {
		case formatInt8:
			x = uint64(int64(int8(x)))
		case formatInt16:
			x = uint64(int64(int16(x)))
		case formatInt32:
			x = uint64(int64(int32(x)))
		}
		h.bits = x
	default:
		h.bits = x
	}
	return h
}

// negative reports whether an integer's bits are those of a negative one.
func (h head) negative() bool { return int64(h.bits) < 0 && h.format != formatUint64 }

// formats are the format bytes from 0xc0 to 0xdf.
var formats = [32]struct {
	typ   Type
	width uint8 // bytes of the number or length that follows
	fixed uint8 // length of a fixext
}{
	{Nil, 0, 0}, {Invalid, 0, 0}, {Bool, 0, 0}, {Bool, 0, 0}, // c0
	{Bin, 1, 0}, {Bin, 2, 0}, {Bin, 4, 0}, // c4
	{Ext, 1, 0}, {Ext, 2, 0}, {Ext, 4, 0}, // c7
	{Float, 4, 0}, {Float, 8, 0}, // ca
	{Int, 1, 0}, {Int, 2, 0}, {Int, 4, 0}, {Int, 8, 0}, // cc, unsigned
	{Int, 1, 0}, {Int, 2, 0}, {Int, 4, 0}, {Int, 8, 0}, // d0, signed
	{Ext, 0, 1}, {Ext, 0, 2}, {Ext, 0, 4}, {Ext, 0, 8}, {Ext, 0, 16}, // d4
	{Str, 1, 0}, {Str, 2, 0}, {Str, 4, 0}, // d9
	{Array, 2, 0}, {Array, 4, 0}, // dc
	{Map, 2, 0}, {Map, 4, 0}, // de
}

// sizes has for each format byte the bytes that a value takes, where the byte
// alone says that: numbers, nil, bools, fixstr and fixext. Of others it is 0.
var sizes = func() (t [256]uint8) {
	for c := range t {
		switch h := parseHead([]byte{byte(c), 0, 0, 0, 0, 0, 0, 0, 0}); {
		case h.typ == Nil || h.typ == Bool || h.typ == Int || h.typ == Float:
			t[c] = uint8(h.size)
		case h.typ == Str && h.size == 1, h.typ == Ext && h.size == 2:
			t[c] = uint8(h.size) + uint8(h.length)
		}
	}
	return t
}()
