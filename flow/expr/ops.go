package expr

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/everywire/everywire/schema"
)

func (c *compiler) unary(n unary) (code, *Error) {
	x, err := c.node(n.x)
	if err != nil {
		return code{}, err
	}
	at := n.at()
	if n.op == "!" {
		if !x.typ.is(Bool) {
			return code{}, errorf(at, "! is for bools, not for %v", x.typ)
		}
		return folded(code{typ: boolType, run: func(env []any) (any, error) {
			b, err := truth(x, env, at, "!")
			return !b, err
		}}, x)
	}
	if !x.typ.numeric() {
		return code{}, errorf(at, "- is for numbers, not for %v", x.typ)
	}
	return folded(code{typ: x.typ, run: func(env []any) (any, error) {
		v, err := x.run(env)
		if err != nil {
			return nil, err
		}
		if f, ok := v.(float64); ok {
			return -f, nil
		}
		return arithmetic("-", int64(0), v, at)
	}}, x)
}

// truth computes a code whose value must be a bool.
func truth(x code, env []any, at int, op string) (bool, error) {
	v, err := x.run(env)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, errorf(at, "%s is for bools, not for %v", op, kindOf(v))
	}
	return b, nil
}

func (c *compiler) binary(n binary) (code, *Error) {
	x, err := c.node(n.x)
	if err != nil {
		return code{}, err
	}
	y, err := c.node(n.y)
	if err != nil {
		return code{}, err
	}
	switch n.op {
	case "&&", "||":
		return logical(n, x, y)
	case "==", "!=":
		return equality(n, x, y)
	case "<", "<=", ">", ">=":
		return order(n, x, y)
	}
	for _, z := range []code{x, y} {
		if !z.typ.numeric() {
			err := errorf(n.at(), "%s is for numbers, not for %v", n.op, z.typ)
			if z.typ.Kind == String && n.op == "+" {
				err.Text += ": texts are joined by concat(…)"
			}
			return code{}, err
		}
	}
	at, op := n.at(), n.op
	return folded(code{typ: resultType(op, x.typ, y.typ), run: func(env []any) (any, error) {
		a, err := x.run(env)
		if err != nil {
			return nil, err
		}
		b, err := y.run(env)
		if err != nil {
			return nil, err
		}
		return arithmetic(op, a, b, at)
	}}, x, y)
}

// resultType is the type of a sum, a product …
func resultType(op string, x, y *Type) *Type {
	switch {
	case op == "/", x.Kind == Float, y.Kind == Float:
		return floatType
	case x.Kind == Int && y.Kind == Int:
		return intType
	}
	return unknownType
}

// logical does not look at y if x decides.
func logical(n binary, x, y code) (code, *Error) {
	for _, z := range []code{x, y} {
		if !z.typ.is(Bool) {
			return code{}, errorf(n.at(), "%s is for bools, not for %v", n.op, z.typ)
		}
	}
	at, op, decides := n.at(), n.op, n.op == "||"
	return folded(code{typ: boolType, run: func(env []any) (any, error) {
		b, err := truth(x, env, at, op)
		if err != nil || b == decides {
			return b, err
		}
		return truth(y, env, at, op)
	}}, x, y)
}

func equality(n binary, x, y code) (code, *Error) {
	for _, z := range []code{x, y} {
		if z.typ.Kind == List || z.typ.Kind == Object {
			other := x.typ
			if z.typ == x.typ {
				other = y.typ
			}
			if other.Kind != Null {
				return code{}, errorf(n.at(), "%s is for single values, not for %v", n.op, z.typ)
			}
		}
	}
	if x.typ.unlike(y.typ) {
		return code{}, errorf(n.at(), "%v and %v are never equal", x.typ, y.typ)
	}
	at, op, want := n.at(), n.op, n.op == "=="
	return folded(code{typ: boolType, run: func(env []any) (any, error) {
		a, err := x.run(env)
		if err != nil {
			return nil, err
		}
		b, err := y.run(env)
		if err != nil {
			return nil, err
		}
		eq, err2 := equal(a, b, at, op)
		if err2 != nil {
			return nil, err2
		}
		return eq == want, nil
	}}, x, y)
}

func equal(a, b any, at int, op string) (bool, *Error) {
	ka, kb := kindOf(a), kindOf(b)
	switch {
	case ka == Null || kb == Null:
		return ka == kb, nil
	case ka >= List || kb >= List:
		return false, errorf(at, "%s is for single values, not for %v", op, max(ka, kb))
	case ka == Int && kb == Float, ka == Float && kb == Int, ka == kb:
		c, _ := compare(a, b)
		return c == 0, nil
	}
	return false, nil
}

func order(n binary, x, y code) (code, *Error) {
	for _, z := range []code{x, y} {
		if !z.typ.is(Int, Float, String, Time, Duration) || z.typ.Kind == Null {
			return code{}, errorf(n.at(), "%s is for numbers, texts, times and durations, not for %v", n.op, z.typ)
		}
	}
	if x.typ.unlike(y.typ) {
		return code{}, errorf(n.at(), "%v and %v cannot be compared", x.typ, y.typ)
	}
	at, op := n.at(), n.op
	return folded(code{typ: boolType, run: func(env []any) (any, error) {
		a, err := x.run(env)
		if err != nil {
			return nil, err
		}
		b, err := y.run(env)
		if err != nil {
			return nil, err
		}
		return ordered(op, a, b, at)
	}}, x, y)
}

func ordered(op string, a, b any, at int) (any, error) {
	ka, kb := kindOf(a), kindOf(b)
	numbers := (ka == Int || ka == Float) && (kb == Int || kb == Float)
	if !numbers && (ka != kb || ka != String && ka != Time && ka != Duration) {
		return nil, errorf(at, "%v and %v cannot be compared by %s", ka, kb, op)
	}
	c, ok := compare(a, b)
	if !ok {
		return false, nil // NaN
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// compare compares two numbers, or two other single values of one kind. ok is false
// if one is NaN.
func compare(a, b any) (c int, ok bool) {
	switch x := a.(type) {
	case string:
		return cmp.Compare(x, b.(string)), true
	case bool:
		if x == b.(bool) {
			return 0, true
		}
		return 1, true
	case []byte:
		return bytes.Compare(x, b.([]byte)), true
	case time.Time:
		return x.Compare(b.(time.Time)), true
	case time.Duration:
		return cmp.Compare(x, b.(time.Duration)), true
	}
	return compareNumbers(a, b)
}

// compareNumbers is exact: no integer becomes a float.
func compareNumbers(a, b any) (c int, ok bool) {
	switch x := a.(type) {
	case float64:
		if y, isFloat := b.(float64); isFloat {
			if x != x || y != y {
				return 1, false
			}
			return cmp.Compare(x, y), true
		}
		c, ok = compareNumbers(b, a)
		return -c, ok
	case schema.Number:
		if y, same := b.(schema.Number); same {
			return compareDigits(string(x), string(y)), true
		}
		return beyond(x, b)
	}
	switch y := b.(type) {
	case float64:
		return compareIntFloat(a, y)
	case schema.Number:
		c, ok = beyond(y, a)
		return -c, ok
	}
	return compareInts(a, b), true
}

// compareInts compares int64 and uint64.
func compareInts(a, b any) int {
	x, xBig := a.(uint64)
	y, yBig := b.(uint64)
	switch {
	case xBig && yBig:
		return cmp.Compare(x, y)
	case xBig: // int64 holds what is no larger than its range
		if b.(int64) < 0 || x > math.MaxInt64 {
			return 1
		}
		return cmp.Compare(int64(x), b.(int64)) //nolint:gosec // it is not larger
	case yBig:
		return -compareInts(b, a)
	}
	return cmp.Compare(a.(int64), b.(int64))
}

// compareIntFloat compares an integer of 64 bits with a float.
func compareIntFloat(a any, f float64) (int, bool) {
	switch {
	case f != f:
		return 1, false
	case f >= 1<<64:
		return -1, true
	case f < -(1 << 63):
		return 1, true
	}
	whole := math.Floor(f)
	var c int
	if whole >= 1<<63 {
		c = compareInts(a, uint64(whole))
	} else {
		c = compareInts(a, int64(whole))
	}
	if c == 0 && f > whole {
		return -1, true
	}
	return c, true
}

// beyond compares an integer outside of 64 bits with a number that is inside, or a
// float, of which it is not nearer than by its sign and its digits.
func beyond(n schema.Number, b any) (int, bool) {
	if f, ok := b.(float64); ok {
		x := floatOf(n)
		if f != f {
			return 1, false
		}
		return cmp.Compare(x, f), true
	}
	if strings.HasPrefix(string(n), "-") {
		return -1, true
	}
	return 1, true
}

// compareDigits compares two decimal integers.
func compareDigits(x, y string) int {
	xs, ys := strings.TrimPrefix(x, "-"), strings.TrimPrefix(y, "-")
	switch xNeg, yNeg := xs != x, ys != y; {
	case xNeg && yNeg:
		return compareDigits(ys, xs)
	case xNeg:
		return -1
	case yNeg:
		return 1
	}
	if c := cmp.Compare(len(xs), len(ys)); c != 0 {
		return c
	}
	return cmp.Compare(xs, ys)
}

// arithmetic computes with two numbers. Integers stay integers, but for /.
func arithmetic(op string, a, b any, at int) (any, error) {
	for _, v := range []any{a, b} {
		switch v := v.(type) {
		case int64, float64:
		case uint64, schema.Number:
			return nil, errorf(at, "%v is beyond the integers that can be computed with, of 64 bits with a sign", v)
		default:
			return nil, errorf(at, "%s is for numbers, not for %v", op, kindOf(v))
		}
	}
	x, xInt := a.(int64)
	y, yInt := b.(int64)
	if xInt && yInt && op != "/" {
		return integers(op, x, y, at)
	}
	return floats(op, floatOf(a), floatOf(b), at)
}

func integers(op string, x, y int64, at int) (any, error) {
	var z int64
	overflow := false
	switch op {
	case "+":
		z = x + y
		overflow = (z > x) != (y > 0) && y != 0
	case "-":
		z = x - y
		overflow = (z < x) != (y > 0) && y != 0
	case "*":
		z = x * y
		hi, _ := bits.Mul64(magnitude(x), magnitude(y))
		overflow = hi != 0 || x != 0 && (z/x != y || x == -1 && y == math.MinInt64)
	case "%":
		if y == 0 {
			return nil, errorf(at, "a number is divided by 0")
		}
		z = x % y
	}
	if overflow {
		return nil, errorf(at, "%d %s %d is beyond the integers of 64 bits", x, op, y)
	}
	return z, nil
}

// magnitude is the absolute value, also of the least integer.
func magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-(x + 1)) + 1 //nolint:gosec // it is not negative
	}
	return uint64(x)
}

func floats(op string, x, y float64, at int) (any, error) {
	var z float64
	switch op {
	case "+":
		z = x + y
	case "-":
		z = x - y
	case "*":
		z = x * y
	default:
		if y == 0 {
			return nil, errorf(at, "a number is divided by 0")
		}
		if z = x / y; op == "%" {
			z = math.Mod(x, y)
		}
	}
	if math.IsInf(z, 0) || math.IsNaN(z) {
		return nil, errorf(at, "the result of %s is no number that a double can hold", op)
	}
	return z, nil
}
