package msgpack

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// A decoder reads values by the table of docs/spec/types.md, which accepts
// more than one form of most.
type decoder struct {
	Reader
	depth  int
	reread int // bytes read or copied once more for an Any; see moreOfAny
	names  members.Interner
}

// reserve is for how many elements memory is reserved before they are read.
// A count cannot be trusted even if that many bytes follow, since the same
// bytes may be claimed on every level of nesting.
const reserve = 64

// enter counts one more level of nesting. The caller leaves it by depth--,
// unless there was an error, which ends the decoding.
func (d *decoder) enter() error {
	if d.depth++; d.depth > schema.MaxDepth {
		return d.errorf("nested deeper than %d levels", schema.MaxDepth)
	}
	return nil
}

// array enters an array and returns its count.
func (d *decoder) array() (int, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	return d.ArrayHeader()
}

// object enters a map and returns its count.
func (d *decoder) object() (int, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	return d.MapHeader()
}

// int reads an integer of the given size, also from an integral float or a
// decimal string. The type's name is for errors.
func (d *decoder) int(bits int, name string) (int64, error) {
	start := d.pos
	u, negative, err := d.whole(name)
	if err != nil {
		return 0, err
	}
	n := int64(u)
	if n < 0 != negative || n != n<<(64-bits)>>(64-bits) {
		return 0, d.outOfRange(start, name)
	}
	return n, nil
}

// uint is int for unsigned integers.
func (d *decoder) uint(bits int, name string) (uint64, error) {
	start := d.pos
	n, negative, err := d.whole(name)
	if err != nil {
		return 0, err
	}
	if negative || n != n<<(64-bits)>>(64-bits) {
		return 0, d.outOfRange(start, name)
	}
	return n, nil
}

// whole reads an integer, or an integral float or decimal string, that has the
// range of int64 or of uint64. The result is as [Reader.integer] has it.
func (d *decoder) whole(name string) (n uint64, negative bool, err error) {
	if n, negative, ok := d.integer(); ok {
		return n, negative, nil
	}
	h, err := d.peek()
	if err != nil {
		return 0, false, err
	}
	switch {
	case h.typ == Float:
		f := h.float()
		switch {
		case f != math.Trunc(f): // also NaN
			return 0, false, d.errorf("%v is not an integer", f)
		case f < -1<<63 || f >= 1<<64:
			return 0, false, d.outOfRange(d.pos, name)
		case f < 0:
			n, negative = uint64(int64(f)), true
		default:
			n = uint64(f)
		}
	case !h.text():
		return 0, false, d.mismatch(h, Int)
	default:
		s := d.data[d.pos+h.size:][:h.length]
		if !decimal(s) {
			return 0, false, d.mismatch(h, Int)
		}
		if s[0] == '-' {
			var signed int64
			signed, err = strconv.ParseInt(string(s), 10, 64)
			n, negative = uint64(signed), signed < 0
		} else {
			n, err = strconv.ParseUint(string(s), 10, 64)
		}
		if err != nil {
			return 0, false, d.outOfRange(d.pos, name)
		}
	}
	d.pass(h)
	return n, negative, nil
}

// outOfRange is the error for the number at start.
func (d *decoder) outOfRange(start int, name string) error {
	d.pos = start
	h, err := d.peek()
	if err != nil {
		return err
	}
	return d.errorf("%s is out of range for %s", d.shown(h), name)
}

// decimal reports whether s is an integer in decimal digits.
func decimal(s []byte) bool {
	if len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}

// shown is a number as an error shows it.
func (d *decoder) shown(h head) string {
	switch {
	case h.typ == Float:
		return fmt.Sprint(h.float())
	case h.typ != Int:
		return short(string(d.data[d.pos+h.size:][:h.length]))
	case h.negative():
		return strconv.FormatInt(int64(h.bits), 10)
	}
	return strconv.FormatUint(h.bits, 10)
}

// float reads a floating-point number of the given size, also from an integer
// or a string as ProtoJSON has it.
func (d *decoder) float(bits int) (float64, error) {
	if f, ok := d.double(); ok && bits == 64 {
		d.pos += 9
		return f, nil
	}
	h, err := d.peek()
	if err != nil {
		return 0, err
	}
	f, ok := d.number(h)
	if h.text() {
		f, ok = parseFloat(d.data[d.pos+h.size:][:h.length])
	}
	if !ok {
		return 0, d.errorf("%v where a number is needed", h.typ)
	}
	// A double that is nearer to the largest float32 than to the next step
	// above is rounded, as by strconv.
	if bits == 32 && math.IsInf(float64(float32(f)), 0) && !math.IsInf(f, 0) {
		return 0, d.errorf("%v is out of range for float32", f)
	}
	d.pass(h)
	return f, nil
}

func parseFloat(s []byte) (float64, bool) {
	switch string(s) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if n, _ := text.NumberLen(s); n == 0 || n < len(s) { // what strconv knows beyond JSON's numbers is not meant
		return 0, false
	}
	f, err := strconv.ParseFloat(string(s), 64)
	return f, err == nil
}

// pass goes past a number or string whose head is h.
func (d *decoder) pass(h head) {
	d.pos += h.size
	if h.typ == Str || h.typ == Bin {
		d.pos += int(h.length)
	}
}

// bytes reads a copy of what octets reads, or an array of integers, where those
// below zero are the signed bytes of languages such as Java. No bytes are nil.
func (d *decoder) bytes() ([]byte, error) {
	if b, size, ok := d.octets(); ok {
		d.pos += size
		return append([]byte(nil), b...), nil
	}
	if t, err := d.Type(); err != nil || t != Array {
		return nil, d.notA(Bin)
	}
	n, err := d.array()
	if err != nil {
		return nil, err
	}
	var b []byte
	for i := range n {
		start := d.pos
		x, err := d.int(64, "a byte")
		if err == nil && (x < -128 || x > 255) {
			d.pos = start
			err = d.errorf("%d is out of range for a byte", x)
		}
		if err != nil {
			return nil, atIndex(i, err)
		}
		b = append(b, byte(x))
	}
	d.depth--
	return b, nil
}

// time reads a timestamp or an RFC 3339 string.
func (d *decoder) time() (t time.Time, err error) {
	start := d.pos
	h, err := d.peek()
	if err != nil {
		return t, err
	}
	if h.text() {
		s, err := d.Str()
		if err != nil {
			return t, err
		}
		var ok bool
		if t, ok = text.ParseTime(s); !ok {
			d.pos = start
			return time.Time{}, d.errorf("%q is not an RFC 3339 time", short(string(s)))
		}
	} else if h.typ != Ext {
		return t, d.errorf("%v where a timestamp or an RFC 3339 string is needed", h.typ)
	} else if t, err = d.Time(); err != nil {
		return t, err
	}
	if !text.InYears(t) {
		d.pos = start
		return time.Time{}, d.errorf("the time is not within the years 1 to 9999")
	}
	return t, nil
}

// seconds reads a duration's parts, which have the same sign.
func (d *decoder) seconds() (seconds int64, nanos int32, err error) {
	start := d.pos
	s, err := d.Str()
	if err != nil {
		return 0, 0, err
	}
	if seconds, nanos, err = text.ParseDuration(s); err != nil {
		d.pos = start
		return 0, 0, d.errorf(`%q is not a duration such as "1.5s", of at most %d seconds`, short(string(s)), int64(text.MaxDuration))
	}
	return seconds, nanos, nil
}

func (d *decoder) duration() (time.Duration, error) {
	start := d.pos
	seconds, nanos, err := d.seconds()
	if err != nil {
		return 0, err
	}
	sum, ok := text.GoDuration(seconds, nanos)
	if !ok {
		d.pos = start
		return 0, d.errorf("the duration is out of range for time.Duration (about 292 years)")
	}
	return sum, nil
}

// short is s as an error shows it.
func short(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
