package json

import (
	"encoding/base64"
	"slices"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/text"
)

const hexDigits = "0123456789abcdef"

// plain[c] is true for the ASCII characters that a JSON string holds as they
// are.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// appendString writes s as a JSON string. Only what RFC 8259 requires is
// escaped. s must be UTF-8.
func appendString(b []byte, s string) ([]byte, error) {
	b = append(b, '"')
	start := 0
	var high byte
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			high = c
			continue
		}
		if plain[c] {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
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
	if high != 0 && !utf8.ValidString(s) {
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

func appendBytes(b, data []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, data)
	return append(b, '"')
}

// base64Value maps the letters of both alphabets of RFC 4648 (sections 4 and
// 5) to their values; 0xff is no letter.
var base64Value = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range len(letters) {
		t[letters[i]] = byte(i)
	}
	t['-'], t['_'] = 62, 63
	return t
}()

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
	data = make([]byte, 0, len(s)/4*3+2)
	for ; len(s) >= 4; s = s[4:] {
		v0, v1, v2, v3 := base64Value[s[0]], base64Value[s[1]], base64Value[s[2]], base64Value[s[3]]
		if v0|v1|v2|v3 == 0xff {
			return nil, false
		}
		data = append(data, v0<<2|v1>>4, v1<<4|v2>>2, v2<<6|v3)
	}
	if len(s) >= 2 {
		v0, v1 := base64Value[s[0]], base64Value[s[1]]
		if v0|v1 == 0xff {
			return nil, false
		}
		data = append(data, v0<<2|v1>>4)
		if len(s) == 3 {
			v2 := base64Value[s[2]]
			if v2 == 0xff {
				return nil, false
			}
			data = append(data, v1<<4|v2>>2)
		}
	}
	return data, true
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
		var data []byte
		for i := 0; ; i++ {
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
