package report

import (
	"time"

	"github.com/everywire/everywire/lab/record"
)

// What other reports write in the same way as this one.

// None stands where a figure is not known or may not be given.
const None = none

// Date writes a time to the minute.
func Date(t time.Time) string { return date(t) }

// List joins words as a sentence does: "a, b and c".
func List(words []string) string { return list(words) }

// Count writes a number of things: "1 call", "1,200 calls".
func Count(n int, one string) string { return count(n, one) }

// Amount writes a number of bytes with few digits: "663", "12.4k".
func Amount(bytes float64) string { return known(bytes, amount) }

// Short keeps a foreign text on one line and readable.
func Short(s string) string { return short(s) }

// Machine says in a line what a machine is.
func Machine(m *record.Machine) string { return about(m) }

// Program says in a line which program ran.
func Program(b *record.Build) string { return program(b) }

// Cores counts the cores of a list such as "0-3,6"; all of them if the list is
// empty or has another form.
func Cores(list string, all int) int { return cores(list, all) }

// Ticks are round values from lo to hi for an axis, about as many as fit with so
// many percent of its length between them.
func Ticks(lo, hi float64, logarithmic bool, apart float64) []float64 {
	return scale{lo: lo, hi: hi, log: logarithmic}.ticks(apart)
}

// TickCount writes a number at an axis: "2k".
func TickCount(v float64) string { return tickCount(v) }

// TickLatency writes a time at an axis: "50 ms".
func TickLatency(ns float64) string { return tickLatency(ns) }
