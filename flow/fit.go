package flow

import (
	"fmt"
	"math"
	"time"

	"github.com/everywire/everywire/flow/expr"
)

// exprKinds are what values of a type are in expressions.
var exprKinds = map[Scalar]expr.Kind{
	Bool: expr.Bool, Int32: expr.Int, Int64: expr.Int, Uint32: expr.Int, Uint64: expr.Int, Float: expr.Float, Double: expr.Float,
	String: expr.String, Bytes: expr.Bytes, Timestamp: expr.Time, Duration: expr.Duration, Any: expr.Unknown, MessageType: expr.Object,
}

// typeOf is the type in expressions of a value that a file declares.
func typeOf(label Label, s Scalar, of *Message) *expr.Type {
	t := expr.Simple(exprKinds[s])
	if of != nil {
		t = typeOfMessage(of)
	}
	switch label {
	case Repeated:
		return &expr.Type{Kind: expr.List, Of: t}
	case MapOf:
		return &expr.Type{Kind: expr.Object, Of: t}
	}
	return t
}

// typeOfMessage ends, since no message holds itself.
func typeOfMessage(m *Message) *expr.Type {
	t := &expr.Type{Kind: expr.Object, Closed: true, Name: m.Name}
	for _, f := range m.Fields {
		t.Members = append(t.Members, expr.Member{Name: f.Name, Type: typeOf(f.Label, f.Scalar, f.Of)})
	}
	return t
}

// Field returns the field of a name, or nil.
func (m *Message) Field(name string) *Field { return byName(m.Fields, name) }

// fitsMessage checks that a value can be a message, as far as can be told before it
// is there.
func (r *reader) fitsMessage(v *Value, m *Message) {
	switch v.Kind {
	case Object:
		for _, member := range v.Members {
			f := m.Field(member.Name)
			if f == nil {
				r.noField(member.Pos, m, member.Name)
				continue
			}
			r.fits(member.Value, f.Label, f.Scalar, f.Of)
		}
	case Computed:
		r.typeFits(v.Pos, v.typeOf(), typeOfMessage(m))
	case Constant, Text, List:
		r.bad(v.Pos, "%s is needed here, not %v", a(m.Name), v.typeOf())
	}
}

func (r *reader) noField(at Pos, m *Message, name string) {
	names := namesOf(m.Fields)
	if len(names) == 0 {
		r.bad(at, "%s has no fields, so no %q", m.Name, name)
		return
	}
	r.bad(at, "%s has no field %q%s", m.Name, name, meant(name, names)).Allowed = names
}

// a is what errors call a message.
func a(name string) string { return "the message " + name }

// fits checks that a value can have a type, as far as can be told.
func (r *reader) fits(v *Value, label Label, s Scalar, of *Message) {
	if v.Kind == Constant && v.Const == nil {
		return // absent
	}
	switch label {
	case Repeated:
		if v.Kind == List {
			for _, item := range v.Items {
				r.fits(item, Single, s, of)
			}
			return
		}
	case MapOf:
		if v.Kind == Object {
			for _, m := range v.Members {
				r.fits(m.Value, Single, s, of)
			}
			return
		}
	case Single, Optional:
		switch {
		case s == Any:
			return
		case of != nil:
			r.fitsMessage(v, of)
			return
		case v.Kind == Constant:
			if why := constantFits(v.Const, s); why != "" {
				r.bad(v.Pos, "%s", why)
			}
			return
		}
	}
	r.typeFits(v.Pos, v.typeOf(), typeOf(label, s, of))
}

// typeFits checks one type against another.
func (r *reader) typeFits(at Pos, is, want *expr.Type) {
	if why := mismatch(is, want); why != "" {
		r.bad(at, "%s", why)
	}
}

// mismatch says why values of one type cannot be of another, or nothing.
func mismatch(is, want *expr.Type) string {
	switch {
	case is.Kind == expr.Unknown, is.Kind == expr.Null, want.Kind == expr.Unknown:
		return ""
	case is.Kind == expr.Int && want.Kind == expr.Float, is.Kind == expr.String && (want.Kind == expr.Time || want.Kind == expr.Duration):
		return ""
	case is.Kind != want.Kind:
		return fmt.Sprintf("%s here, not %v%s", needed(want), is, conversion(is.Kind, want.Kind))
	case want.Of != nil && is.Of != nil:
		return mismatch(is.Of, want.Of)
	case want.Closed && is.Name != want.Name:
		for _, m := range is.Members {
			i := memberOf(want, m.Name)
			if i == nil {
				return fmt.Sprintf("%v has no %q, which the value has", want, m.Name)
			}
			if why := mismatch(m.Type, i); why != "" {
				return fmt.Sprintf("%s: %s", m.Name, why)
			}
		}
	}
	return ""
}

// needed says that a value of a type is.
func needed(t *expr.Type) string {
	if t.Kind == expr.Bytes {
		return "bytes are needed"
	}
	return t.String() + " is needed"
}

func memberOf(t *expr.Type, name string) *expr.Type {
	for _, m := range t.Members {
		if m.Name == name {
			return m.Type
		}
	}
	return nil
}

// conversion names the function that helps.
func conversion(is, want expr.Kind) string {
	switch {
	case want == expr.String:
		return ": string(…) makes one"
	case want == expr.Int && (is == expr.Float || is == expr.String):
		return ": int(…) makes one"
	case want == expr.Float && is == expr.String:
		return ": float(…) makes one"
	case want == expr.Bytes && is == expr.String:
		return ": bytes(…) makes them"
	}
	return ""
}

// constantFits says why a constant cannot have a type, or nothing.
func constantFits(v any, s Scalar) string {
	is, want := expr.TypeOf(v), expr.Simple(exprKinds[s])
	if why := mismatch(is, want); why != "" {
		if s == String {
			return fmt.Sprintf("a text is needed here, not %s: write '%s'", shown(v), shown(v))
		}
		return why
	}
	if text, ok := v.(string); ok {
		if why := textFits(text, s); why != "" {
			return why
		}
	}
	if _, ok := integerOf(v, s); !ok {
		return fmt.Sprintf("%s is out of range: %s", shown(v), rangeOf(s))
	}
	return ""
}

// textFits checks a text that is to be a time.
func textFits(text string, s Scalar) string {
	switch s { //nolint:exhaustive // the others are no times
	case Timestamp:
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return fmt.Sprintf("%s is no time, such as 2006-01-02T15:04:05Z", shown(text))
		}
	case Duration:
		if _, err := time.ParseDuration(text); err != nil {
			return fmt.Sprintf("%s is no duration, such as 1.5s", shown(text))
		}
	}
	return ""
}

// bounds of integers.
var bounds = map[Scalar][2]int64{
	Int32: {math.MinInt32, math.MaxInt32}, Int64: {math.MinInt64, math.MaxInt64}, Uint32: {0, math.MaxUint32}, Uint64: {0, math.MaxInt64},
}

// integerOf is a number as an integer of a type, in 64 bits; ok is true for what is
// no integer of a file, and for types that are none.
func integerOf(v any, s Scalar) (bits uint64, ok bool) {
	limits, isInt := bounds[s]
	if !isInt {
		return 0, true
	}
	switch n := v.(type) {
	case int64:
		return uint64(n), n >= limits[0] && n <= limits[1] //nolint:gosec // its bits
	case uint64:
		return n, s == Uint64 || n <= uint64(limits[1]) //nolint:gosec // not negative
	case float64:
		if n == math.Trunc(n) && n >= -(1<<63) && n < 1<<63 {
			return integerOf(int64(n), s)
		}
		return 0, false
	}
	return 0, false
}

func rangeOf(s Scalar) string {
	if s == Uint64 {
		return fmt.Sprintf("%s is from 0 to %d", s, uint64(math.MaxUint64))
	}
	return fmt.Sprintf("%s is from %d to %d", s, bounds[s][0], bounds[s][1])
}
