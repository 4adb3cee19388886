package rest

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

func TestParseTemplate(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    []segment
	}{
		{"/kv", []segment{{literal: "kv"}}},
		{"/kv/{key}", []segment{{literal: "kv"}, {variable: "key"}}},
		{"/{a}/b/{c_1=*}", []segment{{variable: "a"}, {literal: "b"}, {variable: "c_1"}}},
		{"/a%2Fb/é/x-y.z~", []segment{{literal: "a/b"}, {literal: "é"}, {literal: "x-y.z~"}}},
	} {
		got, err := parseTemplate(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(segment{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.pattern, d)
		}
	}
}

func TestParseTemplateRefuses(t *testing.T) {
	for _, c := range []struct{ pattern, names string }{
		{"", "begin with /"},
		{"kv", "begin with /"},
		{"/", "empty segment"},
		{"/kv/", "empty segment"},
		{"//kv", "empty segment"},
		{"/**", "wildcard"},
		{"/kv/*", "wildcard"},
		{"/{key=**}", "several segments"},
		{"/{name=shelves/*}", "several segments"},
		{"/{a.b}", "field of a field"},
		{"/{key}:cancel", `":cancel"`},
		{"/kv:cancel", "colon"},
		{"/{}", "{}"},
		{"/{1a}", "{1a}"},
		{"/{key", "closed"},
		{"/{a}{b}", "follows"},
		{"/a{b}", "'{'"},
		{"/a}b", "'}'"},
		{"/a b", "' '"},
		{"/a?b", "'?'"},
		{"/a%zz", "%zz"},
	} {
		segs, err := parseTemplate(c.pattern)
		if err == nil {
			t.Errorf("%s: accepted as %v", c.pattern, segs)
		} else if !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), strconv.Quote(c.pattern)) {
			t.Errorf("%s: error %q does not name it and %s", c.pattern, err, c.names)
		}
	}
}

func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{"/a/{b}", "/{a=*}/c", "/a%2Fb", "/**", "/{a", "/a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		segs, err := parseTemplate(pattern)
		if err != nil {
			return
		}
		// A template that is taken is matched by the path that it makes.
		var r router
		e := &endpoint{method: &everywire.Method{}, verb: "GET", pattern: pattern, segments: segs}
		if err := r.add(e); err != nil {
			t.Fatal(err)
		}
		var values []string
		for _, s := range segs {
			if s.variable != "" {
				values = append(values, "v/%"+s.variable)
			}
		}
		path, err := e.path(values)
		if err != nil {
			t.Fatal(err)
		}
		var m match
		if r.find("GET", path, &m); m.endpoint != e || !slices.Equal(m.values, values) {
			t.Fatalf("%q makes the path %q, which matches %v %q", pattern, path, m.endpoint, m.values)
		}
	})
}

func FuzzFind(f *testing.F) {
	r, err := newRouter(itemRegistry().Methods())
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"/items/a%2Fb", "/items//", "/", "", "*", "/items/%", "/test.Items/Plain"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		var m match
		r.find("GET", path, &m)
		if m.endpoint == nil {
			return
		}
		segs := strings.Split(path, "/")[1:]
		if len(segs) != len(m.endpoint.segments) || len(m.values) != len(m.endpoint.variables) {
			t.Fatalf("%q matches %s with %q", path, m.endpoint.pattern, m.values)
		}
		values := m.values
		for i, s := range m.endpoint.segments {
			got, err := url.PathUnescape(segs[i])
			want := s.literal
			if s.variable != "" {
				want, values = values[0], values[1:]
			}
			if err != nil || got != want || got == "" {
				t.Fatalf("%q matches %s: segment %q", path, m.endpoint.pattern, segs[i])
			}
		}
	})
}

func TestFind(t *testing.T) {
	var r router
	for _, s := range []string{"GET /a/{x}/b", "GET /a/c/d", "GET /{x}", "GET /a", "POST /a", "DELETE /{x}", "GET /{x}/{y}", "PUT /a/c"} {
		verb, pattern, _ := strings.Cut(s, " ")
		segs, err := parseTemplate(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.add(&endpoint{method: &everywire.Method{}, verb: verb, pattern: pattern, segments: segs}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		verb, path, pattern string
		values              []string
		allow               string
	}{
		{"GET", "/a", "/a", nil, ""},
		{"GET", "/b", "/{x}", []string{"b"}, ""},
		{"DELETE", "/a", "/{x}", []string{"a"}, ""}, // the literal has no DELETE
		{"GET", "/a/c/d", "/a/c/d", nil, ""},
		{"GET", "/a/c/b", "/a/{x}/b", []string{"c"}, ""}, // back from the literal
		{"GET", "/a/c", "/{x}/{y}", []string{"a", "c"}, ""},
		{"GET", "/%61/c%2fd", "/{x}/{y}", []string{"a", "c/d"}, ""},
		{"PATCH", "/a", "", nil, "DELETE, GET, HEAD, OPTIONS, POST"},
		{"PATCH", "/b", "", nil, "DELETE, GET, HEAD, OPTIONS"},
		{"PUT", "/a/c/d", "", nil, "GET, HEAD, OPTIONS"},
		{"GET", "/a/", "", nil, "OPTIONS"},
		{"GET", "/", "", nil, "OPTIONS"},
		{"GET", "//a", "", nil, "OPTIONS"},
		{"GET", "/a/x/y", "", nil, "OPTIONS"},
		{"GET", "/%2F/", "", nil, "OPTIONS"},
	} {
		var m match
		r.find(c.verb, c.path, &m)
		if m.endpoint == nil {
			if c.pattern != "" || m.allow() != c.allow {
				t.Errorf("%s %s: no match, Allow %q; want %q %q", c.verb, c.path, m.allow(), c.pattern, c.allow)
			}
			continue
		}
		if m.endpoint.pattern != c.pattern || !slices.Equal(m.values, c.values) {
			t.Errorf("%s %s matches %s with %q, want %q with %q", c.verb, c.path, m.endpoint.pattern, m.values, c.pattern, c.values)
		}
	}
}

// All mistakes in routes are errors when a server is made, which name the
// route and the method.
func TestBadRoutes(t *testing.T) {
	for _, c := range []struct {
		route everywire.Route
		names string
	}{
		{everywire.Route{Verb: "GET", Pattern: "/a/{key=**}"}, "several segments"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{colour}"}, "{colour}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{sub}"}, "{sub}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{tags}"}, "{tags}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{labels}"}, "{labels}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{page_size}/{pageSize}"}, "already"},
		{everywire.Route{Verb: "PUT", Pattern: "/a/{key}", Body: "key"}, `"key"`},
		{everywire.Route{Verb: "PUT", Pattern: "/a", Body: "colour"}, `"colour"`},
		{everywire.Route{Verb: "PUT", Pattern: "/a", ResponseBody: "colour"}, `"colour"`},
		{everywire.Route{Verb: "GET", Pattern: "/a", Body: "*"}, "GET"},
		{everywire.Route{Verb: "HEAD", Pattern: "/a"}, "itself"},
		{everywire.Route{Verb: "OPTIONS", Pattern: "/a"}, "itself"},
		{everywire.Route{Verb: "get", Pattern: "/a"}, `"get"`},
		{everywire.Route{Verb: "*", Pattern: "/a"}, `"*"`},
		{everywire.Route{Verb: "", Pattern: "/a"}, `""`},
		{everywire.Route{Verb: "GET", Pattern: "/b/{key}"}, "test.Items/Other"},
		{everywire.Route{Verb: "POST", Pattern: "/test.Items/Other"}, "test.Items/Other"},
	} {
		reg := everywire.NewRegistry()
		everywire.Handle(reg, "test.Items/Other", echoItem, everywire.WithRoute("GET", "/b/{size}", ""))
		everywire.Handle(reg, "test.Items/X", echoItem, withRoute(c.route))
		_, err := NewServer(serverConfig(reg))
		if err == nil {
			t.Errorf("%+v: accepted", c.route)
			continue
		}
		for _, want := range []string{c.names, c.route.Pattern, "test.Items/X"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: error %q does not name %s", c.route, err, want)
			}
		}
	}
}

func TestRoutesOfOneMethod(t *testing.T) {
	reg := everywire.NewRegistry()
	// A method may say itself what its default path does.
	everywire.Handle(reg, "test.Items/X", echoItem,
		withRoute(everywire.Route{Verb: "POST", Pattern: "/test.Items/X", Body: "*", ResponseBody: "tags"}))
	addr := serve(t, serverConfig(reg))
	if r := do(t, addr, "POST /test.Items/X", `{"tags":["a"]}`); r.status != 200 || r.body != `["a"]` {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

func TestFieldsOfGeneratedMessages(t *testing.T) {
	m, err := schema.For(&descriptorpb.UninterpretedOption{})
	if err != nil {
		t.Fatal(err)
	}
	fields := fieldsOf(m)
	for name, want := range map[string]form{
		"double_value": numberForm, "doubleValue": numberForm, "positive_int_value": numberForm, "identifierValue": textForm,
		"string_value": textForm, "aggregate_value": textForm, "name": noForm,
	} {
		if f := fields[name]; f == nil || f.form != want {
			t.Errorf("field %s: %+v, want form %d", name, f, want)
		}
	}
	if f := fields["name"]; !f.list || f.absent != "[]" {
		t.Errorf("field name: %+v", f)
	}
}
