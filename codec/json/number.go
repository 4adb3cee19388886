package json

import (
	"errors"
	"math"
	"strconv"

	"github.com/everywire/everywire/codec/internal/text"
)

// number reads the number at pos (RFC 8259, section 6). whole is true if it
// has neither a fraction nor an exponent.
func (d *decoder) number() (lit []byte, whole bool, err error) {
	n, whole := text.NumberLen(d.data[d.pos:])
	if n == 0 {
		return nil, false, d.errorf(d.pos, "malformed number")
	}
	lit = d.data[d.pos : d.pos+n]
	d.pos += n
	return lit, whole, nil
}

var (
	errNotInteger = errors.New("not an integer")
	errTooLarge   = errors.New("out of range")
)

// integer returns the exact value of a number that is integral, however it is
// written: 1000, 1e3 and 1000.00 are the same.
func integer(lit []byte) (neg bool, abs uint64, err error) {
	if neg = lit[0] == '-'; neg {
		lit = lit[1:]
	}
	point := -1 // index of the decimal point in digits
	exp := 0
	digits := make([]byte, 0, 32)
	for i, c := range lit {
		if c == '.' {
			point = len(digits)
			continue
		}
		if c|0x20 == 'e' {
			// The number is well-formed, so the only possible error is an
			// exponent that is too large: it is saturated.
			exp, _ = strconv.Atoi(string(lit[i+1:]))
			exp = min(max(exp, -1<<30), 1<<30)
			break
		}
		digits = append(digits, c)
	}
	if point < 0 {
		point = len(digits)
	}
	point += exp
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
		point--
	}
	switch {
	case len(digits) == 0:
		return neg, 0, nil
	case point < len(digits):
		return neg, 0, errNotInteger
	case point > 20:
		return neg, 0, errTooLarge
	}
	for len(digits) < point {
		digits = append(digits, '0')
	}
	abs, err = strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return neg, 0, errTooLarge
	}
	return neg, abs, nil
}

// smallInt is the fast way for the usual integer: up to 18 plain digits. It
// returns false, having read nothing, if the number at pos is another.
func (d *decoder) smallInt() (n int64, ok bool) {
	i := d.pos
	neg := d.data[i] == '-'
	if neg {
		i++
	}
	start := i
	for i < len(d.data) && d.data[i]-'0' <= 9 {
		if i-start == 18 {
			return 0, false
		}
		n = n*10 + int64(d.data[i]-'0')
		i++
	}
	if i == start || d.data[start] == '0' && i > start+1 {
		return 0, false
	}
	if i < len(d.data) && (d.data[i] == '.' || d.data[i]|0x20 == 'e') {
		return 0, false
	}
	if neg {
		n = -n
	}
	d.pos = i
	return n, true
}

// numeral reads a number, or a string that holds just a number.
func (d *decoder) numeral(want string) (lit []byte, err error) {
	switch c := d.peek(); {
	case c == '-' || c >= '0' && c <= '9':
		lit, _, err = d.number()
		return lit, err
	case c == '"':
		start := d.pos
		if lit, err = d.str(); err != nil {
			return nil, err
		}
		if n, _ := text.NumberLen(lit); n == 0 || n != len(lit) {
			d.pos = start
			return nil, d.mismatch(want)
		}
		return lit, nil
	}
	return nil, d.mismatch(want)
}

// int reads a signed integer of the given size; the type's name is for errors.
func (d *decoder) int(bits int, name string) (int64, error) {
	c := d.peek()
	start := d.pos
	if c == '-' || c >= '0' && c <= '9' {
		if n, ok := d.smallInt(); ok {
			if bits < 64 && n != n<<(64-bits)>>(64-bits) {
				return 0, d.notInteger(start, errTooLarge, name)
			}
			return n, nil
		}
	}
	lit, err := d.numeral("an integer")
	if err != nil {
		return 0, err
	}
	n, err := toInt(lit, bits)
	if err != nil {
		return 0, d.notInteger(start, err, name)
	}
	return n, nil
}

func toInt(lit []byte, bits int) (int64, error) {
	neg, abs, err := integer(lit)
	limit := uint64(1) << (bits - 1)
	switch {
	case err != nil:
		return 0, err
	case neg && abs > limit, !neg && abs >= limit:
		return 0, errTooLarge
	case neg:
		return -int64(abs), nil //nolint:gosec // -(1<<63) wraps to itself, as it should
	}
	return int64(abs), nil //nolint:gosec // below limit
}

// uint reads an unsigned integer of the given size.
func (d *decoder) uint(bits int, name string) (uint64, error) {
	c := d.peek()
	start := d.pos
	if c >= '0' && c <= '9' {
		if n, ok := d.smallInt(); ok {
			if bits < 64 && uint64(n)>>bits != 0 {
				return 0, d.notInteger(start, errTooLarge, name)
			}
			return uint64(n), nil
		}
	}
	lit, err := d.numeral("an integer")
	if err != nil {
		return 0, err
	}
	n, err := toUint(lit, bits)
	if err != nil {
		return 0, d.notInteger(start, err, name)
	}
	return n, nil
}

func toUint(lit []byte, bits int) (uint64, error) {
	neg, abs, err := integer(lit)
	switch {
	case err != nil:
		return 0, err
	case neg && abs > 0, bits < 64 && abs>>bits != 0:
		return 0, errTooLarge
	}
	return abs, nil
}

func (d *decoder) notInteger(start int, err error, name string) error {
	lit := text.Short(string(d.data[start:d.pos]))
	if errors.Is(err, errTooLarge) {
		return d.errorf(start, "%s is out of range for %s", lit, name)
	}
	return d.errorf(start, "%s is not an integer", lit)
}

// float reads a floating-point number, 32 or 64 bits wide.
func (d *decoder) float(bits int) (float64, error) {
	c := d.peek()
	start := d.pos
	if c == '"' {
		s, err := d.str()
		if err != nil {
			return 0, err
		}
		switch string(s) {
		case "NaN":
			return math.NaN(), nil
		case "Infinity":
			return math.Inf(1), nil
		case "-Infinity":
			return math.Inf(-1), nil
		}
		d.pos = start
	}
	lit, err := d.numeral("a number")
	if err != nil {
		return 0, err
	}
	return d.parseFloat(lit, start, bits)
}

func (d *decoder) parseFloat(lit []byte, start, bits int) (float64, error) {
	f, err := strconv.ParseFloat(string(lit), bits)
	if err != nil {
		return 0, d.errorf(start, "%s is out of range for float%d", text.Short(string(lit)), bits)
	}
	return f, nil
}

// appendFloat writes the shortest number that is read as the same float, in
// the notation of JavaScript. NaN and infinities are strings.
func appendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
			bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	b = strconv.AppendFloat(b, f, format, -1, bits)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1] // e-09 is e-9
		b = b[:n-1]
	}
	return b
}

func appendInt(b []byte, n int64, quoted bool) []byte {
	if !quoted {
		return strconv.AppendInt(b, n, 10)
	}
	b = append(b, '"')
	b = strconv.AppendInt(b, n, 10)
	return append(b, '"')
}

func appendUint(b []byte, n uint64, quoted bool) []byte {
	if !quoted {
		return strconv.AppendUint(b, n, 10)
	}
	b = append(b, '"')
	b = strconv.AppendUint(b, n, 10)
	return append(b, '"')
}
