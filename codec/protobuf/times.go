package protobuf

import (
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/everywire/everywire/codec/internal/text"
)

func (e *encoder) time(t time.Time) error {
	if !text.InYears(t) {
		return fmt.Errorf("the time %v is outside the years 1 to 9999", t)
	}
	e.secondsNanos(t.Unix(), int64(t.Nanosecond()))
	return nil
}

// secondsNanos writes the message that Timestamp and Duration both are.
func (e *encoder) secondsNanos(seconds, nanos int64) {
	start := e.len()
	if nanos != 0 {
		e.varint(uint64(nanos))
		e.tag(2, protowire.VarintType)
	}
	if seconds != 0 {
		e.varint(uint64(seconds))
		e.tag(1, protowire.VarintType)
	}
	e.varint(uint64(e.len() - start))
}

func readTime(t *time.Time, b []byte) error {
	var seconds, nanos int64
	if !t.IsZero() {
		seconds, nanos = t.Unix(), int64(t.Nanosecond())
	}
	seconds, nanos, err := decodeSecondsNanos(seconds, nanos, b)
	if err != nil {
		return err
	}
	if seconds < text.MinSeconds || seconds > text.MaxSeconds || nanos < 0 || nanos >= 1e9 {
		return fmt.Errorf("the Timestamp of %d seconds and %d nanos is outside the years 1 to 9999", seconds, nanos)
	}
	*t = time.Unix(seconds, nanos).UTC()
	return nil
}

func readDuration(d *time.Duration, b []byte) error {
	seconds, nanos, err := decodeSecondsNanos(int64(*d/time.Second), int64(*d%time.Second), b)
	if err != nil {
		return err
	}
	*d, err = goDuration(seconds, nanos)
	return err
}

// decodeSecondsNanos merges the message that Timestamp and Duration both are.
func decodeSecondsNanos(seconds, nanos int64, data []byte) (int64, int64, error) {
	for len(data) > 0 {
		number, wire, n := consumeTag(data)
		if n < 0 {
			return 0, 0, parseError(n)
		}
		data = data[n:]
		if wire != protowire.VarintType || number > 2 {
			n, err := skip(number, wire, data)
			if err != nil {
				return 0, 0, err
			}
			data = data[n:]
			continue
		}
		x, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return 0, 0, parseError(n)
		}
		if number == 1 {
			seconds = int64(x)
		} else {
			nanos = int64(int32(x))
		}
		data = data[n:]
	}
	return seconds, nanos, nil
}

func goDuration(seconds, nanos int64) (time.Duration, error) {
	const limit = math.MaxInt64 / int64(time.Second)
	switch {
	case nanos <= -1e9 || nanos >= 1e9 || seconds < 0 && nanos > 0 || seconds > 0 && nanos < 0:
		return 0, fmt.Errorf("the Duration of %d seconds and %d nanos is not valid", seconds, nanos)
	case seconds < -limit || seconds > limit,
		seconds == limit && nanos > math.MaxInt64%int64(time.Second),
		seconds == -limit && nanos < -(math.MaxInt64%int64(time.Second))-1:
		return 0, errors.New("the Duration does not fit time.Duration (about 292 years)")
	}
	return time.Duration(seconds)*time.Second + time.Duration(nanos), nil
}
