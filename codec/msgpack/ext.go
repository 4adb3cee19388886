package msgpack

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// An Extension is an extension value in a document, of a type that the specification
// leaves to applications: 0 to 127, or of one that it reserves and has not
// defined yet. The timestamp extension, -1, is a [time.Time] instead. Other
// codecs cannot write it.
type Extension struct {
	Type int8
	Data []byte
}

// AppendExt appends an extension value in its shortest form. The length of data
// must be below 4 GiB.
func AppendExt(b []byte, typ int8, data []byte) []byte {
	n := len(data)
	switch {
	case n == 1 || n == 2 || n == 4 || n == 8 || n == 16:
		b = append(b, formatFixExt1+byte(bits.Len8(uint8(n))-1))
	case n <= math.MaxUint8:
		b = append(b, formatExt8, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, formatExt16), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, formatExt32), uint32(n))
	}
	return append(append(b, byte(typ)), data...)
}

// Ext reads an extension value of any type, timestamps included. data is part of
// the reader's data.
func (r *Reader) Ext() (typ int8, data []byte, err error) {
	h, err := r.peek()
	if err != nil {
		return 0, nil, err
	}
	if h.typ != Ext {
		return 0, nil, r.mismatch(h, Ext)
	}
	return h.ext, r.payload(h), nil
}
