package json

import (
	"math"
	"strconv"
	"time"
)

// The range of google.protobuf.Timestamp: the years 1 to 9999.
const (
	minSeconds = -62135596800
	maxSeconds = 253402300799
)

// maxDuration is the range of google.protobuf.Duration in seconds, either way.
const maxDuration = 315576000000

// appendTime writes RFC 3339 in UTC, with 0, 3, 6 or 9 digits of a second.
func appendTime(b []byte, t time.Time) ([]byte, error) {
	if s := t.Unix(); s < minSeconds || s > maxSeconds {
		return b, errorf("the time %s is not within the years 1 to 9999", t.UTC().Format(time.RFC3339))
	}
	t = t.UTC()
	b = append(b, '"')
	b = t.AppendFormat(b, "2006-01-02T15:04:05")
	b = appendFraction(b, t.Nanosecond())
	return append(b, 'Z', '"'), nil
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

// appendDuration writes seconds with 0, 3, 6 or 9 digits of a fraction. Both
// numbers have the same sign.
func appendDuration(b []byte, seconds int64, nanos int) []byte {
	b = append(b, '"')
	if seconds < 0 || nanos < 0 {
		b = append(b, '-')
		seconds, nanos = -seconds, -nanos
	}
	b = strconv.AppendInt(b, seconds, 10)
	b = appendFraction(b, nanos)
	return append(b, 's', '"')
}

// time reads any RFC 3339 time, in UTC. Digits after the ninth of a fraction
// are dropped.
func (d *decoder) time() (time.Time, error) {
	const want = "an RFC 3339 time"
	d.peek()
	start := d.pos
	s, err := d.text(want)
	if err != nil {
		return time.Time{}, err
	}
	t, ok := parseTime(s)
	if !ok {
		return t, d.errorf(start, "%q is not %s", short(string(s)), want)
	}
	if s := t.Unix(); s < minSeconds || s > maxSeconds {
		return t, d.errorf(start, "the time is not within the years 1 to 9999")
	}
	return t, nil
}

// parseTime parses RFC 3339, section 5.6, where T and Z may be in lower case
// and a minute may end with a leap second.
func parseTime(s []byte) (t time.Time, ok bool) {
	p := textParser{s: s, ok: true}
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

// seconds reads a duration such as "1.5s" and returns its parts, which have
// the same sign.
func (d *decoder) seconds() (seconds int64, nanos int, err error) {
	const want = `a duration such as "1.5s"`
	d.peek()
	start := d.pos
	s, err := d.text(want)
	if err != nil {
		return 0, 0, err
	}
	p := textParser{s: s, ok: true}
	neg := len(s) > 0 && s[0] == '-'
	if neg {
		p.s = s[1:]
	}
	n := 0
	for n < len(p.s) && p.s[n]-'0' <= 9 {
		n++
	}
	p.ok = n > 0
	seconds, parseErr := strconv.ParseInt(string(p.s[:n]), 10, 64)
	p.s = p.s[n:]
	nanos = p.fraction(9)
	p.skip('s', 's')
	switch {
	case !p.ok || len(p.s) > 0:
		return 0, 0, d.errorf(start, "%q is not %s", short(string(s)), want)
	case parseErr != nil || seconds > maxDuration || seconds == maxDuration && nanos > 0:
		return 0, 0, d.errorf(start, "%q is out of range for a duration (%d seconds)", short(string(s)), int64(maxDuration))
	case neg:
		return -seconds, -nanos, nil
	}
	return seconds, nanos, nil
}

// duration is seconds for a time.Duration.
func (d *decoder) duration() (time.Duration, error) {
	d.peek()
	start := d.pos
	seconds, nanos, err := d.seconds()
	if err != nil {
		return 0, err
	}
	const most = math.MaxInt64 / int64(time.Second)
	sum := seconds*int64(time.Second) + int64(nanos)
	if seconds > most || seconds < -most-1 || (sum < 0) != (seconds < 0 || nanos < 0) {
		return 0, d.errorf(start, "the duration is out of range for time.Duration (about 292 years)")
	}
	return time.Duration(sum), nil
}

// A textParser takes fixed forms apart; ok turns false at the first fault.
type textParser struct {
	s  []byte
	ok bool
}

func (p *textParser) next() byte {
	if len(p.s) == 0 {
		p.ok = false
		return 0
	}
	c := p.s[0]
	p.s = p.s[1:]
	return c
}

func (p *textParser) skip(a, b byte) {
	if c := p.next(); c != a && c != b {
		p.ok = false
	}
}

func (p *textParser) digits(n int) (v int) {
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
func (p *textParser) fraction(most int) (nanos int) {
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
func (p *textParser) offset() int {
	h := p.digits(2)
	p.skip(':', ':')
	m := p.digits(2)
	if h > 23 || m > 59 {
		p.ok = false
	}
	return h*60 + m
}
