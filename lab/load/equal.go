package load

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/everywire/everywire/schema"
)

// Difference says where two documents differ, as a JSON Pointer (RFC 6901) and
// the two values, "" if they are equal. Numbers are compared by exact value,
// whatever type holds them: on some wires all numbers are doubles.
func Difference(got, want any) string {
	where, what := differ(got, want)
	if what == "" {
		return ""
	}
	if where == "" {
		where = "the whole document"
	}
	return where + ": " + what
}

// differ returns the place, built while the recursion unwinds so that equal
// documents cost nothing, and the difference.
func differ(got, want any) (where, what string) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		for k, w := range want {
			g, ok := got[k]
			if !ok {
				return "/" + escape(k), "is missing"
			}
			if where, what := differ(g, w); what != "" {
				return "/" + escape(k) + where, what
			}
		}
		if len(got) != len(want) {
			return "", fmt.Sprintf("has %d members, want %d", len(got), len(want))
		}
		return "", ""
	case []any:
		got, ok := got.([]any)
		if !ok {
			break
		}
		if len(got) != len(want) {
			return "", fmt.Sprintf("has %d elements, want %d", len(got), len(want))
		}
		for i, w := range want {
			if where, what := differ(got[i], w); what != "" {
				return "/" + strconv.Itoa(i) + where, what
			}
		}
		return "", ""
	default:
		if equalScalar(got, want) {
			return "", ""
		}
	}
	return "", fmt.Sprintf("got %s, want %s", describe(got), describe(want))
}

func equalScalar(got, want any) bool {
	switch want := want.(type) {
	case nil:
		return got == nil
	case bool:
		g, ok := got.(bool)
		return ok && g == want
	case string:
		g, ok := got.(string)
		return ok && g == want
	case []byte:
		g, ok := got.([]byte)
		return ok && bytes.Equal(g, want)
	case time.Time:
		g, ok := got.(time.Time)
		return ok && g.Equal(want)
	case int64:
		if g, ok := got.(int64); ok { // the usual case, without big numbers
			return g == want
		}
	case float64:
		if g, ok := got.(float64); ok {
			return g == want
		}
	}
	const exact = 1 << 53 // integers up to here are exact as float64
	switch w := want.(type) {
	case int64:
		if g, ok := got.(float64); ok && -exact <= w && w <= exact {
			return g == float64(w)
		}
	case float64:
		if g, ok := got.(int64); ok && -exact <= g && g <= exact {
			return float64(g) == w
		}
	}
	g, w := number(got), number(want)
	return g != nil && w != nil && g.Cmp(w) == 0
}

// number is the exact value of a number, nil if v is none.
func number(v any) *big.Rat {
	r := new(big.Rat)
	switch v := v.(type) {
	case int64:
		return r.SetInt64(v)
	case uint64:
		return r.SetUint64(v)
	case float64:
		return r.SetFloat64(v) // nil if not finite
	case schema.Number:
		i, ok := new(big.Int).SetString(string(v), 10)
		if !ok {
			return nil
		}
		return r.SetInt(i)
	}
	return nil
}

// describe shows a value in an error, cut to a line's length.
func describe(v any) string {
	const limit = 60
	s := fmt.Sprintf("%v", v)
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return fmt.Sprintf("an object of %d members", len(v))
	case []any:
		return fmt.Sprintf("an array of %d elements", len(v))
	case string:
		s = strconv.Quote(v)
	}
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// escape writes a member name in a JSON Pointer.
func escape(name string) string { return pointerEscapes.Replace(name) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
