package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/stats"
)

// none stands where a figure is not known or may not be given.
const none = "–"

// significant writes a positive number with three significant digits at least
// and never in exponents.
func significant(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return thousands(int64(math.Round(v)))
}

// thousands writes a whole number in groups of three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func known(v float64, format func(float64) string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return none
	}
	return format(v)
}

func rate(v float64) string { return known(v, significant) }

// micros writes seconds as microseconds.
func micros(seconds float64) string {
	return known(seconds*1e6, significant)
}

// latency writes nanoseconds with a unit: "108µs", "1.24ms".
func latency(ns int64) string {
	v, unit := float64(ns), "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if v < 999.5 {
			break
		}
		v, unit = v/1000, next
	}
	if unit == "ns" {
		return fmt.Sprintf("%d%s", ns, unit)
	}
	if v >= 999.5 {
		return thousands(int64(math.Round(v))) + unit
	}
	return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(v)+0.0022))), 64) + unit
}

// Whole writes a whole number in groups of three digits.
func Whole(n int64) string { return thousands(n) }

// Latency writes nanoseconds with a unit and three significant digits.
func Latency(ns int64) string { return latency(ns) }

func percentile(a *stats.Arm, p float64) string {
	ns, ok := stats.Percentile(&a.Latency, a.Censored, p)
	if !ok {
		return none
	}
	return latency(ns)
}

// amount writes bytes per call: exactly while it is small, then with
// k or M for thousands and millions.
func amount(v float64) string {
	return known(v, func(v float64) string {
		switch {
		case v >= 9.9995e6:
			return strconv.FormatFloat(v/1e6, 'f', 1, 64) + "M"
		case v >= 999_950:
			return strconv.FormatFloat(v/1e6, 'f', 2, 64) + "M"
		case v >= 99_950:
			return strconv.FormatFloat(v/1e3, 'f', 0, 64) + "k"
		case v >= 9_995:
			return strconv.FormatFloat(v/1e3, 'f', 1, 64) + "k"
		case v >= 99.95 || math.Abs(v-math.Round(v)) < 0.05:
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'f', 1, 64)
	})
}

func pair(out, in float64) string {
	return share(amount(out), amount(in))
}

// packets writes packets per call, out/in.
func packets(a *stats.Arm) string {
	one := func(v float64) string {
		return known(v, func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) })
	}
	return share(one(a.PerCall.PacketsOut), one(a.PerCall.PacketsIn))
}

// share writes what the two ends or directions have, if both are known.
func share(a, b string) string {
	if a == none || b == none {
		return none
	}
	return a + "/" + b
}

// ratioNumber writes a ratio for a table, with two decimals where these tell
// something.
func ratioNumber(v float64) string {
	return known(v, func(v float64) string {
		switch {
		case v >= 99.5:
			return thousands(int64(math.Round(v)))
		case v >= 9.995:
			return strconv.FormatFloat(v, 'f', 1, 64)
		case v >= 0.0995:
			return strconv.FormatFloat(v, 'f', 2, 64)
		}
		return strconv.FormatFloat(v, 'f', 3, 64)
	})
}

// ratioCell writes a ratio and its interval: "3.12 [2.95, 3.30]".
func ratioCell(r stats.Ratio) string {
	if math.IsNaN(r.Median) {
		return none
	}
	if r.Interval == nil {
		return ratioNumber(r.Median)
	}
	return fmt.Sprintf("%s [%s, %s]", ratioNumber(r.Median), ratioNumber(r.Interval.Low), ratioNumber(r.Interval.High))
}

// plain writes a ratio in a sentence: with one decimal from 2 on, so that
// nobody reads more into it than is there.
func plain(v float64) string {
	if v >= 2 && v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	if v >= 9.95 && v < 99.5 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return ratioNumber(v)
}

// plainInterval writes "2.9 to 3.3", or why there is no interval.
func plainInterval(r stats.Ratio) string {
	if r.Interval == nil {
		return "too few blocks for an interval"
	}
	if r.Median >= 2 {
		return plain(r.Interval.Low) + " to " + plain(r.Interval.High)
	}
	return ratioNumber(r.Interval.Low) + " to " + ratioNumber(r.Interval.High)
}

func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(int64(n)) + " " + one + "s"
}

// list joins words as a sentence does: "a, b and c".
func list(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
