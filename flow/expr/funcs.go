package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everywire/everywire/schema"
)

// A function is one that expressions can call.
type function struct {
	args string // as errors show them
	// least and most are the numbers of arguments; most < 0 is any.
	least, most int
	// kinds are those of the arguments, the last for all that follow; Unknown is any.
	kinds []Kind
	typ   *Type
	// impure is set if two calls may have different results.
	impure bool
	run    func(args []any) (any, *Error)
}

// functions are those with arguments that are all computed first; if and default
// are not.
var functions = map[string]function{
	"concat":   {"a, b, …", 1, -1, []Kind{Unknown}, stringType, false, concat},
	"upper":    {"text", 1, 1, []Kind{String}, stringType, false, onText(strings.ToUpper)},
	"lower":    {"text", 1, 1, []Kind{String}, stringType, false, onText(strings.ToLower)},
	"trim":     {"text", 1, 1, []Kind{String}, stringType, false, onText(strings.TrimSpace)},
	"length":   {"value", 1, 1, []Kind{Unknown}, intType, false, length},
	"contains": {"text, part", 2, 2, []Kind{String}, boolType, false, contains},
	"repeat":   {"text, count", 2, 2, []Kind{String, Int}, stringType, false, repeat},
	"string":   {"value", 1, 1, []Kind{Unknown}, stringType, false, concat},
	"json":     {"value", 1, 1, []Kind{Unknown}, stringType, false, toJSON},
	"int":      {"value", 1, 1, []Kind{Unknown}, intType, false, toInt},
	"float":    {"value", 1, 1, []Kind{Unknown}, floatType, false, toFloat},
	"bytes":    {"text", 1, 1, []Kind{String}, Simple(Bytes), false, toBytes},
	"now":      {"", 0, 0, nil, timeType, true, func([]any) (any, *Error) { return time.Now(), nil }},
}

// Functions lists the functions with their arguments, such as "upper(text)".
func Functions() []string {
	all := []string{"if(condition, a, b)", "default(value, other)"}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		all = append(all, name+"("+functions[name].args+")")
	}
	slices.Sort(all)
	return all
}

func (c *compiler) call(n call) (code, *Error) {
	args := make([]code, len(n.args))
	for i, a := range n.args {
		var err *Error
		if args[i], err = c.node(a); err != nil {
			return code{}, err
		}
	}
	switch n.name {
	case "if":
		return conditional(n, args)
	case "default":
		return fallback(n, args)
	}
	f, ok := functions[n.name]
	if !ok {
		err := unknown(n.at(), "function", n.name, slices.Sorted(maps.Keys(functions)))
		err.Allowed = Functions()
		return code{}, err
	}
	if len(args) < f.least || f.most >= 0 && len(args) > f.most {
		return code{}, wrongCount(n, f.args)
	}
	for i, a := range args {
		want := f.kinds[min(i, len(f.kinds)-1)]
		if want != Unknown && !a.typ.is(want) {
			return code{}, errorf(n.args[i].at(), "%s(%s) takes %v here, not %v", n.name, f.args, want, a.typ)
		}
	}
	return f.code(n, args)
}

// code computes the arguments and then the function.
func (f function) code(n call, args []code) (code, *Error) {
	out := code{typ: f.typ, run: func(env []any) (any, error) {
		values := make([]any, len(args))
		texts := 0
		for i, a := range args {
			v, err := a.run(env)
			if err != nil {
				return nil, err
			}
			if s, ok := v.(string); ok { // so that many long ones are not there at once
				if texts += len(s); texts > MaxText {
					return nil, errorf(n.at(), "%s: %s", n.name, tooLong().Text)
				}
			}
			want := f.kinds[min(i, len(f.kinds)-1)]
			if got := kindOf(v); want != Unknown && got != want {
				return nil, errorf(n.args[i].at(), "%s(%s) takes %v here, not %v", n.name, f.args, want, got)
			}
			values[i] = v
		}
		v, err := f.run(values)
		if err != nil {
			return nil, errorf(n.at(), "%s: %s", n.name, err.Text)
		}
		return v, nil
	}}
	if f.impure {
		return out, nil
	}
	return folded(out, args...)
}

func wrongCount(n call, args string) *Error {
	return errorf(n.at(), "%s has %d arguments: it is %s(%s)", n.name, len(n.args), n.name, args)
}

// conditional computes one of two arguments.
func conditional(n call, args []code) (code, *Error) {
	if len(args) != 3 {
		return code{}, wrongCount(n, "condition, a, b")
	}
	if !args[0].typ.is(Bool) {
		return code{}, errorf(n.args[0].at(), "the condition of if is a bool, not %v", args[0].typ)
	}
	at := n.args[0].at()
	return folded(code{typ: common(args[1].typ, args[2].typ), run: func(env []any) (any, error) {
		b, err := truth(args[0], env, at, "if")
		switch {
		case err != nil:
			return nil, err
		case b:
			return args[1].run(env)
		}
		return args[2].run(env)
	}}, args...)
}

// fallback computes its second argument if the first is null.
func fallback(n call, args []code) (code, *Error) {
	if len(args) != 2 {
		return code{}, wrongCount(n, "value, other")
	}
	return folded(code{typ: common(args[0].typ, args[1].typ), run: func(env []any) (any, error) {
		v, err := args[0].run(env)
		if err != nil || v != nil {
			return v, err
		}
		return args[1].run(env)
	}}, args...)
}

func onText(f func(string) string) func([]any) (any, *Error) {
	return func(args []any) (any, *Error) { return f(args[0].(string)), nil }
}

func concat(args []any) (any, *Error) {
	var text []byte
	for _, a := range args {
		var err error
		if text, err = AppendText(text, a); err != nil {
			return nil, err.(*Error) //nolint:errorlint // as AppendText says
		}
	}
	return string(text), nil
}

func toJSON(args []any) (any, *Error) {
	text, err := appendJSON(nil, args[0], 0)
	if err != nil {
		return nil, err.(*Error) //nolint:errorlint // as appendJSON's all are
	}
	if len(text) > MaxText {
		return nil, tooLong()
	}
	return string(text), nil
}

// length is the number of characters, bytes, elements or members.
func length(args []any) (any, *Error) {
	switch v := args[0].(type) {
	case nil:
		return int64(0), nil
	case string:
		return int64(utf8.RuneCountInString(v)), nil
	case []byte:
		return int64(len(v)), nil
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return nil, errorf(0, "%v has no length", kindOf(args[0]))
}

func contains(args []any) (any, *Error) {
	return strings.Contains(args[0].(string), args[1].(string)), nil
}

func repeat(args []any) (any, *Error) {
	text := args[0].(string)
	count, ok := args[1].(int64)
	switch {
	case !ok || count < 0:
		return nil, errorf(0, "%v is no count", args[1])
	case len(text) > 0 && count > int64(MaxText/len(text)):
		return nil, tooLong()
	case len(text) == 0:
		return "", nil
	}
	return strings.Repeat(text, int(count)), nil
}

// toInt reads a text, cuts off a fraction, and leaves integers as they are.
func toInt(args []any) (any, *Error) {
	switch v := args[0].(type) {
	case int64, uint64, schema.Number:
		return v, nil
	case float64:
		if !(v >= -(1<<63) && v < 1<<63) {
			return nil, errorf(0, "%v is beyond the integers of 64 bits", v)
		}
		return int64(math.Trunc(v)), nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return nil, errorf(0, "%s is no integer of 64 bits", shown(v))
		}
		return n, nil
	}
	return nil, errorf(0, "%v is no integer", kindOf(args[0]))
}

func toFloat(args []any) (any, *Error) {
	switch v := args[0].(type) {
	case int64, uint64, schema.Number, float64:
		return floatOf(v), nil
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, errorf(0, "%s is no number", shown(v))
		}
		return f, nil
	}
	return nil, errorf(0, "%v is no number", kindOf(args[0]))
}

func toBytes(args []any) (any, *Error) { return []byte(args[0].(string)), nil }

// floatOf is the float that is nearest to a number.
func floatOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case schema.Number:
		f, _ := strconv.ParseFloat(string(v), 64) // beyond a double's range it is infinite
		return f
	case float64:
		return v
	}
	panic(fmt.Sprintf("expr: %T is no number", v))
}

// shown is a text as it stands in errors, which do not repeat long ones.
func shown(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}
