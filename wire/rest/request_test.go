package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/everywire/everywire"
	jsoncodec "github.com/everywire/everywire/codec/json"
)

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%q: %v", a, err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return reflect.DeepEqual(x, y)
}

func endpointOf(t testing.TB, r everywire.Route) *endpoint {
	t.Helper()
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.Items/X", echoItem, withRoute(r))
	e, err := newCompiler().compile(reg.Methods()[0], r)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Whatever stands in path, query, cookies and body, the request's JSON is
// either refused or one valid object in which the path's field is the path's
// value, and a list has as many elements as the query has parameters for it.
func FuzzRequest(f *testing.F) {
	f.Add("a", "tag=x&sizes=1", "session=s", "")
	f.Add(`","sizes":[1],"x":"`, "sizes=1,%22key%22:1", `session="a"; x`, "")
	f.Add("k", "tag[1]=a&tag[0]=b&labels[x]=y&filter.inner.tags[]=z", "session=%22", `{"sizes":[1]}`)
	f.Add("k", "filter.attrs[a]=b&filter.at-least=1", "", `{"filter":{"name":"other"}}`)
	f.Add("k", "per-page=1", "", `{"labels":{"a":"}`)
	f.Add("k", "", "", `{"filter":{"min":1},"f\u0069lter":{}}`)
	f.Add("k", "", "", `{"filter":null,"inner":{"name":"}"}}`)
	reg := queryRegistry()
	compiled := func(r everywire.Route) *endpoint {
		m, _ := reg.Lookup("/test.Queries/Get")
		e, err := newCompiler().compile(m, r)
		if err != nil {
			f.Fatal(err)
		}
		return e
	}
	get := compiled(everywire.Route{Verb: "GET", Pattern: "/i/{id}"})
	whole := compiled(everywire.Route{Verb: "PUT", Pattern: "/i/{filter.name}", Body: "*"})
	part := compiled(everywire.Route{Verb: "PUT", Pattern: "/i/{filter.name}", Body: "filter"})
	f.Fuzz(func(t *testing.T, key, query, cookie, body string) {
		for _, e := range []*endpoint{get, whole, part} {
			var b builder
			var in []byte
			if body != "" && e != get {
				in = []byte(body)
			}
			message, err := b.request(e, []string{key}, query, http.Header{"Cookie": {cookie}}, in)
			if err != nil {
				continue
			}
			var out parameters
			if err := (jsoncodec.Codec{}).Decode(message, &out); err != nil {
				continue
			}
			if !json.Valid(message) {
				t.Fatalf("%s accepted as a request", message)
			}
			got := out.ID
			if e != get {
				got = out.Filter.Name
			}
			if got != key {
				t.Fatalf("the path's value is %q, the request has %q: %s", key, got, message)
			}
			if values, err := url.ParseQuery(query); err == nil && e == get {
				want := 0
				for name := range values {
					if name == "tag" || strings.HasPrefix(name, "tag[") {
						want += len(values[name])
					}
				}
				if want != len(out.Tags) {
					t.Fatalf("query %q became %s", query, message)
				}
			}
		}
	})
}

func TestClientRouteChoice(t *testing.T) {
	type empty struct{}
	noRoom := func(name string, m everywire.MethodOption) *everywire.Method {
		reg := everywire.NewRegistry()
		switch name {
		case "a list of messages":
			everywire.Handle(reg, "t.T/M", func(context.Context, *struct {
				Subs []sub `wire:"1"`
			}) (*sub, error) {
				return nil, nil
			}, m)
		case "a map of messages":
			everywire.Handle(reg, "t.T/M", func(context.Context, *struct {
				Subs map[string]sub `wire:"1"`
			}) (*sub, error) {
				return nil, nil
			}, m)
		case "a document":
			everywire.Handle(reg, "t.T/M", func(context.Context, *struct {
				Any any `wire:"1"`
			}) (*sub, error) {
				return nil, nil
			}, m)
		case "a message that may be there and has nothing":
			everywire.Handle(reg, "t.T/M", func(context.Context, *struct {
				Empty *empty `wire:"1"`
			}) (*sub, error) {
				return nil, nil
			}, m)
		case "a message whose fields may all be absent":
			everywire.Handle(reg, "t.T/M", func(context.Context, *struct {
				Sub *struct {
					Name *string `wire:"1"`
				} `wire:"1"`
			}) (*sub, error) {
				return nil, nil
			}, m)
		case "a verb without replies", "any verb":
			everywire.Handle(reg, "t.T/M", func(context.Context, *sub) (*sub, error) { return nil, nil }, m)
		}
		return reg.Methods()[0]
	}
	for name, route := range map[string]everywire.MethodOption{
		"a list of messages": everywire.WithRoute("GET", "/a", ""), "a map of messages": everywire.WithRoute("GET", "/a", ""),
		"a document": everywire.WithRoute("GET", "/a", ""),
		"a message that may be there and has nothing": everywire.WithRoute("GET", "/a", ""),
		"a message whose fields may all be absent":    everywire.WithRoute("GET", "/a", ""),
		"a verb without replies":                      everywire.WithRoute("HEAD", "/a", ""), "any verb": everywire.WithRoute("*", "/a", "*"),
	} {
		if r, err := newClientRoute(noRoom(name, route)); err != nil || r != defaultRoute {
			t.Errorf("a route without room for %s is taken: %v, %v", name, r, err)
		}
	}
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.Items/Bad", echoItem, everywire.WithRoute("PUT", "/a/{key}", "*"), everywire.WithRoute("GET", "/a/**/b", ""))
	ms := reg.Methods()
	if _, err := newClientRoute(ms[0]); err == nil || !strings.Contains(err.Error(), "/a/**/b") {
		t.Errorf("error %v", err)
	}
	r, err := newClientRoute(&everywire.Method{Input: ms[0].Input, Routes: []everywire.Route{{Verb: "PUT", Pattern: "/a/{key}", Body: "*"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.split([]byte(`{"size":1}`)); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("an empty path parameter: error %v", err)
	}
}
