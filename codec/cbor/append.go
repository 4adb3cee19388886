package cbor

import (
	"encoding/binary"
	"math"
	"math/big"
	"time"

	"github.com/everywire/everywire/codec/internal/text"
)

// Major types; RFC 8949, section 3.1.
const (
	majorUint   = 0
	majorNegint = 1
	majorBytes  = 2
	majorText   = 3
	majorArray  = 4
	majorMap    = 5
	majorTag    = 6
	majorSimple = 7
)

// Initial bytes of major type 7; section 3.3.
const (
	simpleFalse     = 0xf4
	simpleTrue      = 0xf5
	simpleNull      = 0xf6
	simpleUndefined = 0xf7
	simpleFloat16   = 0xf9
	simpleFloat32   = 0xfa
	simpleFloat64   = 0xfb
)

// Tag numbers; section 3.4.
const (
	tagTime           = 0 // RFC 3339 text
	tagEpoch          = 1 // seconds since 1970
	tagBignum         = 2
	tagNegativeBignum = 3
)

// appendHead appends the head of an item: its major type and argument, in the
// shortest form.
func appendHead(b []byte, major byte, n uint64) []byte {
	major <<= 5
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, major|27), n)
	}
}

func appendNil(b []byte) []byte { return append(b, simpleNull) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, simpleTrue)
	}
	return append(b, simpleFalse)
}

func appendInt(b []byte, v int64) []byte {
	if v < 0 {
		return appendHead(b, majorNegint, uint64(^v)) // -1-v
	}
	return appendHead(b, majorUint, uint64(v))
}

func appendUint(b []byte, v uint64) []byte { return appendHead(b, majorUint, v) }

func appendFloat32(b []byte, v float32) []byte {
	if v != v {
		return append(b, simpleFloat16, 0x7e, 0) // the one NaN of section 4.2.2
	}
	if h, ok := toHalf(v); ok {
		return binary.BigEndian.AppendUint16(append(b, simpleFloat16), h)
	}
	return binary.BigEndian.AppendUint32(append(b, simpleFloat32), math.Float32bits(v))
}

func appendFloat64(b []byte, v float64) []byte {
	if f := float32(v); float64(f) == v || math.IsNaN(v) {
		return appendFloat32(b, f)
	}
	return binary.BigEndian.AppendUint64(append(b, simpleFloat64), math.Float64bits(v))
}

// toHalf returns f in half precision, if that holds it exactly. It is not for
// NaN.
func toHalf(f float32) (half uint16, ok bool) {
	bits := math.Float32bits(f)
	sign, exp, frac := uint16(bits>>16&0x8000), int(bits>>23&0xff)-127, bits&(1<<23-1)
	switch {
	case bits<<1 == 0: // zero
		return sign, true
	case exp == 128: // infinity
		return sign | 0x7c00, true
	case exp >= -14 && exp <= 15:
		return sign | uint16(exp+15)<<10 | uint16(frac>>13), frac&(1<<13-1) == 0
	case exp >= -24 && exp < -14: // a subnormal half, in steps of 2^-24
		frac |= 1 << 23
		shift := -1 - exp
		return sign | uint16(frac>>shift), frac&(1<<shift-1) == 0
	}
	return 0, false
}

// fromHalf returns the value of a float in half precision.
func fromHalf(half uint16) float64 {
	exp, frac := int(half>>10&0x1f), int(half&0x3ff)
	var f float64
	switch exp {
	case 0:
		f = math.Ldexp(float64(frac), -24)
	case 31:
		f = math.Inf(1)
		if frac != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(float64(frac|1<<10), exp-25)
	}
	if half&0x8000 != 0 {
		f = -f
	}
	return f
}

func appendString(b []byte, s string) []byte {
	return append(appendStrHeader(b, len(s)), s...)
}

func appendStrHeader(b []byte, n int) []byte { return appendHead(b, majorText, uint64(n)) }

func appendBinary(b, v []byte) []byte {
	return append(appendHead(b, majorBytes, uint64(len(v))), v...)
}

func appendArrayHeader(b []byte, n int) []byte { return appendHead(b, majorArray, uint64(n)) }

func appendMapHeader(b []byte, n int) []byte { return appendHead(b, majorMap, uint64(n)) }

// appendTime appends t as a date and time string (section 3.4.1), which keeps
// nanoseconds as tag 1 does not. t must be within the years 1 to 9999.
func appendTime(b []byte, t time.Time) []byte {
	var buf [40]byte
	s := text.AppendTime(buf[:0], t)
	return append(appendStrHeader(appendHead(b, majorTag, tagTime), len(s)), s...)
}

// appendBig appends an integer of any size: as a bignum (section 3.4.3) if it
// has no shorter form.
func appendBig(b []byte, n *big.Int) []byte {
	major, tag := byte(majorUint), uint64(tagBignum)
	if n.Sign() < 0 {
		major, tag = majorNegint, tagNegativeBignum
		n = new(big.Int).Not(n) // -1-n
	}
	if n.IsUint64() {
		return appendHead(b, major, n.Uint64())
	}
	return appendBinary(appendHead(b, majorTag, tag), n.Bytes())
}
