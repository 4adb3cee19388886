package link

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Spec
		out  string // "" if it is text
	}{
		{"rtt=4.364ms,rate=1gbit,loss=0.1%,jitter=0.2ms", Spec{4364 * time.Microsecond, 1e9, 0.001, 200 * time.Microsecond}, ""},
		{"rtt=0ms", Spec{}, ""},
		{"rtt=142.5ms", Spec{RTT: 142500 * time.Microsecond}, ""},
		{"london", Spec{RTT: 142500 * time.Microsecond}, "rtt=142.5ms"},
		{"Fremont, loss=0.5", Spec{RTT: 4364 * time.Microsecond, Loss: 0.5}, "rtt=4.364ms,loss=50%"},
		{"london,rtt=1s", Spec{RTT: time.Second}, "rtt=1000ms"},
		{" LOSS = 1% , RTT = 200us ", Spec{RTT: 200 * time.Microsecond, Loss: 0.01}, "rtt=0.2ms,loss=1%"},
		{"rate=2.5mbit", Spec{Rate: 25e5}, "rtt=0ms,rate=2.5mbit"},
		{"rate=64kbit,rtt=1ms", Spec{Rate: 64e3, RTT: time.Millisecond}, "rtt=1ms,rate=64kbit"},
		{"rate=1234567bit", Spec{Rate: 1234567}, "rtt=0ms,rate=1234567bit"},
	} {
		got, err := Parse(tc.text)
		if err != nil || got != tc.want {
			t.Errorf("%q: %+v, %v, want %+v", tc.text, got, err, tc.want)
		}
		if want := map[bool]string{true: tc.text, false: tc.out}[tc.out == ""]; got.String() != want {
			t.Errorf("%q is written %q, want %q", tc.text, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "it is empty",
		"paris":                    `"paris" is no named link; there are fremont (rtt=4.364ms), london (rtt=142.5ms)`,
		"rtt=4":                    "rtt=4 is no duration such as 4.364ms",
		"rtt=":                     "rtt= is no duration",
		"rtt=-1ms":                 "rtt=-1ms is not from 0 to 10s",
		"rtt=11s":                  "rtt=11s is not from 0 to 10s",
		"rtt=1ms,rtt=2ms":          "rtt is given twice",
		"rtt=1ms,london":           `"london" has no value`,
		"rtt=1ms,":                 `"" has no value`,
		"delay=1ms":                `it has no "delay"; the form is rtt=4.364ms,rate=1gbit`,
		"rate=1":                   "rate=1 is no rate from 1kbit to 100gbit",
		"rate=0bit":                "rate=0bit is no rate",
		"rate=nangbit":             "rate=nangbit is no rate",
		"rate=1gbps":               "rate=1gbps is no rate",
		"rate=101gbit":             "rate=101gbit is no rate",
		"loss=100%":                "loss=100% is neither per cent below 100% nor a number from 0 to below 1",
		"loss=1":                   "loss=1 is neither",
		"loss=-1%":                 "loss=-1% is neither",
		"loss=nan":                 "loss=nan is neither",
		"rtt=1ms,jitter=2ms":       "jitter=2ms is more than rtt=1ms",
		"rtt=1ms,jitter=-1ms":      "jitter=-1ms is negative",
		"rtt=1ms,loss=0.1%,loss=0": "loss is given twice",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `link "`) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestSpecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{RTT: time.Duration(rapid.Int64Range(0, int64(maxRTT)).Draw(t, "rtt"))}
		if rapid.Bool().Draw(t, "limited") {
			s.Rate = rapid.Int64Range(minRate, maxRate).Draw(t, "rate")
		}
		s.Loss = rapid.Float64Range(0, 0.999999).Draw(t, "loss")
		s.Jitter = time.Duration(rapid.Int64Range(0, int64(s.RTT)).Draw(t, "jitter"))
		if back, err := Parse(s.String()); err != nil || back != s {
			t.Fatalf("%+v is written %q, which is %+v, %v", s, s, back, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"rtt=4.364ms,rate=1gbit,loss=0.1%,jitter=0.2ms", "london,loss=1e-3", "rate=0x1p10bit", ",", "loss=%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Errorf("%q gives %+v: %v", text, s, err)
		}
		if back, err := Parse(s.String()); err != nil || back != s {
			t.Errorf("%q is written %q, which is %+v, %v", text, s, back, err)
		}
	})
}
