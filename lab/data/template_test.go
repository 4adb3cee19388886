package data

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// render compiles a text with the given variables and appends it once.
func render(t *testing.T, text string, place Place, values map[string]Value) string {
	t.Helper()
	names := new(Scope)
	for name := range values {
		names.Declare(name)
	}
	tm, err := Compile(text, Origin{Name: "the body"}, place, names)
	if err != nil {
		t.Fatal(err)
	}
	s := NewState(names, new(Counter), 1, 3)
	s.BeginCall()
	for name, v := range values {
		slot, _ := names.Slot(name)
		s.Set(slot, v)
	}
	return string(tm.Append(nil, s))
}

func TestInsert(t *testing.T) {
	values := map[string]Value{
		"text":   {String, "a\"\\b\n\x01é"},
		"number": {Cell, "-1.5e3"},
		"zip":    {String, "01234"},
		"padded": {Cell, "0123"},
		"list":   {JSON, `[1,"x"]`},
		"yes":    {Cell, "true"},
		"empty":  {Cell, ""},
		"url":    {Cell, "a b/c?d=é&e"},
		"line":   {String, "x\r\nEvil: 1\x7f"},
	}
	for _, c := range []struct {
		place Place
		text  string
		want  string
	}{
		{InJSON, `{"a":"{{text}}"}`, `{"a":"a\"\\b\n\u0001é"}`},
		{InJSON, `{"a":{{text}}}`, `{"a":"a\"\\b\n\u0001é"}`},
		{InJSON, `{"a":{{number}},"b":{{padded}},"c":{{yes}},"d":{{empty}}}`, `{"a":-1.5e3,"b":"0123","c":true,"d":""}`},
		{InJSON, `{"a":"{{number}}","b":{{zip}}}`, `{"a":"-1.5e3","b":"01234"}`},
		{InJSON, `[{{list}},"{{list}}"]`, `[[1,"x"],"[1,\"x\"]"]`},
		{InJSON, `{"\"{{yes}}":{{yes}}}`, `{"\"true":true}`},
		{InJSON, `{"{{yes}}":{{"lit}}eral"}}}`, `{"true":"lit}}eral"}`},
		{InURL, `/a/{{url}}?q={{url}}`, "/a/a%20b%2Fc%3Fd%3D%C3%A9%26e?q=a%20b%2Fc%3Fd%3D%C3%A9%26e"},
		{InHeader, `Bearer {{line}}`, "Bearer x  Evil: 1 "},
		{InText, `{{ text }}`, "a\"\\b\n\x01é"},
		{InText, `{{"{{"}}{{var "zip"}} } }}`, "{{01234 } }}"},
		{InText, `{{caller}}/{{call}}/{{seq}}/{{seq}}`, "3/1/1/2"},
		{InText, ``, ``},
	} {
		if got := render(t, c.text, c.place, values); got != c.want {
			t.Errorf("%s in %d: got %s, want %s", c.text, c.place, got, c.want)
		}
	}
}

func TestFunctions(t *testing.T) {
	t.Setenv("EVERYWIRE_TEST_TOKEN", "s3cret")
	for _, c := range []struct{ text, want string }{
		{`{{int -3 -3}}`, `^-3$`},
		{`{{int -9223372036854775808 9223372036854775806}}`, `^-?\d+$`},
		{`{{int 1 3}}`, `^[123]$`},
		{`{{float 1 1}}`, `^1$`},
		{`{{float -1 1}}`, `^-?\d`},
		{`{{exp 4 6}}`, `^[1-6]$`},
		{`{{uuid}}`, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{`{{string 12}}`, `^[-\w]{12}$`},
		{`{{string 0}}`, `^$`},
		{`{{string 3 5}}`, `^[-\w]{3,5}$`},
		{`{{string exp 10 20}}`, `^[-\w]{1,20}$`},
		{`{{bytes 100B}}`, `^[A-Za-z0-9+/]{134}==$`},
		{`{{pick a "b c"}}`, `^(a|b c)$`},
		{`{{now}}`, `^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`},
		{`{{now unix}}`, `^\d{10}$`},
		{`{{now unixms}}`, `^\d{13}$`},
		{`{{now unixns}}`, `^\d{19}$`},
		{`{{env EVERYWIRE_TEST_TOKEN}}`, `^s3cret$`},
	} {
		if got := render(t, c.text, InText, nil); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%s gave %.80q, want %s", c.text, got, c.want)
		}
	}
}

// In JSON a function's value is a number, or a string, as it stands for one.
func TestFunctionKinds(t *testing.T) {
	got := render(t, `[{{int 5 5}},{{uuid}},{{pick 1 1}},{{pick "1"}},{{now unix}},{{float 0.5 0.5}}]`, InJSON, nil)
	var list []any
	if err := json.Unmarshal([]byte(got), &list); err != nil {
		t.Fatal(err)
	}
	for i, isNumber := range []bool{true, false, true, false, true, true} {
		if _, ok := list[i].(float64); ok != isNumber {
			t.Errorf("element %d of %s is a number: %v", i, got, ok)
		}
	}
}

// The mean of sizes is the one that was asked for, and none is 0.
func TestExponentialSizes(t *testing.T) {
	names := new(Scope)
	tm, err := Compile(`{{bytes exp 64}}`, Origin{}, InText, names)
	if err != nil {
		t.Fatal(err)
	}
	s := NewState(names, new(Counter), 7, 0)
	const n = 20000
	sum := 0
	var b []byte
	for range n {
		b = tm.Append(b[:0], s)
		data, err := base64.StdEncoding.DecodeString(string(b))
		if err != nil || len(data) == 0 {
			t.Fatalf("%q: %v", b, err)
		}
		sum += len(data)
	}
	if mean := float64(sum) / n; mean < 62 || mean > 68 { // 65 ± 6 standard errors
		t.Errorf("the mean size is %v, want 65", mean)
	}
}

func TestCompileErrors(t *testing.T) {
	names := new(Scope)
	names.Declare("name")
	names.Declare("seq")
	for _, c := range []struct{ text, want string }{
		{"a\nb {{nope}}", `the body: line 2 column 5: nothing is named "nope": there are name, seq; the functions are bytes, call,`},
		{"é{{", "line 1 column 2: the placeholder has no end"},
		{"{{ }}", "column 1: the placeholder is empty"},
		{"{{.name}}", "names have no dot before them: {{name}}"},
		{"{{seq}}", `seq is a function's name and a variable's: write {{var "seq"}}`},
		{"{{name 3}}", "column 8: nothing may follow the name name"},
		{"{{name | upper}}", `column 8: '|' has no meaning`},
		{`{{"x" y}}`, "nothing may follow the text"},
		{`{{"x`, "the text in quotes does not end"},
		{"{{\"x\n\"}}", "does not end on its line"},
		{`{{"\q"}}`, "is not one of Go"},
		{"{{int 1}}", "int has two arguments"},
		{"{{int 5 1}}", "1 is less than 5"},
		{"{{int 1 x}}", `column 9: "x" is no integer`},
		{"{{int -9223372036854775808 9223372036854775807}}", "too wide"},
		{"{{float 1 0}}", "no bound above"},
		{"{{float 0 inf}}", "is no number"},
		{"{{exp 0}}", "no number above 0"},
		{"{{exp -1}}", "no number above 0"},
		{"{{exp 5 0}}", "the most is at least 1"},
		{"{{string}}", "string has a size: a size is N"},
		{"{{string -1}}", "is no size"},
		{"{{bytes 1 2 3}}", "bytes has a size"},
		{"{{bytes 65MiB}}", "over the limit of 64MiB"},
		{"{{bytes 99999999999999999MiB}}", "over the limit"},
		{"{{uuid 4}}", "uuid has no arguments"},
		{"{{now iso}}", "now has one of these forms: rfc3339, unix, unixms, unixns"},
		{"{{now unix x}}", "now has one of these forms"},
		{"{{pick}}", "pick has the values"},
		{"{{env}}", "env has one argument"},
		{"{{env EVERYWIRE_NOT_SET}}", "no variable EVERYWIRE_NOT_SET"},
		{"{{var x}}", `no variable is named "x"`},
		{"{{var}}", "var has one argument"},
	} {
		_, err := Compile(c.text, Origin{Name: "the body"}, InText, names)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// A template within a file's text tells where it is in the file.
func TestOrigin(t *testing.T) {
	_, err := Compile("x\n  {{y}}", Origin{Name: "mix.yaml", Line: 7, Column: 11, Indent: 4}, InText, nil)
	if want := "mix.yaml: line 8 column 9:"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Compile("{{y}}", Origin{Name: "mix.yaml", Line: 7, Column: 11}, InText, nil)
	if want := "mix.yaml: line 7 column 13:"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Whatever a value is, it stays where it is put.
func TestValuesStayInTheirPlace(t *testing.T) {
	names := new(Scope)
	slot := names.Declare("v")
	compile := func(text string, p Place) *Template {
		tm, err := Compile(text, Origin{}, p, names)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	inString, asValue := compile(`{"a":"<{{v}}>","b":1}`, InJSON), compile(`{"a":{{v}},"b":1}`, InJSON)
	path, header := compile("/x/{{v}}/y?q={{v}}", InURL), compile("{{v}}", InHeader)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just("\"},\"b\":2,{"), rapid.StringMatching(`-?[0-9.e]{0,6}`)).Draw(rt, "text")
		s := NewState(names, new(Counter), 1, 0)
		s.Set(slot, Value{rapid.SampledFrom([]Kind{String, Cell}).Draw(rt, "kind"), text})
		var m struct {
			A any
			B json.Number
		}
		// A number may be one that no float64 holds, such as 1e310.
		unmarshal := func(text []byte, v any) error {
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			err := d.Decode(v)
			if rest := d.InputOffset(); err == nil && rest != int64(len(text)) {
				err = fmt.Errorf("%q follows", text[rest:])
			}
			return err
		}
		if err := unmarshal(inString.Append(nil, s), &m); err != nil || m.A != "<"+text+">" || m.B != "1" {
			rt.Fatalf("within a string: %v, %v", m, err)
		}
		if err := unmarshal(asValue.Append(nil, s), &m); err != nil || m.B != "1" {
			rt.Fatalf("as a value: %v, %v", m, err)
		}
		u, err := url.Parse(string(path.Append(nil, s)))
		if err != nil || u.Path != "/x/"+text+"/y" || u.Query().Get("q") != text || strings.Count(u.EscapedPath(), "/") != 3 {
			rt.Fatalf("in a URL: %v, %v", u, err)
		}
		if h := header.Append(nil, s); strings.ContainsAny(string(h), "\r\n\x00") || len(h) != len(text) {
			rt.Fatalf("in a header: %q", h)
		}
	})
}

// The same seed and caller make the same values, others make others.
func TestSeed(t *testing.T) {
	tm, err := Compile("{{uuid}} {{int 1 1000000}} {{string 9}}", Origin{}, InText, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(seed uint64, caller int) string {
		return string(tm.Append(nil, NewState(nil, new(Counter), seed, caller)))
	}
	first := text(1, 0)
	if again := text(1, 0); again != first {
		t.Error("the same seed gave two texts")
	}
	if first == text(1, 1) || first == text(2, 0) {
		t.Error("another caller or seed gave the same text")
	}
}

// A call costs no memory once the buffers have grown.
func TestNoAllocations(t *testing.T) {
	names := new(Scope)
	slot := names.Declare("v")
	tm, err := Compile(`{"a":"{{v}}","b":{{seq}},"c":"{{uuid}}","d":{{bytes 100}},"e":{{now}},"f":{{pick 1 2}}}`, Origin{}, InJSON, names)
	if err != nil {
		t.Fatal(err)
	}
	s := NewState(names, new(Counter), 1, 0)
	s.Set(slot, Value{String, "x\ny"})
	var b []byte
	if n := testing.AllocsPerRun(100, func() { b = tm.Append(b[:0], s) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// FuzzCompile holds that a template either is refused, with a place within it, or
// makes text that is what its place asks for.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{`{"a":{{v}}}`, `"{{v}}"`, `{{"}}"}}`, "{{", `{"\"":"{{string exp 3 9}}"}`, "{{v\v}}{{v\u00a0}}{{\u2003v}}", "{{int 1 2}}{{pick a b}}", `{{bytes 4}}`, `{{now unix}}`} {
		f.Add(text, "v\"\n")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		if len(text) > 1<<12 || strings.Contains(text, "exp") && len(text) > 200 || regexp.MustCompile(`\d{4}|[kKM]i?B`).MatchString(text) {
			t.Skip("a large value is no other case")
		}
		names := new(Scope)
		slot := names.Declare("v")
		for place := InText; place <= InHeader; place++ {
			tm, err := Compile(text, Origin{Name: "x"}, place, names)
			if err != nil {
				var e *Error
				if e, _ = err.(*Error); e == nil || e.Line < 1 || e.Line > 1+strings.Count(text, "\n") || e.Column < 1 { //nolint:errorlint // never wrapped here
					t.Fatalf("%q: %v", text, err)
				}
				continue
			}
			s := NewState(names, new(Counter), 1, 0)
			s.Set(slot, Value{Cell, value})
			got := tm.Append(nil, s)
			if plain, ok := tm.Constant(); ok && plain != string(got) {
				t.Fatalf("%q: constant %q, appended %q", text, plain, got)
			}
			if !strings.Contains(text, "{{") && string(got) != text {
				t.Fatalf("%q without a placeholder gave %q", text, got)
			}
			if place == InJSON && utf8.ValidString(text) && json.Valid([]byte(regexp.MustCompile(`\{\{\s*v\s*\}\}`).ReplaceAllString(text, "1"))) && !json.Valid(got) {
				t.Fatalf("%q with %q gave %q, which is no JSON", text, value, got)
			}
		}
		if quoted := Quote(text); utf8.ValidString(text) && !strings.Contains(text, "{{") {
			if back, err := strconv.Unquote(quoted); err == nil && back != text {
				t.Fatalf("%q quoted is %s", text, quoted)
			}
		}
	})
}
