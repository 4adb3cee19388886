package msgpack

import (
	"encoding/binary"
	"math"
	"time"
)

// Format bytes; see the specification's section "Formats".
const (
	fixmap   = 0x80
	fixarray = 0x90
	fixstr   = 0xa0

	formatNil      = 0xc0
	formatUnused   = 0xc1
	formatFalse    = 0xc2
	formatTrue     = 0xc3
	formatBin8     = 0xc4
	formatBin16    = 0xc5
	formatBin32    = 0xc6
	formatExt8     = 0xc7
	formatExt16    = 0xc8
	formatExt32    = 0xc9
	formatFloat32  = 0xca
	formatFloat64  = 0xcb
	formatUint8    = 0xcc
	formatUint16   = 0xcd
	formatUint32   = 0xce
	formatUint64   = 0xcf
	formatInt8     = 0xd0
	formatInt16    = 0xd1
	formatInt32    = 0xd2
	formatInt64    = 0xd3
	formatFixExt1  = 0xd4
	formatFixExt4  = 0xd6
	formatFixExt8  = 0xd7
	formatFixExt16 = 0xd8
	formatStr8     = 0xd9
	formatStr16    = 0xda
	formatStr32    = 0xdb
	formatArray16  = 0xdc
	formatArray32  = 0xdd
	formatMap16    = 0xde
	formatMap32    = 0xdf

	negativeFixint = 0xe0
)

// timestampExt is the extension type of timestamps.
const timestampExt = -1

// AppendNil appends nil.
func AppendNil(b []byte) []byte { return append(b, formatNil) }

// AppendBool appends true or false.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, formatTrue)
	}
	return append(b, formatFalse)
}

// AppendInt appends an integer in its shortest form.
func AppendInt(b []byte, v int64) []byte {
	switch {
	case v >= 0:
		return AppendUint(b, uint64(v))
	case v >= -32:
		return append(b, byte(v))
	case v >= math.MinInt8:
		return append(b, formatInt8, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, formatInt16), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, formatInt32), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, formatInt64), uint64(v))
	}
}

// AppendUint appends an integer in its shortest form.
func AppendUint(b []byte, v uint64) []byte {
	switch {
	case v < 0x80:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, formatUint8, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, formatUint16), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, formatUint32), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, formatUint64), v)
	}
}

// AppendFloat32 appends a number of single precision.
func AppendFloat32(b []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(append(b, formatFloat32), math.Float32bits(v))
}

// AppendFloat64 appends a number of double precision.
func AppendFloat64(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, formatFloat64), math.Float64bits(v))
}

// AppendString appends s as a str. Its length must be below 4 GiB.
func AppendString(b []byte, s string) []byte {
	return append(appendStrHeader(b, len(s)), s...)
}

func appendStrHeader(b []byte, n int) []byte {
	switch {
	case n < 32:
		return append(b, fixstr|byte(n))
	case n <= math.MaxUint8:
		return append(b, formatStr8, byte(n))
	default:
		return appendLen(b, formatStr16, formatStr32, n)
	}
}

// AppendBinary appends v as a bin. Its length must be below 4 GiB.
func AppendBinary(b, v []byte) []byte {
	if len(v) <= math.MaxUint8 {
		b = append(b, formatBin8, byte(len(v)))
	} else {
		b = appendLen(b, formatBin16, formatBin32, len(v))
	}
	return append(b, v...)
}

// AppendArrayHeader appends the beginning of an array of n elements, which
// must follow.
func AppendArrayHeader(b []byte, n int) []byte {
	if n < 16 {
		return append(b, fixarray|byte(n))
	}
	return appendLen(b, formatArray16, formatArray32, n)
}

// AppendMapHeader appends the beginning of a map of n pairs of key and value,
// which must follow.
func AppendMapHeader(b []byte, n int) []byte {
	if n < 16 {
		return append(b, fixmap|byte(n))
	}
	return appendLen(b, formatMap16, formatMap32, n)
}

func appendLen(b []byte, format16, format32 byte, n int) []byte {
	if n <= math.MaxUint16 {
		return binary.BigEndian.AppendUint16(append(b, format16), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, format32), uint32(n))
}

// AppendTime appends t as a timestamp extension, in the shortest of its three
// forms. The location is not kept.
func AppendTime(b []byte, t time.Time) []byte {
	seconds, nanos := t.Unix(), uint64(t.Nanosecond())
	switch {
	case seconds < 0 || seconds >= 1<<34: // timestamp 96
		b = append(b, formatExt8, 12, byte(0xff))
		b = binary.BigEndian.AppendUint32(b, uint32(nanos))
		return binary.BigEndian.AppendUint64(b, uint64(seconds))
	case nanos == 0 && seconds <= math.MaxUint32: // timestamp 32
		return binary.BigEndian.AppendUint32(append(b, formatFixExt4, 0xff), uint32(seconds))
	default: // timestamp 64
		return binary.BigEndian.AppendUint64(append(b, formatFixExt8, 0xff), nanos<<34|uint64(seconds))
	}
}
