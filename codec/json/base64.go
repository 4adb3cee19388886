package json

import "encoding/binary"

// Bytes in JSON are base64, RFC 4648: the padded standard alphabet is written, and
// either alphabet read, padded or not. A value of bytes is mostly base64's cost, so
// this is ours: twelve bits at a time to write, and one look for each letter to read,
// with errors collected, not branched on. bench/codecs has it beside encoding/base64.

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// letterPairs has the two letters of each twelve bits, as little-endian memory has
// them.
var letterPairs = func() (t [1 << 12]uint16) {
	for i := range t {
		t[i] = uint16(letters[i>>6]) | uint16(letters[i&63])<<8
	}
	return t
}()

// noLetter marks what is no letter, above the 24 bits that four letters have.
const noLetter = 1 << 31

// letterBits has the bits of a letter at each of the four places that it can have.
var letterBits = func() (t [4][256]uint32) {
	for place := range t {
		for c := range t[place] {
			t[place][c] = noLetter
		}
		for i := range len(letters) {
			t[place][letters[i]] = uint32(i) << (18 - 6*place)
		}
		t[place]['-'], t[place]['_'] = 62<<(18-6*place), 63<<(18-6*place)
	}
	return t
}()

// appendBase64 appends the encoding of data.
func appendBase64(b, data []byte) []byte {
	b = grow(b, (len(data)+2)/3*4)
	at := len(b)
	b = b[:at+(len(data)+2)/3*4]
	out := b[at:]
	for len(data) >= 8 { // six are used: reading eight is one load
		v := binary.BigEndian.Uint64(data)
		binary.LittleEndian.PutUint64(out, uint64(letterPairs[v>>52])|uint64(letterPairs[v>>40&0xfff])<<16|
			uint64(letterPairs[v>>28&0xfff])<<32|uint64(letterPairs[v>>16&0xfff])<<48)
		data, out = data[6:], out[8:]
	}
	for len(data) >= 3 {
		v := uint(data[0])<<16 | uint(data[1])<<8 | uint(data[2])
		binary.LittleEndian.PutUint16(out, letterPairs[v>>12])
		binary.LittleEndian.PutUint16(out[2:], letterPairs[v&0xfff])
		data, out = data[3:], out[4:]
	}
	switch len(data) {
	case 1:
		binary.LittleEndian.PutUint16(out, letterPairs[uint(data[0])<<4])
		out[2], out[3] = '=', '='
	case 2:
		v := uint(data[0])<<16 | uint(data[1])<<8
		binary.LittleEndian.PutUint16(out, letterPairs[v>>12])
		out[2], out[3] = letters[v>>6&63], '='
	}
	return b
}

// grow makes room for n bytes more.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(b, make([]byte, n)...)[:len(b)]
}

// decodeBase64 decodes either alphabet, padded or not. Bits left over in the
// last letter are ignored, as ProtoJSON decoders do.
func decodeBase64(s []byte) (data []byte, ok bool) {
	if len(s)%4 == 0 {
		for range 2 {
			if len(s) > 0 && s[len(s)-1] == '=' {
				s = s[:len(s)-1]
			}
		}
	}
	if len(s)%4 == 1 {
		return nil, false
	}
	data = make([]byte, len(s)*3/4)
	out := data
	t0, t1, t2, t3 := &letterBits[0], &letterBits[1], &letterBits[2], &letterBits[3]
	bad := uint32(0)
	for len(s) >= 8 && len(out) >= 8 { // six are written: eight is one store
		hi := t0[s[0]] | t1[s[1]] | t2[s[2]] | t3[s[3]]
		lo := t0[s[4]] | t1[s[5]] | t2[s[6]] | t3[s[7]]
		bad |= hi | lo
		binary.BigEndian.PutUint64(out, uint64(hi)<<40|uint64(lo)<<16)
		s, out = s[8:], out[6:]
	}
	for ; len(s) >= 4; s, out = s[4:], out[3:] {
		v := t0[s[0]] | t1[s[1]] | t2[s[2]] | t3[s[3]]
		bad |= v
		out[0], out[1], out[2] = byte(v>>16), byte(v>>8), byte(v)
	}
	if len(s) >= 2 {
		v := t0[s[0]] | t1[s[1]]
		if len(s) == 3 {
			v |= t2[s[2]]
			out[1] = byte(v >> 8)
		}
		bad |= v
		out[0] = byte(v >> 16)
	}
	return data, bad&noLetter == 0
}
