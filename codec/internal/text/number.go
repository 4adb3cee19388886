package text

// NumberLen returns the length of the JSON number (RFC 8259, section 6) that s
// starts with, or 0 if there is none; whole is true if it has neither a
// fraction nor an exponent. "01" is malformed, not a 0 that something follows.
func NumberLen(s []byte) (n int, whole bool) {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	start := i
	if !digits() || s[start] == '0' && i > start+1 {
		return 0, false
	}
	whole = true
	if i < len(s) && s[i] == '.' {
		whole = false
		i++
		if !digits() {
			return 0, false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		whole = false
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return 0, false
		}
	}
	return i, whole
}
