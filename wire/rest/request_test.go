package rest

import (
	"context"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

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

// Whatever stands in path and query, the request's JSON is either refused or
// one valid object in which the path's field is the path's value.
func FuzzRequest(f *testing.F) {
	f.Add("a", "tags=x&size=1", "")
	f.Add(`","size":1,"x":"`, "size=1,%22key%22:1", "")
	f.Add("k", "", `{"size":1}`)
	f.Add("k", "", `{"key":"other"}`)
	f.Add("k", "", `{"labels":{"a":"}`)
	f.Add("k", "", `{"size":1},"key":"x"`)
	get := endpointOf(f, everywire.Route{Verb: "GET", Pattern: "/i/{key}"})
	whole := endpointOf(f, everywire.Route{Verb: "PUT", Pattern: "/i/{key}", Body: "*"})
	part := endpointOf(f, everywire.Route{Verb: "PUT", Pattern: "/i/{key}", Body: "sub"})
	f.Fuzz(func(t *testing.T, key, query, body string) {
		for _, e := range []*endpoint{get, whole, part} {
			var b builder
			var in []byte
			if body != "" && e != get {
				in = []byte(body)
			}
			got, err := b.request(e, []string{key}, query, nil, in)
			if err != nil {
				continue
			}
			var out item
			if err := (jsoncodec.Codec{}).Decode(got, &out); err != nil {
				continue
			}
			if !json.Valid(got) {
				t.Fatalf("%s accepted as a request", got)
			}
			if out.Key != key {
				t.Fatalf("the path's key is %q, the request has %q: %s", key, out.Key, got)
			}
			if e == get {
				if values, err := url.ParseQuery(query); err == nil && len(values["tags"]) != len(out.Tags) {
					t.Fatalf("query %q became %s", query, got)
				}
			}
		}
	})
}

// What a client puts into path, query and body, the server puts together
// again.
func TestClientRouteRoundTrip(t *testing.T) {
	routes := []everywire.Route{
		{Verb: "PUT", Pattern: "/i/{key}", Body: "*"},
		{Verb: "PUT", Pattern: "/i/{size}/{on}/{key=*}", Body: "*"},
		{Verb: "POST", Pattern: "/i", Body: "*"},
	}
	type flat struct {
		Key     string   `wire:"1"`
		Size    int64    `wire:"2"`
		On      bool     `wire:"3"`
		Data    []byte   `wire:"4"`
		Tags    []string `wire:"5"`
		Numbers []uint64 `wire:"6"`
		Sub     sub      `wire:"7"`
		Limit   *int32   `wire:"8"`
	}
	type noSub struct {
		Key     string   `wire:"1"`
		Size    int64    `wire:"2"`
		On      bool     `wire:"3"`
		Data    []byte   `wire:"4"`
		Tags    []string `wire:"5"`
		Numbers []uint64 `wire:"6"`
		Limit   *int32   `wire:"8"`
	}
	reg := everywire.NewRegistry()
	for i, r := range routes {
		everywire.Handle(reg, "test.Flat/M"+itoa(i), func(_ context.Context, in *flat) (*flat, error) { return in, nil }, withRoute(r))
	}
	everywire.Handle(reg, "test.Flat/Body", func(_ context.Context, in *flat) (*flat, error) { return in, nil },
		withRoute(everywire.Route{Verb: "GET", Pattern: "/g/{key}"}), // has no room for sub
		withRoute(everywire.Route{Verb: "PUT", Pattern: "/s/{key}", Body: "sub"}))
	everywire.Handle(reg, "test.Flat/Get", func(_ context.Context, in *noSub) (*noSub, error) { return in, nil },
		withRoute(everywire.Route{Verb: "GET", Pattern: "/n/{size}"}))
	router, err := newRouter(reg.Methods())
	if err != nil {
		t.Fatal(err)
	}
	var codec jsoncodec.Codec
	text := rapid.StringMatching(`([a-zé/%+ "\\?#&=;.]|\x00){1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		in := flat{
			Key: text.Draw(t, "key"), Size: rapid.Int64().Draw(t, "size"), On: rapid.Bool().Draw(t, "on"),
			Data: rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "data"), Tags: rapid.SliceOfN(text, 0, 3).Draw(t, "tags"),
			Numbers: rapid.SliceOfN(rapid.Uint64(), 0, 3).Draw(t, "numbers"), Sub: sub{Name: text.Draw(t, "sub")},
			Limit: rapid.Ptr(rapid.Int32(), true).Draw(t, "limit"),
		}
		for _, m := range reg.Methods() {
			message, err := codec.Append(nil, &in)
			if err != nil {
				t.Fatal(err)
			}
			want := string(message)
			if m.Name == "Get" {
				message, err = codec.Append(nil, &noSub{in.Key, in.Size, in.On, in.Data, in.Tags, in.Numbers, in.Limit})
				if err != nil {
					t.Fatal(err)
				}
				want = string(message)
			}
			route, err := newClientRoute(m)
			if err != nil || len(route.endpoints) == 0 {
				t.Fatalf("%s: route %v, %v", m.Name, route, err)
			}
			sent, err := route.split(message)
			if err != nil {
				t.Fatalf("%s: %v", m.Name, err)
			}
			var found match
			router.find(sent.endpoint.verb, sent.path, &found)
			if found.endpoint == nil || found.endpoint.method != m {
				t.Fatalf("%s: no route for %s %s", m.Name, sent.endpoint.verb, sent.path)
			}
			var b builder
			got, err := b.request(found.endpoint, found.values, sent.query, nil, sent.body)
			if err != nil {
				t.Fatalf("%s: %s?%s %s: %v", m.Name, sent.path, sent.query, sent.body, err)
			}
			out := m.Input.New()
			if err := codec.Decode(got, out); err != nil {
				t.Fatalf("%s: %s: %v", m.Name, got, err)
			}
			if back, err := codec.Append(nil, out); err != nil || string(back) != want {
				t.Fatalf("%s: %s?%s %s\n sent %s\n  got %s", m.Name, sent.path, sent.query, sent.body, want, back)
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
