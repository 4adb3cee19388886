package json

import (
	"bytes"
	"strconv"
)

// Bytes as arrays of numbers cost a number for each byte, so these are written and
// read without going through the general forms.

// A numeral is a signed byte's decimal, with a comma before it.
type numeral struct {
	text [5]byte // ",-128" is the longest
	n    uint8
}

var numerals = func() (t [256]numeral) {
	for i := range t {
		t[i].n = uint8(copy(t[i].text[:], ","+strconv.Itoa(int(int8(i))))) //nolint:gosec // the sign is wanted
	}
	return t
}()

// appendByteArray appends data as an array of numbers from -128 to 127.
func appendByteArray(b, data []byte) []byte {
	b = append(b, '[')
	begin := len(b)
	for _, c := range data {
		n := &numerals[c]
		b = append(b, n.text[:n.n]...)
	}
	if len(data) > 0 { // without the first comma
		b = b[:begin+copy(b[begin:], b[begin+1:])]
	}
	return append(b, ']')
}

// plainByteArray reads, behind the bracket of an array, as many elements as are
// written in the shortest way, and stops before the first that is not: the rest is
// for those who know all ways and what to say about others.
func (d *decoder) plainByteArray() []byte {
	end := bytes.IndexByte(d.data[d.pos:], ']')
	if end < 0 {
		return nil
	}
	rest := d.data[d.pos : d.pos+end]
	if len(rest) == 0 {
		return nil
	}
	data := make([]byte, 0, bytes.Count(rest, comma)+1)
	for {
		c, n := plainByte(rest)
		if n == 0 || n < len(rest) && rest[n] != ',' {
			return data
		}
		data = append(data, c)
		if len(data) > 1 {
			d.pos++ // the comma before it
		}
		d.pos += n
		if n == len(rest) {
			return data
		}
		rest = rest[n+1:]
	}
}

var comma = []byte{','}

// plainByte reads a decimal from -128 to 255 without needless zeros at the beginning
// of s, and returns its length, 0 if there is none.
func plainByte(s []byte) (c byte, n int) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		n = 1
	}
	begin, v := n, 0
	for ; n < len(s) && n < begin+3 && '0' <= s[n] && s[n] <= '9'; n++ {
		v = v*10 + int(s[n]-'0')
	}
	switch {
	case n == begin, s[begin] == '0' && n > begin+1, negative && (v > 128 || v == 0), v > 255:
		return 0, 0
	case negative:
		v = -v
	}
	return byte(v), n
}
