package text

import (
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTime(t *testing.T) {
	for s, want := range map[string]string{
		"2024-02-29T12:30:15Z":            "2024-02-29T12:30:15Z",
		"2024-02-29t12:30:15.5z":          "2024-02-29T12:30:15.500Z",
		"2024-02-29T12:30:15.1234567899Z": "2024-02-29T12:30:15.123456789Z",
		"2024-03-01T00:30:15+02:00":       "2024-02-29T22:30:15Z",
		"2016-12-31T23:59:60Z":            "2017-01-01T00:00:00Z",
		"2016-12-31T15:59:60-08:00":       "2017-01-01T00:00:00Z",
	} {
		got, ok := ParseTime([]byte(s))
		if !ok || string(AppendTime(nil, got)) != want || got.Location() != time.UTC {
			t.Errorf("%s: %s, %v", s, AppendTime(nil, got), ok)
		}
	}
	for _, s := range []string{
		"", "Z", "2024-02-29", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-02-29 12:00:00Z", "2024-02-29T12:00:00",
		"2024-02-29T1:00:00Z", "2024-02-29T12:00:00,5Z", "2024-02-29T12:00:00.Z", "2024-02-29T24:00:00Z", "2024-02-29T12:60:00Z",
		"2024-02-29T12:00:00+24:00", "2024-02-29T12:00:00+2:00", "2024-02-29T12:00:60Z", "2024-13-01T00:00:00Z", "2024-02-29T12:00:00ZZ", "12024-02-29T12:00:00Z",
	} {
		if got, ok := ParseTime([]byte(s)); ok {
			t.Errorf("%q is read as %v", s, got)
		}
	}
}

// Every time and duration is the same after writing and reading.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Unix(rapid.Int64Range(MinSeconds, MaxSeconds).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanos"))
		b := AppendTime(nil, want)
		if got, ok := ParseTime(b); !ok || !got.Equal(want) || !InYears(got) {
			t.Errorf("%s is read as %v, %v", b, got, ok)
		}
		if theirs, err := time.Parse(time.RFC3339, string(b)); err != nil || !theirs.Equal(want) {
			t.Errorf("package time reads %s as %v, %v", b, theirs, err)
		}
		d := time.Duration(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(t, "duration"))
		b = AppendDuration(nil, int64(d/time.Second), int32(d%time.Second))
		seconds, nanos, err := ParseDuration(b)
		if got, ok := GoDuration(seconds, nanos); err != nil || !ok || got != d {
			t.Errorf("%s is read as %v, %v, %v", b, got, ok, err)
		}
	})
}

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]error{
		"": ErrForm, "s": ErrForm, "-s": ErrForm, "1": ErrForm, "+1s": ErrForm, "--1s": ErrForm, ".5s": ErrForm, "1.s": ErrForm, "1S": ErrForm,
		"1.0000000001s": ErrForm, "1ss": ErrForm, "1e3s": ErrForm, "1 s": ErrForm,
		"315576000000s": nil, "-315576000000s": nil, "315576000000.1s": ErrRange, "315576000001s": ErrRange, "99999999999999999999s": ErrRange,
	} {
		if _, _, err := ParseDuration([]byte(s)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", s, err, want)
		}
	}
	for _, seconds := range []int64{9223372037, -9223372037, MaxDuration, -MaxDuration} {
		if d, ok := GoDuration(seconds, 0); ok {
			t.Errorf("%d seconds are %v", seconds, d)
		}
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]string{"a": "a", "a_b.c_d": "aB.cD", "f1.g2_h": "f1.g2H"} {
		if got, ok := CamelPath(path); !ok || got != want {
			t.Errorf("%s is %s, %v", path, got, ok)
		}
		if got, ok := SnakePath(want); !ok || got != path {
			t.Errorf("%s is read as %s, %v", want, got, ok)
		}
	}
	for _, path := range []string{"", "A", "a_", "a__b", "a_1", "a..b", ".a", "a b"} {
		if got, ok := CamelPath(path); ok {
			t.Errorf("the path %q is %q", path, got)
		}
	}
	for _, text := range []string{"", "a_b", "a..b", "a b", "1a"} {
		if got, ok := SnakePath(text); ok {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

func TestNumberLen(t *testing.T) {
	for s, want := range map[string]int{
		"0": 1, "-0": 2, "10": 2, "1.5": 3, "1e3": 3, "1E+3": 4, "1e-30,": 5, "12]": 2, "-1.25e2}": 7,
		"": 0, "-": 0, "01": 0, "-01": 0, ".5": 0, "5.": 0, "1e": 0, "1e+": 0, "+1": 0, "x": 0,
	} {
		n, whole := NumberLen([]byte(s))
		if n != want {
			t.Errorf("%q: %d, want %d", s, n, want)
		}
		if _, err := strconv.ParseInt(s[:n], 10, 64); whole != (err == nil) {
			t.Errorf("%q: whole is %v", s, whole)
		}
	}
}
