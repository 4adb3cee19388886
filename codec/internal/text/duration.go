package text

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// MaxDuration is the range of google.protobuf.Duration in seconds, either way.
const MaxDuration = 315576000000

// The errors of [ParseDuration].
var (
	ErrForm  = errors.New("not a duration")
	ErrRange = errors.New("out of range for a duration")
)

// AppendDuration writes seconds with 0, 3, 6 or 9 digits of a fraction, and an
// s. Both numbers have the same sign.
func AppendDuration(b []byte, seconds int64, nanos int32) []byte {
	if seconds < 0 || nanos < 0 {
		b = append(b, '-')
		seconds, nanos = -seconds, -nanos
	}
	b = strconv.AppendInt(b, seconds, 10)
	b = appendFraction(b, int(nanos))
	return append(b, 's')
}

// ParseDuration reads a duration such as "-1.5s", with up to nine digits of a
// fraction, and returns its parts, which have the same sign.
func ParseDuration(s []byte) (seconds int64, nanos int32, err error) {
	p := parser{s: s, ok: true}
	neg := len(s) > 0 && s[0] == '-'
	if neg {
		p.s = s[1:]
	}
	n := 0
	for n < len(p.s) && p.s[n]-'0' <= 9 {
		n++
	}
	p.ok = n > 0
	seconds, rangeErr := strconv.ParseInt(string(p.s[:n]), 10, 64)
	p.s = p.s[n:]
	nanos = int32(p.fraction(9)) //nolint:gosec // below 1e9
	p.skip('s', 's')
	switch {
	case !p.ok || len(p.s) > 0:
		return 0, 0, ErrForm
	case rangeErr != nil || seconds > MaxDuration || seconds == MaxDuration && nanos > 0:
		return 0, 0, ErrRange
	case neg:
		return -seconds, -nanos, nil
	}
	return seconds, nanos, nil
}

// GoDuration makes a time.Duration of parts that have the same sign; ok is
// false beyond about 292 years.
func GoDuration(seconds int64, nanos int32) (d time.Duration, ok bool) {
	const most = math.MaxInt64 / int64(time.Second)
	sum := seconds*int64(time.Second) + int64(nanos)
	if seconds > most || seconds < -most || (sum < 0) != (seconds < 0 || nanos < 0) {
		return 0, false
	}
	return time.Duration(sum), true
}
