package rest

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire"
)

func TestParseTemplate(t *testing.T) {
	lit := func(s string) segment { return segment{literal: s} }
	star, stars := segment{kind: one}, segment{kind: rest}
	for _, c := range []struct {
		pattern string
		want    template
	}{
		{"/", template{segments: []segment{lit("")}}},
		{"/kv", template{segments: []segment{lit("kv")}}},
		{"/kv/{key}", template{segments: []segment{lit("kv"), star}, variables: []variable{{"key", 1, 2, false}}}},
		{"/{a}/b/{c_1=*}", template{segments: []segment{star, lit("b"), star}, variables: []variable{{"a", 0, 1, false}, {"c_1", 2, 3, false}}}},
		{"/a%2Fb/é/x-y.z~", template{segments: []segment{lit("a/b"), lit("é"), lit("x-y.z~")}}},
		{"/*/a/**", template{segments: []segment{star, lit("a"), stars}}},
		{"/{a.b.c=**}", template{segments: []segment{stars}, variables: []variable{{"a.b.c", 0, 1, true}}}},
		{"/v1/{name=shelves/*/books/*}/x", template{
			segments:  []segment{lit("v1"), lit("shelves"), star, lit("books"), star, lit("x")},
			variables: []variable{{"name", 1, 5, true}},
		}},
		{"/{a=b}", template{segments: []segment{lit("b")}, variables: []variable{{"a", 0, 1, false}}}},
		{"/{a=b/**}:undelete", template{segments: []segment{lit("b"), stars}, variables: []variable{{"a", 0, 2, true}}, verb: "undelete"}},
		{"/a:b/c:d:%65", template{segments: []segment{lit("a:b"), lit("c:d")}, verb: "e"}},
		{"/**:x", template{segments: []segment{stars}, verb: "x"}},
	} {
		got, err := parseTemplate(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if d := cmp.Diff(&c.want, got, cmp.AllowUnexported(template{}, segment{}, variable{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.pattern, d)
		}
	}
}

func TestParseTemplateRefuses(t *testing.T) {
	for _, c := range []struct{ pattern, names string }{
		{"", "begin with /"},
		{"kv", "begin with /"},
		{"/kv/", "empty segment"},
		{"//kv", "empty segment"},
		{"/:x", "empty segment"},
		{"/a:", "verb"},
		{"/**/a", "** is not the last"},
		{"/{a=**}/b", "** is not the last"},
		{"/{a=**/b}", "** is not the last"},
		{"/a*", "wildcard"},
		{"/***", "wildcard"},
		{"/{a=b*}", "wildcard"},
		{"/{a={b}}", "within variable"},
		{"/{a=}", "empty segment"},
		{"/{a=b//c}", "empty segment"},
		{"/{a}:b/c", "not at the end"},
		{"/{a=b%2Fc/*}", "a slash"},
		{"/{}", "{}"},
		{"/{=*}", "{=*}"},
		{"/{1a}", "{1a}"},
		{"/{a.}", "{a.}"},
		{"/{.a}", "{.a}"},
		{"/{key", "closed"},
		{"/{a}{b}", "follows"},
		{"/{a}b", "follows"},
		{"/a{b}", "'{'"},
		{"/a}b", "'}'"},
		{"/a b", "' '"},
		{"/a?b", "'?'"},
		{"/a%zz", "%zz"},
		{"/a:b%zz", "%zz"},
	} {
		got, err := parseTemplate(c.pattern)
		if err == nil {
			t.Errorf("%s: accepted as %v", c.pattern, got)
		} else if !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), strconv.Quote(c.pattern)) {
			t.Errorf("%s: error %q does not name it and %s", c.pattern, err, c.names)
		}
	}
}

// A template that is taken is matched by the path that it makes, with the
// values that the path was made of.
func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{
		"/a/{b}", "/{a=*}/c", "/a%2Fb", "/**", "/{a", "/a:b", "/{a=shelves/*/books/*}", "/x/{a.b=**}:c", "/{a=b}/*/{c=**}", "/*:%3A",
	} {
		f.Add(s, "v/%", "x")
	}
	f.Fuzz(func(t *testing.T, pattern, first, second string) {
		tmpl, err := parseTemplate(pattern)
		if err != nil {
			return
		}
		var r router
		e := &endpoint{method: &everywire.Method{}, verb: "GET", pattern: pattern, template: tmpl}
		if err := r.add(e); err != nil {
			t.Fatal(err)
		}
		values := make([]string, len(tmpl.variables))
		for i, v := range tmpl.variables {
			values[i] = valueFor(tmpl, v, first, second)
		}
		path, err := tmpl.expand(values)
		if err != nil {
			return // an empty value, or one that does not suit
		}
		var m match
		if r.find("GET", path, &m); m.endpoint != e || !slices.Equal(m.values, values) {
			t.Fatalf("%q with %q makes the path %q, which matches %v %q", pattern, values, path, m.endpoint, m.values)
		}
	})
}

// valueFor makes a value of the variable's form.
func valueFor(t *template, v variable, first, second string) string {
	var parts []string
	for i, seg := range t.segments[v.first:v.end] {
		switch {
		case seg.kind == literal:
			parts = append(parts, seg.literal)
		case seg.kind == rest:
			parts = append(parts, first, second)
		case v.many: // a slash would be one too many
			parts = append(parts, strings.ReplaceAll(first, "/", "")+strconv.Itoa(i))
		default:
			parts = append(parts, first)
		}
	}
	return strings.Join(parts, "/")
}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		pattern string
		values  []string
		want    string // or a part of the error, after !
	}{
		{"/a/{b}", []string{"x/y z"}, "/a/x%2Fy%20z"},
		{"/a/{b}", []string{"a:b@c+d&e=f"}, "/a/a%3Ab%40c%2Bd%26e%3Df"},
		{"/a/{b}", []string{".."}, "/a/%2E%2E"},
		{"/a/{b}", []string{""}, "!field b is empty"},
		{"/{a.b=s/*/t/*}", []string{"s/1/t/2"}, "/s/1/t/2"},
		{"/{a.b=s/*/t/*}", []string{"s/1/t/2/3"}, `!field a.b is "s/1/t/2/3", which is not of the form s/*/t/*`},
		{"/{a=s/*}", []string{"s/"}, "!not of the form"},
		{"/{a=s/*}", []string{"s"}, "!not of the form"},
		{"/{a=s/*}", []string{"t/1"}, "!not of the form"},
		{"/{a=s}", []string{"s"}, "/s"},
		{"/{a=s}", []string{"t"}, "!not of the form s"},
		{"/f/{p=**}", []string{"a/./b//"}, "/f/a/%2E/b//"},
		{"/f/{p=**}", []string{""}, "/f"},
		{"/f/{p=**}:v", []string{""}, "/f:v"},
		{"/{p=**}:v", []string{""}, "/:v"},
		{"/{p=**}", []string{""}, "/"},
		{"/{p=d/**}", []string{"d"}, "/d"},
		{"/{p=d/**}", []string{""}, "!field p is empty"},
		{"/*/x/**", nil, "/-/x"},
		{"/{a}/{b}:c%3Ad", []string{"1", "2"}, "/1/2:c%3Ad"},
	} {
		tmpl, err := parseTemplate(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.expand(c.values)
		if part, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s with %q: %q, %v; want an error with %s", c.pattern, c.values, got, err, part)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s with %q: %q, %v; want %q", c.pattern, c.values, got, err, c.want)
		}
	}
}
