package expr_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/flow/expr"
	"github.com/everywire/everywire/schema"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 5e8, time.FixedZone("", 3600))

// scope has a variable of each kind, twice: as one whose type is known, in v, and as
// one whose type is not, in any.
func scope() (expr.Scope, []any) {
	v, open := expr.Root{Name: "v", What: "variable"}, expr.Root{Name: "any", What: "value"}
	var env []any
	for _, x := range []struct {
		name  string
		kind  expr.Kind
		value any
	}{
		{"t", expr.Bool, true}, {"f", expr.Bool, false},
		{"i", expr.Int, int64(7)}, {"big", expr.Int, uint64(math.MaxUint64)}, {"huge", expr.Int, schema.Number("99999999999999999999")},
		{"least", expr.Int, int64(math.MinInt64)}, {"most", expr.Int, int64(math.MaxInt64)},
		{"x", expr.Float, 2.5}, {"nan", expr.Float, math.NaN()}, {"inf", expr.Float, math.Inf(1)}, {"far", expr.Float, 1e19},
		{"s", expr.String, "Grüße"}, {"b", expr.Bytes, []byte{0, 255}},
		{"at", expr.Time, noon}, {"d", expr.Duration, 1500 * time.Millisecond},
		{"l", expr.List, []any{int64(1), "two", nil}}, {"o", expr.Object, map[string]any{"a": int64(1), "b c": map[string]any{"d": "e"}}},
		{"none", expr.Unknown, nil},
	} {
		v.Vars = append(v.Vars, expr.Var{Name: x.name, Type: expr.Simple(x.kind), Slot: len(env)})
		open.Vars = append(open.Vars, expr.Var{Name: x.name, Type: expr.Simple(expr.Unknown), Slot: len(env)})
		env = append(env, x.value)
	}
	return expr.Scope{v, open}, env
}

// eval computes an expression. What was wrong is in the error, as the place and the
// text.
func eval(text string) (any, error) {
	s, env := scope()
	e, err := expr.Parse(text)
	if err != nil {
		return nil, err
	}
	p, err := e.Compile(s)
	if err != nil {
		return nil, err
	}
	got, err := p.Eval(env)
	if err != nil {
		return nil, err
	}
	// What is said of the value beforehand holds.
	if is, want := expr.TypeOf(got).Kind, p.Type().Kind; want != expr.Unknown && want != expr.Null && is != expr.Null && is != want {
		return nil, fmt.Errorf("%s was to be %v, and is %v", text, p.Type(), expr.TypeOf(got))
	}
	if c, ok := p.Constant(); ok && !reflect.DeepEqual(c, got) {
		return nil, fmt.Errorf("%s is %v, and always %v", text, got, c)
	}
	return got, nil
}

func TestValues(t *testing.T) {
	for text, want := range map[string]any{
		"1": int64(1), "1.5": 1.5, "1e3": 1000.0, "2E-2": 0.02, "true": true, "null": nil, `'a ''b'''`: "a 'b'", `"it's"`: "it's", "''": "",
		"9223372036854775807": int64(math.MaxInt64), "-9223372036854775807 - 1": int64(math.MinInt64),
		"1 + 2 * 3": int64(7), "(1 + 2) * 3": int64(9), "10 - 2 - 3": int64(5), "7 % 3": int64(1), "-7 % 3": int64(-1), "7 / 2": 3.5, "6 / 2": 3.0,
		"1 + 0.5": 1.5, "7.5 % 2": 1.5, "- -3": int64(3), "-v.x": -2.5, "any.i - any.x": 4.5, "2 * any.x": 5.0,
		"!v.t": false, "!v.f && v.t": true, "v.f && any.none": false, "v.t || any.none": true, "v.f || v.f": false, "1 < 2 && 2 < 3": true,
		"1 == 1.0": true, "any.i == 7": true, "any.i != '7'": true, "v.s == 'Grüße'": true, "any.none == null": true, "v.o == null": false, "v.t == v.t": true,
		"any.t != any.f": true, "v.b == v.b": true, "v.at == v.at": true, "v.d < v.d": false, "'a' < 'b'": true, "2 <= 2": true, "3 >= 4": false,
		// No integer becomes a float where it is compared.
		"v.most == 9223372036854775808.0": false, "v.most < 9223372036854775808.0": true, "v.least == -9223372036854775808.0": true,
		"v.big > v.most": true, "v.big > 1e19": true, "v.big < 1.9e19": true, "v.huge > v.big": true, "v.huge == v.huge": true, "v.least < v.huge": true,
		"v.huge > 1e19": true, "v.far > v.most": true, "v.far < v.big": true,
		"v.nan == v.nan": false, "v.nan < 1": false, "v.inf > v.huge": true,
		"v.l[0]": int64(1), "v.l[1]": "two", "v.l[9]": nil, "v.l[-1]": nil, "any.l[any.i - 7]": int64(1),
		"v.o.a": int64(1), "v.o['b c'].d": "e", "v.o.nope": nil, "v.o.nope.deeper": nil, "any.none.x[0]": nil, "v.o[concat('a', '')]": int64(1),
		"if(v.i > 5, 'many', 'few')": "many", "if(v.f, 1, null)": nil, "default(any.none, 3)": int64(3), "default(v.s, 'x')": "Grüße", "default(v.o.nope, v.o.a)": int64(1),
		"concat('a', 1, true, null, 1.5)": "a1truenull1.5", "upper(v.s)": "GRÜßE", "lower('ÄB')": "äb", "trim('  x\t')": "x",
		"length(v.s)": int64(5), "length(v.b)": int64(2), "length(v.l)": int64(3), "length(v.o)": int64(2), "length(null)": int64(0), "contains(v.s, 'üß')": true,
		"repeat('ab', 3)": "ababab", "repeat('', 9000000000)": "", "repeat('x', 0)": "",
		"string(v.i)": "7", "string(v.b)": "AP8=", "string(v.at)": "2026-03-04T11:00:00.5Z", "string(v.d)": "1.5s", "json(v.o)": `{"a":1,"b c":{"d":"e"}}`,
		"json(v.l)": `[1,"two",null]`, `json('a"\' )`: `"a\"\\"`, "json(v.nan)": `"NaN"`, "json(1e21)": "1e+21", "json(0.1)": "0.1", "json(v.big)": "18446744073709551615", "json(v.huge)": "99999999999999999999",
		"int('  42 ')": int64(42), "int(2.9)": int64(2), "int(-2.9)": int64(-2), "int(v.t)": int64(1), "int(v.huge) == v.huge": true,
		"float('1e3')": 1000.0, "float(v.i)": 7.0, "bytes('a') == bytes('a')": true,
	} {
		got, err := eval(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v (%T), want %v (%T)", text, got, got, want, want)
		}
	}
	if got, err := eval("now()"); err != nil || time.Since(got.(time.Time)) < 0 {
		t.Errorf("now() is %v, %v", got, err)
	}
}

// What is wrong, and where: found before anything is computed if the types tell, and
// else when it is.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"v.i + v.s":             "character 5: + is for numbers, not for a text: texts are joined by concat(…)",
		"any.i + any.s":         "character 7: + is for numbers, not for a text",
		"any.s && true":         "character 7: && is for bools, not for a text",
		"!any.none":             "character 1: ! is for bools, not for null",
		"-any.s":                "character 1: - is for numbers, not for a text",
		"v.most + 1":            "character 8: 9223372036854775807 + 1 is beyond the integers of 64 bits",
		"v.least - 1":           "character 9: -9223372036854775808 - 1 is beyond the integers of 64 bits",
		"-v.least":              "character 1: 0 - -9223372036854775808 is beyond the integers of 64 bits",
		"v.most * 2":            "character 8: 9223372036854775807 * 2 is beyond the integers of 64 bits",
		"v.least * -1":          "character 9: -9223372036854775808 * -1 is beyond the integers of 64 bits",
		"v.big + 1":             "character 7: 18446744073709551615 is beyond the integers that can be computed with, of 64 bits with a sign",
		"v.i / 0":               "character 5: a number is divided by 0",
		"v.i % (v.i - 7)":       "character 5: a number is divided by 0",
		"1e308 * 10":            "character 7: the result of * is no number that a double can hold",
		"any.l == any.l":        "character 7: == is for single values, not for a list",
		"v.l == v.l":            "character 5: == is for single values, not for a list",
		"any.i < any.s":         "character 7: an integer and a text cannot be compared by <",
		"any.none < 1":          "character 10: null and an integer cannot be compared by <",
		"any.t < any.t":         "character 7: a bool and a bool cannot be compared by <",
		"any.i.x":               "character 7: an integer has no members: \"x\" cannot be one",
		"any.i[0]":              "character 6: an integer has neither elements nor members",
		"any.l['a']":            "character 7: a list has no members: \"a\" cannot be one",
		"any.l[any.s]":          "character 11: the elements of a list have numbers from 0: a text is none",
		"any.o[1]":              "character 7: the members of an object have names: an integer is none",
		"v.l[v.s]":              "character 7: the elements of a list have numbers from 0: a text is none",
		"upper(any.i)":          "character 11: upper(text) takes a text here, not an integer",
		"length(1)":             "character 1: length: an integer has no length",
		"int('x')":              "character 1: int: \"x\" is no integer of 64 bits",
		"int(1e30)":             "character 1: int: 1e+30 is beyond the integers of 64 bits",
		"int(v.l)":              "character 1: int: a list is no integer",
		"float('Inf')":          "character 1: float: \"Inf\" is no number",
		"repeat('x', -1)":       "character 1: repeat: -1 is no count",
		"repeat('xy', 9000000)": "character 1: repeat: a text would have more than 4194304 bytes",
		"if(any.i, 1, 2)":       "character 8: if is for bools, not for an integer",
		"if(true)":              "character 1: if has 1 arguments: it is if(condition, a, b)",
		"default(1)":            "character 1: default has 1 arguments: it is default(value, other)",
		"now(1)":                "character 1: now has 1 arguments: it is now()",
		"v":                     "character 1: v is no value: the name of its variable should follow, as in v.NAME",
		"v[0]":                  "character 1: v is no value: the name of its variable should follow, as in v.NAME",
		"v.true":                "character 3: true is no name of a member: write ['true']",
		"nope.x":                "character 1: there is no name \"nope\"",
		"1 1":                   "character 3: 1 does not belong here: an operator or the end of the expression should follow",
		"f(1":                   "character 4: \",\" or \")\" should follow, not the end",
		"'open":                 "character 1: the text has no end: a ' is missing",
		"1e999":                 "character 1: 1e999 is no number that a double can hold",
		"":                      "character 1: the expression is empty",
		"\x01":                  "character 1: '\\x01' does not belong in an expression",
	} {
		got, err := eval(text)
		var at *expr.Error
		if !errors.As(err, &at) {
			t.Errorf("%q is %v, %v (%T)", text, got, err, err)
		} else if err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// An expression is bounded in what it may be, and in what it may make.
func TestLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "1" + strings.Repeat(")", n) }
	for _, good := range []string{nested(expr.MaxDepth - 1), "1" + strings.Repeat("+1", expr.MaxNodes/2-1), strings.Repeat("!", expr.MaxDepth-1) + "v.t"} {
		if _, err := eval(good); err != nil {
			t.Errorf("%.20s…: %v", good, err)
		}
	}
	long := "concat(" + strings.Repeat("repeat('x', 4000000), ", 3) + "1)"
	for text, want := range map[string]string{
		nested(expr.MaxDepth + 1):                      "nests more than 64 deep",
		strings.Repeat("!", expr.MaxDepth+1) + "v.t":   "nests more than 64 deep",
		strings.Repeat("-", 100_000):                   "has 100000 bytes: the limit is 16384",
		"1" + strings.Repeat("+1", expr.MaxNodes):      "has more than 1000 parts",
		"v.o" + strings.Repeat(".a", expr.MaxNodes):    "has more than 1000 parts",
		"v.o" + strings.Repeat("['a']", expr.MaxNodes): "has more than 1000 parts",
		long: "a text would have more than 4194304 bytes",
	} {
		if _, err := eval(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s…: %v", text, err)
		}
	}
	deep := any("x")
	for range 20_000 {
		deep = []any{deep}
	}
	if _, err := expr.AppendText(nil, deep); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("a value that nests 20,000 deep: %v", err)
	}
}

// A computed expression makes no garbage but its result.
func TestNoAllocations(t *testing.T) {
	s, env := scope()
	e, err := expr.Parse("v.o.a == 1 && v.s != 'x' && v.l[0] < v.i")
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = p.Eval(env) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"version", "name", "triggers", "on", "flows"}
	for word, want := range map[string]string{
		"versino": "version", "Name": "name", "naem": "name", "trigger": "triggers", "flow": "flows", "no": "on", "colour": "", "": "",
		strings.Repeat("x", 100): "",
	} {
		if got := expr.Nearest(word, words); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// The path of an expression is what is drawn of it.
func TestPath(t *testing.T) {
	for text, want := range map[string]string{"steps.a.b": "steps.a.b", "steps['a'].b": "steps.a.b", "steps.a[0]": "", "1": "", "upper(v.s)": ""} {
		e, err := expr.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Path(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// FuzzExpr: whatever is read and compiled can be computed, or says why not, at a
// place in the expression; and it is of the type that was said.
func FuzzExpr(f *testing.F) {
	for _, seed := range []string{
		"1 + 2 * v.i", "if(v.t, 'a', v.s)", "v.o['b c'].d", "any.l[any.i]", "concat(v.s, json(v.o))", "-v.least % 3", "repeat(v.s, 1000)", "\"it''s\" == 'it''s'",
		"length(default(any.none, v.l)) >= 2.5e1", "!(any.huge < 1e19)", "v.at < now()", "int(float('7')) / 0",
	} {
		f.Add(seed)
	}
	s, env := scope()
	f.Fuzz(func(t *testing.T, text string) {
		check := func(err error) {
			var at *expr.Error
			if !errors.As(err, &at) || at.Offset < 0 || at.Offset > len(text) || at.Text == "" {
				t.Fatalf("%q: %#v", text, err)
			}
		}
		e, err := expr.Parse(text)
		if err != nil {
			check(err)
			return
		}
		e.Path()
		p, err := e.Compile(s)
		if err != nil {
			check(err)
			return
		}
		got, err := p.Eval(env)
		if err != nil {
			check(err)
			return
		}
		is, want := expr.TypeOf(got).Kind, p.Type().Kind
		if want != expr.Unknown && want != expr.Null && is != expr.Null && is != want {
			t.Fatalf("%q was to be %v, and is %v", text, p.Type(), got)
		}
		if _, err := expr.AppendText(nil, got); err != nil {
			check(err)
		}
	})
}
