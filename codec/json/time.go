package json

import (
	"errors"
	"time"

	"github.com/everywire/everywire/codec/internal/text"
)

// appendTime writes RFC 3339 in UTC, with 0, 3, 6 or 9 digits of a second.
func appendTime(b []byte, t time.Time) ([]byte, error) {
	if !text.InYears(t) {
		return b, errorf("the time %s is not within the years 1 to 9999", t.UTC().Format(time.RFC3339))
	}
	b = append(b, '"')
	b = text.AppendTime(b, t)
	return append(b, '"'), nil
}

// appendDuration writes seconds with 0, 3, 6 or 9 digits of a fraction. Both
// numbers have the same sign.
func appendDuration(b []byte, seconds int64, nanos int32) []byte {
	b = append(b, '"')
	b = text.AppendDuration(b, seconds, nanos)
	return append(b, '"')
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
	t, ok := text.ParseTime(s)
	if !ok {
		return t, d.errorf(start, "%q is not %s", text.Short(string(s)), want)
	}
	if !text.InYears(t) {
		return t, d.errorf(start, "the time is not within the years 1 to 9999")
	}
	return t, nil
}

// seconds reads a duration such as "1.5s" and returns its parts, which have
// the same sign.
func (d *decoder) seconds() (seconds int64, nanos int32, err error) {
	const want = `a duration such as "1.5s"`
	d.peek()
	start := d.pos
	s, err := d.text(want)
	if err != nil {
		return 0, 0, err
	}
	seconds, nanos, err = text.ParseDuration(s)
	switch {
	case errors.Is(err, text.ErrForm):
		return 0, 0, d.errorf(start, "%q is not %s", text.Short(string(s)), want)
	case err != nil:
		return 0, 0, d.errorf(start, "%q is out of range for a duration (%d seconds)", text.Short(string(s)), int64(text.MaxDuration))
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
	sum, ok := text.GoDuration(seconds, nanos)
	if !ok {
		return 0, d.errorf(start, "the duration is out of range for time.Duration (about 292 years)")
	}
	return sum, nil
}
