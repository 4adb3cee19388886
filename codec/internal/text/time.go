package text

import (
	"math"
	"time"
)

// The range of google.protobuf.Timestamp, the years 1 to 9999, in seconds since
// 1970.
const (
	MinSeconds = -62135596800
	MaxSeconds = 253402300799
)

// InYears reports whether t is within the years 1 to 9999.
func InYears(t time.Time) bool {
	s := t.Unix()
	return s >= MinSeconds && s <= MaxSeconds
}

// AppendTime writes RFC 3339 in UTC, with 0, 3, 6 or 9 digits of a second. The
// time must be [InYears].
func AppendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	b = t.AppendFormat(b, "2006-01-02T15:04:05")
	b = appendFraction(b, t.Nanosecond())
	return append(b, 'Z')
}

// appendFraction writes the point and the digits of a fraction of a second.
func appendFraction(b []byte, nanos int) []byte {
	if nanos == 0 {
		return b
	}
	digits := 9
	for nanos%1000 == 0 {
		nanos /= 1000
		digits -= 3
	}
	b = append(b, '.')
	for unit := pow10[digits-1]; unit > 0; unit /= 10 {
		b = append(b, byte('0'+nanos/unit%10))
	}
	return b
}

var pow10 = [...]int{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// ParseTime parses RFC 3339, section 5.6, where T and Z may be in lower case
// and a minute may end with a leap second, which is the second that follows.
// Digits after the ninth of a fraction are dropped. The result is in UTC, and
// may not be [InYears].
func ParseTime(s []byte) (t time.Time, ok bool) {
	p := parser{s: s, ok: true}
	year := p.digits(4)
	p.skip('-', '-')
	month := p.digits(2)
	p.skip('-', '-')
	day := p.digits(2)
	p.skip('T', 't')
	hour := p.digits(2)
	p.skip(':', ':')
	minute := p.digits(2)
	p.skip(':', ':')
	second := p.digits(2)
	nanos := p.fraction(math.MaxInt)
	offset := 0
	switch p.next() {
	case 'Z', 'z':
	case '+':
		offset = p.offset()
	case '-':
		offset = -p.offset()
	default:
		return t, false
	}
	if !p.ok || len(p.s) > 0 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 60 {
		return t, false
	}
	leap := second == 60
	if leap {
		second = 59
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	if t.Day() != day { // such as 30 February
		return t, false
	}
	t = t.Add(-time.Duration(offset) * time.Minute)
	if leap {
		t = t.Add(time.Second)
		if t.Hour() != 0 || t.Minute() != 0 { // leap seconds end a day of UTC
			return t, false
		}
	}
	return t, true
}

// A parser takes fixed forms apart; ok turns false at the first fault.
type parser struct {
	s  []byte
	ok bool
}

func (p *parser) next() byte {
	if len(p.s) == 0 {
		p.ok = false
		return 0
	}
	c := p.s[0]
	p.s = p.s[1:]
	return c
}

func (p *parser) skip(a, b byte) {
	if c := p.next(); c != a && c != b {
		p.ok = false
	}
}

func (p *parser) digits(n int) (v int) {
	for range n {
		c := p.next() - '0'
		if c > 9 {
			p.ok = false
			return 0
		}
		v = v*10 + int(c)
	}
	return v
}

// fraction reads a point and digits, at most most, if there is a point, and
// returns nanoseconds.
func (p *parser) fraction(most int) (nanos int) {
	if len(p.s) == 0 || p.s[0] != '.' {
		return 0
	}
	p.s = p.s[1:]
	n := 0
	for n < len(p.s) && p.s[n]-'0' <= 9 {
		if n < 9 {
			nanos = nanos*10 + int(p.s[n]-'0')
		}
		n++
	}
	if n == 0 || n > most {
		p.ok = false
		return 0
	}
	p.s = p.s[n:]
	for ; n < 9; n++ {
		nanos *= 10
	}
	return nanos
}

// offset reads hh:mm and returns minutes.
func (p *parser) offset() int {
	h := p.digits(2)
	p.skip(':', ':')
	m := p.digits(2)
	if h > 23 || m > 59 {
		p.ok = false
	}
	return h*60 + m
}
