package rest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// newTestRouter has the routes "VERB PATTERN", without fields.
func newTestRouter(t testing.TB, routes ...string) *router {
	t.Helper()
	r := &router{}
	for _, s := range routes {
		verb, pattern, _ := strings.Cut(s, " ")
		tmpl, err := parseTemplate(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.add(&endpoint{method: &everywire.Method{}, verb: verb, pattern: pattern, template: tmpl}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

var fuzzRoutes = []string{
	"GET /items", "GET /items/{x}", "POST /items/{x}", "GET /items/{x}:cancel", "GET /items/a:cancel", "GET /items/b/c",
	"GET /items/{x}/sizes/{y}", "GET /{x=shelves/*/books/*}", "GET /{x=shelves/*/**}", "GET /shelves/*/{y=books/**}", "GET /files/{x=**}",
	"GET /files/{x=**}:raw", "POST /**", "GET /{x}/{y}", "GET /a%2Fb/{x}", "GET /",
}

// A path matches as it does by the grammar alone, read without any tree.
func FuzzFind(f *testing.F) {
	r := newTestRouter(f, fuzzRoutes...)
	for _, s := range []string{
		"/items/a%2Fb", "/items//", "/", "", "*", "/items/%", "/items/x:cancel", "/items/a:cancel", "/items/x%3Acancel", "/shelves/1/books/2",
		"/shelves/1/books/2%2f3/4%", "/files", "/files/", "/files//a//b/", "/files/a:raw", "/a%2fb/:x", "/items:cancel", "/files/:raw",
	} {
		f.Add(s)
	}
	var all []*endpoint
	for _, s := range fuzzRoutes {
		verb, pattern, _ := strings.Cut(s, " ")
		tmpl, err := parseTemplate(pattern)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, &endpoint{verb: verb, pattern: pattern, template: tmpl})
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, verb := range []string{"GET", "POST"} {
			var m match
			r.find(verb, path, &m)
			found := false
			for _, e := range all {
				values, ok := matchSlowly(e.template, path)
				if e.verb != verb || !ok {
					continue
				}
				found = true
				if m.endpoint != nil && m.endpoint.pattern == e.pattern && !slices.Equal(values, m.values) {
					t.Errorf("%s %q matches %s with %q, want %q", verb, path, e.pattern, m.values, values)
				}
				if m.endpoint != nil && m.endpoint.pattern == e.pattern {
					return
				}
			}
			if (m.endpoint != nil) || found {
				t.Fatalf("%s %q: found %v, want a match: %v", verb, path, m.endpoint, found)
			}
		}
	})
}

// matchSlowly matches a path against one template by its definition.
func matchSlowly(t *template, path string) (values []string, ok bool) {
	if t.verb != "" {
		colon := strings.LastIndexByte(path, ':')
		if colon < strings.LastIndexByte(path, '/') || colon < 0 {
			return nil, false
		}
		if verb, err := url.PathUnescape(path[colon+1:]); err != nil || verb != t.verb {
			return nil, false
		}
		path = path[:colon]
	}
	if !strings.HasPrefix(path, "/") {
		return nil, false
	}
	if _, err := url.PathUnescape(path); err != nil {
		return nil, false
	}
	parts := strings.Split(path[1:], "/")
	spans := make([][]string, len(t.segments))
	for i, seg := range t.segments {
		if seg.kind == rest {
			spans[i], parts = parts, nil
			break
		}
		if len(parts) == 0 {
			return nil, false
		}
		text, err := url.PathUnescape(parts[0])
		if err != nil || seg.kind == literal && text != seg.literal || seg.kind == one && text == "" {
			return nil, false
		}
		spans[i], parts = parts[:1], parts[1:]
	}
	if len(parts) > 0 {
		return nil, false
	}
	for _, v := range t.variables {
		raw := strings.Join(slices.Concat(spans[v.first:v.end]...), "/")
		if v.many { // hidden from the decoder, to be seen again
			raw = strings.NewReplacer("%2F", "%252F", "%2f", "%252f").Replace(raw)
		}
		text, err := url.PathUnescape(raw)
		if err != nil {
			return nil, false
		}
		values = append(values, text)
	}
	return values, true
}

// The path without segments is one like others, and is no other.
func TestFindRoot(t *testing.T) {
	r := newTestRouter(t, "GET /", "GET /{x}", "POST /**", "GET /a/b")
	for _, c := range []struct{ verb, path, pattern string }{
		{"GET", "/", "/"},
		{"HEAD", "/", "/"},
		{"POST", "/", "/**"},
		{"PUT", "/", ""},
		{"GET", "", ""},
		{"GET", "//", ""},
		{"GET", "//b", ""},
		{"GET", "/:", "/{x}"},
		{"GET", "/a", "/{x}"},
		{"GET", "/a/", ""},
	} {
		var m match
		pattern := ""
		if r.find(c.verb, c.path, &m); m.endpoint != nil {
			pattern = m.endpoint.pattern
		}
		if pattern != c.pattern {
			t.Errorf("%s %q matches %q, want %q", c.verb, c.path, pattern, c.pattern)
		}
	}
}

func TestFind(t *testing.T) {
	r := newTestRouter(t, "GET /a/{x}/b", "GET /a/c/d", "GET /{x}", "GET /a", "POST /a", "DELETE /{x}", "GET /{x}/{y}", "PUT /a/c",
		"GET /v/{n=shelves/*}", "GET /v/{n=shelves/*/books/*}", "PATCH /v/{n=shelves/*/books/*}", "GET /f/{p=**}", "GET /f/{p=**}:raw", "GET /f/{d=dir/**}",
		"GET /w/*/{x}", "POST /v/{n=shelves/*}:cancel", "POST /v/{n=shelves/*}:merge%2F", "HEAD /h", "GET /h", "* /any/{x}", "GET /any/{x}", "* /free")
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
		// Variables of several segments.
		{"GET", "/v/shelves/1", "/v/{n=shelves/*}", []string{"shelves/1"}, ""},
		{"GET", "/v/shelves/1%20/books/%C3%A9", "/v/{n=shelves/*/books/*}", []string{"shelves/1 /books/é"}, ""},
		{"GET", "/v/shelves/1%2F2/books/3%2f4", "/v/{n=shelves/*/books/*}", []string{"shelves/1%2F2/books/3%2f4"}, ""},
		{"GET", "/v/shelves/1/books", "", nil, "OPTIONS"},
		{"GET", "/v/shelves//books/1", "", nil, "OPTIONS"},
		{"GET", "/v/shelves/1/books/1/", "", nil, "OPTIONS"},
		{"PUT", "/v/shelves/1/books/2", "", nil, "GET, HEAD, OPTIONS, PATCH"},
		// ** is all that is left.
		{"GET", "/f", "/f/{p=**}", []string{""}, ""},
		{"GET", "/f/", "/f/{p=**}", []string{""}, ""},
		{"GET", "/f/a", "/f/{p=**}", []string{"a"}, ""},
		{"GET", "/f/a/b/c", "/f/{p=**}", []string{"a/b/c"}, ""},
		{"GET", "/f/a//b/", "/f/{p=**}", []string{"a//b/"}, ""},
		{"GET", "/f/a%2Fb/%25/%2e%2e", "/f/{p=**}", []string{"a%2Fb/%/.."}, ""},
		{"GET", "/f/a/b/%zz", "", nil, "OPTIONS"},
		{"GET", "/f/dir/b/c", "/f/{d=dir/**}", []string{"dir/b/c"}, ""},
		{"GET", "/f/dir", "/f/{d=dir/**}", []string{"dir"}, ""},
		{"GET", "/w/1/2", "/w/*/{x}", []string{"2"}, ""},
		// Verbs after a colon.
		{"POST", "/v/shelves/1:cancel", "/v/{n=shelves/*}:cancel", []string{"shelves/1"}, ""},
		{"POST", "/v/shelves/1%3Acancel", "", nil, "GET, HEAD, OPTIONS"},
		{"POST", "/v/shelves/1:%63ancel", "/v/{n=shelves/*}:cancel", []string{"shelves/1"}, ""},
		{"POST", "/v/shelves/1:2:cancel", "/v/{n=shelves/*}:cancel", []string{"shelves/1:2"}, ""},
		{"POST", "/v/shelves/1:merge%2f", "/v/{n=shelves/*}:merge%2F", []string{"shelves/1"}, ""},
		{"POST", "/v/shelves/:cancel", "", nil, "GET, HEAD, OPTIONS"},
		{"GET", "/v/shelves/1:cancel", "/v/{n=shelves/*}", []string{"shelves/1:cancel"}, ""},
		{"DELETE", "/v/shelves/1:cancel", "", nil, "GET, HEAD, OPTIONS, POST"},
		{"GET", "/v/shelves/1:other", "/v/{n=shelves/*}", []string{"shelves/1:other"}, ""},
		{"GET", "/f/a/b:raw", "/f/{p=**}:raw", []string{"a/b"}, ""},
		{"GET", "/f/a:raw/b", "/f/{p=**}", []string{"a:raw/b"}, ""},
		// HEAD, and any verb.
		{"HEAD", "/a", "/a", nil, ""},
		{"HEAD", "/h", "/h", nil, ""},
		{"GET", "/any/1", "/any/{x}", []string{"1"}, ""},
		{"FROB", "/any/1", "/any/{x}", []string{"1"}, ""},
		{"OPTIONS", "/free", "", nil, "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"},
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
	var m match
	if r.find("HEAD", "/h", &m); m.endpoint.verb != "HEAD" {
		t.Errorf("HEAD /h has the route of %s", m.endpoint.verb)
	}
	if r.find("GET", "/any/1", &m); m.endpoint.verb != "GET" {
		t.Errorf("GET /any/1 has the route of %s", m.endpoint.verb)
	}
}

// However long the path and however the routes invite to turn back, a lookup
// looks at no more segments than templates have, and at no node twice.
func TestHostilePaths(t *testing.T) {
	var routes []string
	for depth := range 24 {
		for width := range 8 {
			prefix := strings.Repeat("/a", depth-min(depth, width)) + strings.Repeat("/*", min(depth, width))
			routes = append(routes, fmt.Sprintf("GET %s/end%d", prefix, width))
		}
	}
	routes = append(routes, "GET /a/{p=**}", "GET /a/{p=a/a/**}:z", "POST /{p=**}")
	r := newTestRouter(t, routes...)
	if r.depth > 24 {
		t.Fatalf("templates of %d segments", r.depth)
	}
	for _, part := range []string{"/a", "/", "/%61", "/..", "/a:z", "/%2F"} {
		path := strings.Repeat(part, 100_000)
		var m match
		r.find("GET", path, &m)
		if len(m.segments) > r.depth {
			t.Errorf("%s…: %d segments are looked at", part, len(m.segments))
		}
		visits := 0
		countVisits(&r.root, &m, 0, &visits)
		if most := len(routes) * r.depth; visits > most {
			t.Errorf("%s…: %d nodes are visited, there are at most %d", part, visits, most)
		}
	}
}

// countVisits walks as find does if nothing matches at the end.
func countVisits(n *node, m *match, i int, visits *int) {
	*visits++
	if i == len(m.segments) || m.segments[i] == "" {
		return
	}
	if c := n.literals[m.segments[i]]; c != nil {
		countVisits(c, m, i+1, visits)
	}
	if n.one != nil {
		countVisits(n.one, m, i+1, visits)
	}
}

// Looking up takes no memory, in however many routes.
func TestFindAllocatesNothing(t *testing.T) {
	for _, n := range []int{10, 1000} {
		r := newTestRouter(t, manyRoutes(n)...)
		var m match
		for _, path := range manyPaths {
			if got := testing.AllocsPerRun(100, func() { r.find("GET", path, &m) }); got != 0 || m.endpoint == nil {
				t.Errorf("%d routes, %s: %v allocations, endpoint %v", n, path, got, m.endpoint)
			}
		}
	}
}

// manyRoutes are n routes as an API has them: five for each collection.
func manyRoutes(n int) (routes []string) {
	for i := range n / 5 {
		c := fmt.Sprintf("/v1/things%d", i)
		routes = append(routes, "GET "+c, "GET "+c+"/{id}", "POST "+c+"/{id}:run", "GET "+c+"/{id}/parts/{part}", "GET "+c+"/{id}/files/{path=**}")
	}
	return routes
}

var manyPaths = []string{"/v1/things1", "/v1/things1/17", "/v1/things1/17/parts/4", "/v1/things1/17/files/a/b/c.txt"}

// BenchmarkFind shows that the number of routes is no matter.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		r := newTestRouter(b, manyRoutes(n)...)
		b.Run(fmt.Sprintf("%d routes", n), func(b *testing.B) {
			b.ReportAllocs()
			var m match
			for i := 0; b.Loop(); i++ {
				if r.find("GET", manyPaths[i%len(manyPaths)], &m); m.endpoint == nil {
					b.Fatal("no match")
				}
			}
		})
	}
}

// All mistakes in routes are errors when a server is made, which name the
// route and the method.
func TestBadRoutes(t *testing.T) {
	for _, c := range []struct {
		route everywire.Route
		names string
	}{
		{everywire.Route{Verb: "GET", Pattern: "/a/{key=**}/b"}, "last segment"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{sub.colour}"}, "{sub.colour}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{key.colour}"}, "field key is no message"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{tags.colour}"}, "field tags is no message"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{sub.name}/{sub.name=*}"}, "already"},
		{everywire.Route{Verb: "PUT", Pattern: "/a/{key}", Body: "sub.name"}, `"sub.name"`},
		{everywire.Route{Verb: "POST", Pattern: "/a", Body: "*", Created: "/a/{colour}"}, "{colour}"},
		{everywire.Route{Verb: "POST", Pattern: "/a", Body: "*", Created: "/a/*"}, "belongs to no field"},
		{everywire.Route{Verb: "POST", Pattern: "/a", Body: "*", Created: "a"}, "begin with /"},
		{everywire.Route{Verb: "GET", Pattern: "/b/{key=*}"}, "test.Items/Other"},
		{everywire.Route{Verb: "GET", Pattern: "/c/*/{key=y/*}:do"}, "test.Items/Other"},
		{everywire.Route{Verb: "GET", Pattern: "/d/{key=**}"}, "test.Items/Other"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{colour}"}, "{colour}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{sub}"}, "{sub}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{tags}"}, "{tags}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{labels}"}, "{labels}"},
		{everywire.Route{Verb: "GET", Pattern: "/a/{page_size}/{pageSize}"}, "already"},
		{everywire.Route{Verb: "PUT", Pattern: "/a/{key}", Body: "key"}, `"key"`},
		{everywire.Route{Verb: "PUT", Pattern: "/a", Body: "colour"}, `"colour"`},
		{everywire.Route{Verb: "PUT", Pattern: "/a", ResponseBody: "colour"}, `"colour"`},
		{everywire.Route{Verb: "GET", Pattern: "/a", Body: "*"}, "GET"},
		{everywire.Route{Verb: "HEAD", Pattern: "/a", Body: "*"}, "HEAD"},
		{everywire.Route{Verb: "OPTIONS", Pattern: "/a"}, "itself"},
		{everywire.Route{Verb: "get", Pattern: "/a"}, `"get"`},
		{everywire.Route{Verb: "", Pattern: "/a"}, `""`},
		{everywire.Route{Verb: "GET", Pattern: "/b/{key}"}, "test.Items/Other"},
		{everywire.Route{Verb: "POST", Pattern: "/test.Items/Other"}, "test.Items/Other"},
	} {
		reg := everywire.NewRegistry()
		everywire.Handle(reg, "test.Items/Other", echoItem, everywire.WithRoute("GET", "/b/{size}", ""),
			everywire.WithRoute("GET", "/{key=c/*}/y/*:do", ""), everywire.WithRoute("GET", "/d/**", ""))
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
	fields := newCompiler().fieldsOf(m, nil).byName
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
