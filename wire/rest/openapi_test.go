package rest

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/rpc"
)

type (
	docItem struct {
		ID     int64             `wire:"1"`
		Tenant string            `wire:"2" http:"header=X-Tenant"`
		Size   []int32           `wire:"3" http:"query=page-size"`
		Inner  *docItem          `wire:"4"`
		Labels map[string]string `wire:"5"`
		Hidden any               `wire:"6"`
		Key    []byte            `wire:"7"`
	}
	docEmpty struct{}
)

func docHandle(reg *everywire.Registry, name string, opts ...everywire.MethodOption) {
	everywire.Handle(reg, name, func(_ context.Context, in *docItem) (*docItem, error) { return in, nil }, opts...)
}

// docRegistry has routes of all kinds.
func docRegistry() *everywire.Registry {
	route, reads := everywire.WithRoute, everywire.WithIdempotency(everywire.NoSideEffects)
	reg := everywire.NewRegistry()
	docHandle(reg, "doc.Doc/Get", reads, route("GET", "/items/{id}", ""), route("GET", "/deep/{inner.inner.key}/{id}", ""))
	docHandle(reg, "doc.Doc/Make", route("POST", "/items", "*", everywire.Created("/items/{id}")), route("PUT", "/items/{id}/inner", "inner"))
	docHandle(reg, "doc.Doc/Walk", route("GET", "/v1/{key=shelves/*/books/*}", ""), route("GET", "/files/{key=**}:read", ""), route("POST", "/x/*/{id}", "*"))
	everywire.Handle(reg, "doc.Doc/Nothing", func(context.Context, *docEmpty) (*docEmpty, error) { return &docEmpty{}, nil })
	everywire.HandleServerStream(reg, "doc.Doc/Watch", func(*docItem, grpc.ServerStreamingServer[docItem]) error { return nil }, reads, route("GET", "/watch", ""))
	everywire.HandleBidi(reg, "doc.Doc/Chat", func(grpc.BidiStreamingServer[docItem, docItem]) error { return nil })
	return reg
}

func docConfig(reg *everywire.Registry, path string, options rpc.Options) *rpc.ServerConfig {
	return &rpc.ServerConfig{Registry: reg, Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Path: path, Options: options}
}

func docHandler(t *testing.T, reg *everywire.Registry, path string, options rpc.Options) *handler {
	t.Helper()
	h, err := newHandler(docConfig(reg, path, options))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(h http.Handler, verb, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(verb, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// An apiDocument is what the tests read of one.
type apiDocument struct {
	OpenAPI string `json:"openapi"`
	Servers []struct {
		URL string `json:"url"`
	} `json:"servers"`
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct{ Name, In, Style string }
		RequestBody struct{ Content map[string]any } `json:"requestBody"`
		Responses   map[string]struct{ Content map[string]any }
		Everywire   struct{ Method, Kind string } `json:"x-everywire"`
	} `json:"paths"`
}

func readDocument(t *testing.T, text []byte) *apiDocument {
	t.Helper()
	var doc apiDocument
	if err := stdjson.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return &doc
}

// TestDocumentIsTrue: the router finds every operation's method at its path, the
// query's names mean fields there, and every media type is one that the wire
// has.
func TestDocumentIsTrue(t *testing.T) {
	h := docHandler(t, docRegistry(), "", nil)
	w := ask(h, "GET", "/openapi.json")
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	known := []string{problemType}
	for _, f := range slices.Concat(testFormats.all, testFormats.streams) {
		known = append(known, f.mediaType)
	}
	param := regexp.MustCompile(`\{[^}]*\}`)
	seen := map[string]bool{}
	for path, item := range readDocument(t, w.Body.Bytes()).Paths {
		for verb, op := range item {
			verb = strings.ToUpper(verb)
			if strings.HasPrefix(op.Everywire.Kind, "bidi") {
				verb = http.MethodPost // the WebSocket's handshake finds it by its path
			}
			seen[op.Everywire.Method] = true
			var m match
			h.find(verb, param.ReplaceAllString(path, "1"), &m)
			if m.endpoint == nil || m.endpoint.method.FullName() != op.Everywire.Method {
				t.Errorf("%s %s does not lead to %s", verb, path, op.Everywire.Method)
				continue
			}
			for _, p := range op.Parameters {
				name := p.Name
				if p.Style == "deepObject" {
					name += "[a]"
				}
				if why := (&builder{}).resolve(m.endpoint, &pair{in: inQuery, name: name}); p.In == "query" && why != "" {
					t.Errorf("%s %s: the parameter %s: %s", verb, path, name, why)
				}
			}
			for media := range op.RequestBody.Content {
				if !slices.Contains(known, media) {
					t.Errorf("%s %s: the wire has no media type %s", verb, path, media)
				}
			}
			for _, r := range op.Responses {
				for media := range r.Content {
					if !slices.Contains(known, media) {
						t.Errorf("%s %s: the wire has no media type %s", verb, path, media)
					}
				}
			}
		}
	}
	for _, m := range docRegistry().Methods() {
		if !seen[m.FullName()] {
			t.Errorf("the document lacks %s", m.FullName())
		}
	}
}

// TestProblemIsDescribed: the document's Problem has the members of ours.
func TestProblemIsDescribed(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Items struct{ Properties map[string]any }
				}
				Required []string
			}
		}
	}
	if err := stdjson.Unmarshal(ask(docHandler(t, docRegistry(), "", nil), "GET", "/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	described := doc.Components.Schemas["Problem"]
	text, err := stdjson.Marshal(problem{Details: []code.Detail{{}}, Errors: []fieldError{{}}})
	if err != nil {
		t.Fatal(err)
	}
	var all, always map[string]any
	if err := stdjson.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if text, err = stdjson.Marshal(problem{}); err != nil || stdjson.Unmarshal(text, &always) != nil {
		t.Fatal(err)
	}
	names := func(of map[string]any) []string { return slices.Sorted(maps.Keys(of)) }
	if got := slices.Sorted(maps.Keys(described.Properties)); !slices.Equal(got, names(all)) {
		t.Errorf("the document has %v, a problem %v", got, names(all))
	}
	if got := slices.Sorted(slices.Values(described.Required)); !slices.Equal(got, names(always)) {
		t.Errorf("the document requires %v, a problem has always %v", got, names(always))
	}
	for _, list := range []string{"details", "errors"} {
		one := all[list].([]any)[0].(map[string]any)
		if got := names(described.Properties[list].Items.Properties); !slices.Equal(got, names(one)) {
			t.Errorf("%s: the document has %v, a problem %v", list, got, names(one))
		}
	}
}

// TestDocumentAndRouterRefuseTheSame routes.
func TestDocumentAndRouterRefuseTheSame(t *testing.T) {
	route := everywire.WithRoute
	for name, option := range map[string]everywire.MethodOption{
		"good":             route("GET", "/a/{id}", ""),
		"no slash":         route("GET", "a", ""),
		"not closed":       route("GET", "/{id", ""),
		"no field":         route("GET", "/{nope}", ""),
		"no inner field":   route("GET", "/{inner.nope}", ""),
		"a message":        route("GET", "/{inner}", ""),
		"a list":           route("GET", "/{size}", ""),
		"no body field":    route("POST", "/a", "nope"),
		"body in path":     route("POST", "/{id}", "id"),
		"no reply field":   route("POST", "/a", "*", everywire.ResponseBody("nope")),
		"no location":      route("POST", "/a", "*", everywire.Created("nope")),
		"twice":            func(m *everywire.Method) { route("GET", "/a", "")(m); route("GET", "/a", "")(m) },
		"twice, by a name": func(m *everywire.Method) { route("GET", "/{id}", "")(m); route("GET", "/{key}", "")(m) },
	} {
		reg := everywire.NewRegistry()
		docHandle(reg, "doc.Doc/M", option)
		_, wrong := newRouter(reg.Methods())
		_, err := describe.OpenAPI(reg.Methods(), describe.Options{})
		if (wrong == nil) != (err == nil) || (wrong == nil) != (name == "good") {
			t.Errorf("%s: the router says %v, the document %v", name, wrong, err)
		}
	}
}

func TestDocumentsOverHTTP(t *testing.T) {
	h := docHandler(t, docRegistry(), "", nil)
	first := ask(h, "GET", "/openapi.json")
	tag := first.Header().Get("ETag")
	if first.Code != http.StatusOK || first.Header().Get("Content-Type") != "application/json" || tag == "" {
		t.Errorf("%d %v", first.Code, first.Header())
	}
	if again := ask(h, "GET", "/openapi.json"); again.Header().Get("ETag") != tag {
		t.Error("the entity tag changes")
	}
	for _, c := range []struct {
		verb, target string
		header       []string
		status       int
		body         string // what it has, "" for none at all
	}{
		{"GET", "/openapi.json", []string{"If-None-Match", tag}, 304, ""},
		{"HEAD", "/openapi.json", nil, 200, ""},
		{"GET", "/openapi.json?version=3.0", nil, 200, `"openapi":"3.0.3"`},
		{"GET", "/openapi.json?version=3.0", []string{"If-None-Match", tag}, 200, `"openapi":"3.0.3"`},
		{"GET", "/openapi.json?version=2.0", nil, 400, `there is no OpenAPI version \"2.0\"`},
		{"OPTIONS", "/openapi.json", nil, 204, ""},
		{"POST", "/openapi.json", nil, 405, "POST is not allowed on /openapi.json"},
		{"GET", "/openapi.json/", nil, 404, "no route"},
		{"GET", "/docs", nil, 200, "<!DOCTYPE html>"},
		{"GET", "/docs/", nil, 308, ""},
		{"GET", "/docs/nope.js", nil, 404, "no route"},
		{"DELETE", "/docs", nil, 405, "DELETE is not allowed"},
	} {
		w := ask(h, c.verb, c.target, c.header...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) || c.body == "" && w.Body.Len() > 0 {
			t.Errorf("%s %s: %d %s", c.verb, c.target, w.Code, w.Body)
		}
		if allow := w.Header().Get("Allow"); (c.status == 405 || c.verb == "OPTIONS") && allow != "GET, HEAD, OPTIONS" {
			t.Errorf("%s %s: Allow %q", c.verb, c.target, allow)
		}
	}
	encoded := ask(h, "GET", "/openapi.json", "Accept-Encoding", "gzip")
	plain, err := httpbody.Gzip.Decode(nil, encoded.Body.Bytes(), 1<<20)
	if err != nil || !bytes.Equal(plain, first.Body.Bytes()) || encoded.Header().Get("Content-Encoding") != "gzip" || encoded.Header().Get("Vary") != "Accept-Encoding" ||
		encoded.Header().Get("Content-Length") != strconv.Itoa(encoded.Body.Len()) {
		t.Errorf("compressed: %v, %v", err, encoded.Header())
	}
	if other := encoded.Header().Get("ETag"); other == tag {
		t.Errorf("compressed it has the entity tag %s, too", tag)
	} else if w := ask(h, "GET", "/openapi.json", "Accept-Encoding", "gzip", "If-None-Match", other); w.Code != http.StatusNotModified || w.Header().Get("Content-Length") != "" {
		t.Errorf("compressed and known: %d %v", w.Code, w.Header())
	}
	policy := ask(h, "GET", "/docs").Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
}

// TestPageFindsItsFiles, wherever it is: below a target's path, at a place of its
// own, and mounted where it does not know of.
func TestPageFindsItsFiles(t *testing.T) {
	reference := regexp.MustCompile(`(?:href|src|content)="([^":,]+\.(?:css|js|json))"`)
	imported := regexp.MustCompile(`from "(\./[a-z]+\.js)"`)
	for _, c := range []struct {
		path    string // of the target
		mount   string
		options rpc.Options
		page    string
		server  string // in the document
	}{
		{"", "", nil, "/docs", ""},
		{"/api", "", nil, "/api/docs", "/api"},
		{"/api/", "", nil, "/api/docs", "/api"},
		{"", "/outer", nil, "/outer/docs", "/outer"},
		{"/api", "/a b/é", nil, "/a%20b/%C3%A9/api/docs", "/a%20b/%C3%A9/api"},
		{"", "", rpc.Options{"docs": "/help/api", "openapi": "/spec/v1/api.json"}, "/help/api", ""},
		{"/v1", "", rpc.Options{"docs": "/about", "openapi": "/about.json"}, "/v1/about", "/v1"},
	} {
		var h http.Handler = docHandler(t, docRegistry(), c.path, c.options)
		if c.mount != "" {
			h = http.StripPrefix(c.mount, h)
		}
		index := ask(h, "GET", c.page)
		found := reference.FindAllStringSubmatch(index.Body.String(), -1)
		if len(found) != 4 { // the document twice, the style, the script
			t.Fatalf("%s: %d, references %v", c.page, index.Code, found)
		}
		base, err := url.Parse(c.page)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			u, err := base.Parse(found[i][1])
			if err != nil {
				t.Fatal(err)
			}
			w := ask(h, "GET", u.String())
			if w.Code != http.StatusOK {
				t.Errorf("%s: %s is %s: %d", c.page, found[i][1], u, w.Code)
			}
			if strings.HasSuffix(u.Path, ".js") {
				for _, m := range imported.FindAllStringSubmatch(w.Body.String(), -1) {
					if got := ask(h, "GET", u.ResolveReference(&url.URL{Path: m[1]}).String()); got.Code != http.StatusOK || got.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
						t.Errorf("%s imports %s: %d", u, m[1], got.Code)
					}
				}
			}
			if strings.HasSuffix(u.Path, ".json") {
				want := c.server
				if want == "" {
					want = "/"
				}
				if got := readDocument(t, w.Body.Bytes()).Servers[0].URL; got != want {
					t.Errorf("%s: server %q, want %q", c.page, got, want)
				}
			}
		}
		if slash := ask(h, "GET", c.page+"/"); slash.Code != http.StatusPermanentRedirect {
			t.Errorf("%s/: %d", c.page, slash.Code)
		} else if u, err := url.Parse(c.page + "/"); err != nil || u.ResolveReference(mustURL(t, slash.Header().Get("Location"))).EscapedPath() != c.page {
			t.Errorf("%s/ leads to %s", c.page, slash.Header().Get("Location"))
		}
	}
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestRoutesComeFirst: a method has the paths that it asks for.
func TestRoutesComeFirst(t *testing.T) {
	for _, pattern := range []string{"/docs", "/openapi.json", "/{key}", "/{key=**}"} {
		reg := everywire.NewRegistry()
		docHandle(reg, "doc.Doc/M", everywire.WithRoute("GET", pattern, ""))
		h := docHandler(t, reg, "", nil)
		for _, path := range []string{"/docs", "/openapi.json"} {
			var m match
			h.find("GET", path, &m)
			is := ask(h, "GET", path).Header().Get("Content-Security-Policy") != ""
			if is == (m.endpoint != nil) {
				t.Errorf("with the route %s, %s is a document: %v", pattern, path, is)
			}
		}
	}
}

func TestDocumentOptions(t *testing.T) {
	for _, c := range []struct {
		options      rpc.Options
		openAPI, doc int // statuses of the default paths
	}{
		{rpc.Options{"openapi": "on", "docs": "on"}, 200, 200},
		{rpc.Options{"openapi": "off"}, 404, 404},
		{rpc.Options{"docs": "off"}, 200, 404},
		{rpc.Options{"docs": "/help"}, 200, 404},
		{rpc.Options{"openapi": "/spec"}, 404, 200},
	} {
		h := docHandler(t, docRegistry(), "", c.options)
		if a, b := ask(h, "GET", "/openapi.json").Code, ask(h, "GET", "/docs").Code; a != c.openAPI || b != c.doc {
			t.Errorf("%v: %d, %d", c.options, a, b)
		}
	}
	for want, options := range map[string]rpc.Options{
		`the option "openapi" cannot be "api": it is on, off, or a path such as /openapi.json`: {"openapi": "api"},
		`the option "docs" cannot be "/a/../b"`:                                                {"docs": "/a/../b"},
		`the option "docs" cannot be "/"`:                                                      {"docs": "/"},
		`the option "docs" cannot be "/a b"`:                                                   {"docs": "/a b"},
		`the option docs=/help needs the OpenAPI document`:                                     {"docs": "/help", "openapi": "off"},
		`the OpenAPI document cannot be at /docs`:                                              {"openapi": "/docs"},
		`the OpenAPI document cannot be at /docs/main.js`:                                      {"openapi": "/docs/main.js"},
	} {
		if _, err := newHandler(docConfig(docRegistry(), "", options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", options, err)
		}
	}
}

// TestDocumentGrows with the registry, and what is kept does not grow with the
// places where the handler is mounted.
func TestDocumentGrows(t *testing.T) {
	reg := docRegistry()
	h := docHandler(t, reg, "", nil)
	before := ask(h, "GET", "/openapi.json")
	docHandle(reg, "doc.Doc/Later")
	after := ask(h, "GET", "/openapi.json")
	if strings.Contains(before.Body.String(), "Later") || !strings.Contains(after.Body.String(), "doc.Doc/Later") || before.Header().Get("ETag") == after.Header().Get("ETag") {
		t.Error("the document does not have the method that was added")
	}
	for i := range 3 * maxVariants {
		prefix := "/" + strings.Repeat("x", i+1)
		if w := ask(http.StripPrefix(prefix, h), "GET", prefix+"/openapi.json"); w.Code != http.StatusOK {
			t.Fatal(w.Code)
		}
	}
	if n := len(h.documents.made); n > maxVariants {
		t.Errorf("%d documents are kept", n)
	}
}
