package data

import (
	"encoding/json"
	"unicode/utf8"
)

// A Kind says how a value is written where JSON wants a value.
type Kind uint8

// The kinds of values.
const (
	// String is a text: in JSON a string.
	String Kind = iota
	// Cell is a text of which nobody has said what it is, such as a field of a CSV
	// file: in JSON it is a number, true, false or null if it reads like one, else a
	// string.
	Cell
	// JSON is the text of a JSON value.
	JSON
)

// A Value is what a name stands for.
type Value struct {
	Kind Kind
	Text string
}

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return v == Value{} }

// scalar reports whether a text is a JSON number, true, false or null.
func scalar(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	switch c := text[0]; {
	case c == '-' || c >= '0' && c <= '9':
		last := text[len(text)-1]
		return last >= '0' && last <= '9' && json.Valid(text)
	case c == 't' || c == 'f' || c == 'n':
		return string(text) == "true" || string(text) == "false" || string(text) == "null"
	}
	return false
}

// A Place is what a template's text goes to.
type Place uint8

// The places.
const (
	// InText takes values as they are.
	InText Place = iota
	// InJSON is JSON: a value within a string is escaped, elsewhere it is a value.
	InJSON
	// InURL is a path, a query or a form: whatever is not unreserved in RFC 3986,
	// section 2.3, is percent-encoded.
	InURL
	// InHeader is the value of a header: control characters become spaces.
	InHeader
)

// insert appends a value.
func insert(dst []byte, p Place, inString bool, kind Kind, text []byte) []byte {
	switch p {
	case InJSON:
		switch {
		case inString:
			return appendEscaped(dst, text)
		case kind == JSON, kind == Cell && scalar(text):
			return append(dst, text...)
		}
		dst = append(dst, '"')
		dst = appendEscaped(dst, text)
		return append(dst, '"')
	case InURL:
		return appendPercent(dst, text)
	case InHeader:
		start := len(dst)
		dst = append(dst, text...)
		for i, c := range dst[start:] {
			if c < ' ' && c != '\t' || c == 0x7f {
				dst[start+i] = ' '
			}
		}
		return dst
	}
	return append(dst, text...)
}

const hexDigits = "0123456789abcdef"

// appendEscaped writes text as the inside of a JSON string (RFC 8259, section 7).
// Bytes that are no UTF-8 become U+FFFD.
func appendEscaped(dst, text []byte) []byte {
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, text[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, text[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(dst, text[start:]...)
}

func appendPercent(dst, text []byte) []byte {
	const upper = "0123456789ABCDEF"
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == '~':
			dst = append(dst, c)
		default:
			dst = append(dst, '%', upper[c>>4], upper[c&15])
		}
	}
	return dst
}
