package msgpack

import (
	"bytes"
	"strconv"
)

// The range of google.protobuf.Timestamp: the years 1 to 9999.
const (
	minSeconds = -62135596800
	maxSeconds = 253402300799
)

// maxDuration is the range of google.protobuf.Duration in seconds, either way.
const maxDuration = 315576000000

// appendDuration writes seconds with 0, 3, 6 or 9 digits of a fraction and an
// s, as ProtoJSON does. Both parts have the same sign.
func appendDuration(b []byte, seconds int64, nanos int32) []byte {
	if seconds < 0 || nanos < 0 {
		b = append(b, '-')
		seconds, nanos = -seconds, -nanos
	}
	b = strconv.AppendInt(b, seconds, 10)
	if nanos != 0 {
		digits := strconv.AppendInt(nil, int64(nanos)+1e9, 10)
		digits[0] = '.'
		for bytes.HasSuffix(digits, []byte("000")) {
			digits = digits[:len(digits)-3]
		}
		b = append(b, digits...)
	}
	return append(b, 's')
}

// parseDuration reads a duration such as "-1.5s" with up to nine digits of a
// fraction.
func parseDuration(s []byte) (seconds int64, nanos int32, ok bool) {
	s, ok = bytes.CutSuffix(s, []byte("s"))
	s, negative := bytes.CutPrefix(s, []byte("-"))
	whole, fraction, point := bytes.Cut(s, []byte("."))
	if !ok || !digits(whole) || point && (!digits(fraction) || len(fraction) > 9) {
		return 0, 0, false
	}
	seconds, err := strconv.ParseInt(string(whole), 10, 64)
	for i := range 9 {
		nanos *= 10
		if i < len(fraction) {
			nanos += int32(fraction[i] - '0')
		}
	}
	if err != nil || seconds > maxDuration || seconds == maxDuration && nanos > 0 {
		return 0, 0, false
	}
	if negative {
		seconds, nanos = -seconds, -nanos
	}
	return seconds, nanos, true
}

// digits reports whether s is one or more decimal digits.
func digits(s []byte) bool {
	return len(s) > 0 && s[0] != '-' && decimal(s)
}
