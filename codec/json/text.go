package json

import (
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/text"
)

const hexDigits = "0123456789abcdef"

// plainLen returns how many bytes at the beginning of s a JSON string holds as
// they are: it stops at control characters, quotes and backslashes. ascii is
// false if some of them are beyond ASCII.
//
// It looks at eight bytes at once. With lows = 0x01…01 and highs = 0x80…80,
// (x - n*lows) &^ x & highs has the high bit of each byte of x that is below n,
// for n up to 0x80; bytes above such a byte may be marked wrongly, because of the
// borrow, but the lowest mark is right. A byte that equals c is one for which
// x ^ c*lows is below 1.
func plainLen[T string | []byte](s T) (n int, ascii bool) {
	const lows, highs = 0x0101010101010101, 0x8080808080808080
	var all uint64
	for ; len(s)-n >= 8; n += 8 {
		w := s[n : n+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, backslash := x^'"'*lows, x^'\\'*lows
		stop := ((x-' '*lows)&^x | (quote-lows)&^quote | (backslash-lows)&^backslash) & highs
		if stop != 0 {
			at := bits.TrailingZeros64(stop) // of the byte's highest bit
			all |= x & (1<<at - 1)
			return n + at/8, all&highs == 0
		}
		all |= x
	}
	for ; n < len(s); n++ {
		c := s[n]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		all |= uint64(c)
	}
	return n, all&highs == 0
}

// appendString writes s as a JSON string. Only what RFC 8259 requires is
// escaped. s must be UTF-8.
func appendString(b []byte, s string) ([]byte, error) {
	b = append(b, '"')
	start := 0
	ascii := true
	for i := 0; ; i++ {
		n, onlyASCII := plainLen(s[i:])
		i += n
		ascii = ascii && onlyASCII
		if i == len(s) {
			break
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	if !ascii && !utf8.ValidString(s) {
		return b, errorf("the string is not UTF-8")
	}
	b = append(b, s[start:]...)
	return append(b, '"'), nil
}

// appendKey is appendString for a member's name, with the colon.
func appendKey(b []byte, name string) ([]byte, error) {
	b, err := appendString(b, name)
	return append(b, ':'), err
}

// bytes writes bytes as the Codec wants them.
func (e *encoder) bytes(b, data []byte) ([]byte, error) {
	if e.bytesAsArray {
		return e.byteArray(b, data)
	}
	b = append(b, '"')
	b = appendBase64(b, data)
	return append(b, '"'), nil
}

func (e *encoder) byteArray(b, data []byte) ([]byte, error) {
	if err := e.enter(); err != nil {
		return b, err
	}
	e.depth--
	return appendByteArray(b, data), nil
}

// bytes reads bytes: base64 in a string, or an array of integers, where those
// below zero are the signed bytes of languages such as Java. No bytes are nil.
func (d *decoder) bytes() ([]byte, error) {
	const want = "base64 or an array of bytes"
	switch d.peek() {
	case '"':
		start := d.pos
		s, err := d.str()
		if err != nil {
			return nil, err
		}
		if len(s) == 0 {
			return nil, nil
		}
		data, ok := decodeBase64(s)
		if !ok {
			return nil, d.errorf(start, "%q is not base64", text.Short(string(s)))
		}
		return data, nil
	case '[':
		if err := d.enter('[', want); err != nil {
			return nil, err
		}
		data := d.plainByteArray()
		for i := len(data); ; i++ {
			if ok, err := d.element(i == 0); err != nil {
				return nil, err
			} else if !ok {
				return slices.Clip(data), nil
			}
			d.peek()
			start := d.pos
			n, err := d.int(64, "a byte")
			if err == nil && (n < -128 || n > 255) {
				err = d.notInteger(start, errTooLarge, "a byte")
			}
			if err != nil {
				return nil, atIndex(err, i)
			}
			data = append(data, byte(n))
		}
	}
	return nil, d.mismatch(want)
}
