package rest

import "errors"

// appendQuoted appends s, which is valid UTF-8, as a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		if c < ' ' {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, '\\', c)
		}
		start = i + 1
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// isNumber reports whether s is a number by the grammar of RFC 8259, section 6.
func isNumber(s string) bool {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	first := i
	if !digits() || s[first] == '0' && i > first+1 {
		return false
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

var errNotObject = errors.New("not a JSON object")

// members calls f for each member of the JSON object in data until f returns
// false. data is valid JSON, made by the codec, and names have no escapes in
// it because they are names of fields.
func members(data []byte, f func(name, value []byte) bool) error {
	return walk(data, '{', func(i int) (next int, ok bool) {
		end := skipValue(data, i)
		start := skipSpace(data, end) + 1 // after the colon
		if start >= len(data) {
			return len(data), false
		}
		start = skipSpace(data, start)
		next = skipValue(data, start)
		return next, f(data[i+1:end-1], data[start:next])
	})
}

// elements calls f for each element of the JSON array in data.
func elements(data []byte, f func(value []byte) bool) error {
	return walk(data, '[', func(i int) (next int, ok bool) {
		next = skipValue(data, i)
		return next, f(data[i:next])
	})
}

// walk calls item at the start of each item of an object or array; item
// returns where it ends.
func walk(data []byte, open byte, item func(i int) (next int, ok bool)) error {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != open {
		return errNotObject
	}
	i = skipSpace(data, i+1)
	for i < len(data) && data[i] != '}' && data[i] != ']' {
		next, ok := item(i)
		if !ok {
			return nil
		}
		i = skipSpace(data, next)
		if i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

// skipValue returns the index after the value that begins at i.
func skipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			if depth > 0 {
				i++
				continue
			}
			for i < len(data) && !isSpace(data[i]) && data[i] != ',' && data[i] != '}' && data[i] != ']' {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
