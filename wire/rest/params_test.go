package rest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	jsoncodec "github.com/everywire/everywire/codec/json"
)

// parameters is a request with a field for each place and shape that a parameter
// can have.
type parameters struct {
	Tenant  string            `wire:"1" http:"header=x-tenant"`
	Session string            `wire:"2" http:"cookie=session"`
	PerPage int32             `wire:"3" http:"query=per-page"`
	Filter  *filter           `wire:"4"`
	Tags    []string          `wire:"5" http:"query=tag"`
	Labels  map[string]string `wire:"6"`
	Flags   map[int64]bool    `wire:"7"`
	Sizes   []int64           `wire:"8"`
	Depth   *int32            `wire:"9" http:"header=X-Depth"`
	Subs    []sub             `wire:"10"`
	Any     any               `wire:"11"`
	ID      string            `wire:"12"`
}

type filter struct {
	Name  string            `wire:"1"`
	Min   int64             `wire:"2" http:"query=at-least"`
	Inner *filter           `wire:"3"`
	Tags  []string          `wire:"4"`
	Attrs map[string]string `wire:"5"`
}

func echoQuery(_ context.Context, in *parameters) (*parameters, error) { return in, nil }

func queryRegistry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	everywire.Handle(reg, "test.Queries/Default", echoQuery)
	everywire.Handle(reg, "test.Queries/Safe", echoQuery, everywire.WithIdempotency(everywire.NoSideEffects))
	everywire.Handle(reg, "test.Queries/Get", echoQuery, everywire.WithRoute("GET", "/q", ""))
	everywire.Handle(reg, "test.Queries/Name", echoQuery, everywire.WithRoute("GET", "/q/{filter.name}", ""))
	everywire.Handle(reg, "test.Queries/Path", echoQuery, everywire.WithRoute("GET", "/q/{id=shelves/*/**}", ""))
	everywire.Handle(reg, "test.Queries/Whole", echoQuery, everywire.WithRoute("PUT", "/q/{filter.name}", "*"))
	everywire.Handle(reg, "test.Queries/Filter", echoQuery, everywire.WithRoute("PATCH", "/q/{filter.name}/{filter.inner.name}", "filter"))
	everywire.Handle(reg, "test.Queries/Tenant", echoQuery, everywire.WithRoute("GET", "/t/{tenant}", ""))
	everywire.Handle(reg, "test.Queries/Cancel", echoQuery, everywire.WithRoute("POST", "/q/{id}:cancel", "*"))
	everywire.Handle(reg, "test.Queries/Any", echoQuery, everywire.WithRoute("*", "/any", ""))
	everywire.Handle(reg, "test.Queries/Dashed", echoQuery, everywire.WithRoute("M-SEARCH", "/q", ""))
	return reg
}

// filledQuery is a query's JSON with every field; other JSON as it is.
func filledQuery(t *testing.T, text string) string {
	t.Helper()
	var in parameters
	if (jsoncodec.Codec{}).Decode([]byte(text), &in) != nil {
		return text
	}
	b, err := (jsoncodec.Codec{}).Append(nil, &in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParameters(t *testing.T) {
	addr := serve(t, serverConfig(queryRegistry()))
	for _, c := range []struct {
		name, line, head, body, want string
	}{
		{"list, repeated", "GET /q?sizes=3&sizes=1&sizes=2", "", "", `{"sizes":[3,1,2]}`},
		{"list, brackets", "GET /q?sizes[]=3&sizes[]=1", "", "", `{"sizes":[3,1]}`},
		{"list, escaped brackets", "GET /q?sizes%5B%5D=3&sizes[]=1", "", "", `{"sizes":[3,1]}`},
		{"list, indexes", "GET /q?sizes[0]=3&sizes[1]=1", "", "", `{"sizes":[3,1]}`},
		{"list, indexes in any order", "GET /q?sizes[2]=1&sizes[0]=3&tag=x&sizes[1]=2", "", "", `{"sizes":[3,2,1],"tags":["x"]}`},
		{"list, commas are data", "GET /q?tag=a,b", "", "", `{"tags":["a,b"]}`},
		{"list, empty value", "GET /q?tag=", "", "", `{"tags":[""]}`},
		{"list, no value", "GET /q?tag[]", "", "", `{"tags":[""]}`},
		{"map", "GET /q?labels[a]=1&labels[b.c]=2&labels[%5Bd]=3&labels[]=4&labels[e]f]=5", "", "", `{"labels":{"a":"1","b.c":"2","[d":"3","":"4","e]f":"5"}}`},
		{"map of other kinds", "GET /q?flags[-1]=true&flags[2]=false", "", "", `{"flags":{"-1":true,"2":false}}`},
		{"nested", "GET /q?filter.name=a+b&filter.inner.name=c&filter.tags=x&filter.tags=y&filter.attrs[k]=v", "", "",
			`{"filter":{"name":"a b","inner":{"name":"c"},"tags":["x","y"],"attrs":{"k":"v"}}}`},
		{"nested, apart", "GET /q?filter.name=a&tag=x&filter.inner.name=c&filter.inner.tags[0]=z", "", "",
			`{"filter":{"name":"a","inner":{"name":"c","tags":["z"]}},"tags":["x"]}`},
		{"renamed", "GET /q?per-page=5&filter.at-least=7&filter.inner.at-least=8", "", "", `{"perPage":5,"filter":{"min":7,"inner":{"min":8}}}`},
		{"header", "GET /q", "X-Tenant: a b", "", `{"tenant":"a b"}`},
		{"header, letter case and number", "GET /q", "x-DEPTH: -3", "", `{"depth":-3}`},
		{"header, empty", "GET /q", "X-Tenant:", "", `{"tenant":""}`},
		{"header, UTF-8", "GET /q", "X-Tenant: é", "", `{"tenant":"é"}`},
		{"cookie", "GET /q", "Cookie: a=b; session=s%3B1; c", "", `{"session":"s;1"}`},
		{"cookie in quotes", "GET /q", `Cookie: session="s1"`, "", `{"session":"s1"}`},
		{"cookie, equals", "GET /q", `Cookie: session=a==`, "", `{"session":"a=="}`},
		{"cookie, other case is another", "GET /q", "Cookie: Session=s", "", `{}`},
		{"header and cookie on the default route", "POST /test.Queries/Default", "X-Tenant: t\r\nCookie: session=s", `{"sizes":[1]}`, `{"tenant":"t","session":"s","sizes":[1]}`},
		{"fields of headers in the body", "POST /test.Queries/Default", "", `{"tenant":"t","session":"s"}`, `{"tenant":"t","session":"s"}`},
		{"renamed on the default route", "POST /test.Queries/Default?per-page=3&tag=x", "", `{"sizes":[1]}`, `{"perPage":3,"tags":["x"],"sizes":[1]}`},
		{"renamed, no body", "POST /test.Queries/Default?per-page=3", "", "", `{"perPage":3}`},
		{"no side effects", "GET /test.Queries/Safe?sizes=1&filter.name=x", "X-Tenant: t", "", `{"tenant":"t","sizes":[1],"filter":{"name":"x"}}`},
		{"no side effects, POST", "POST /test.Queries/Safe", "", `{"sizes":[1]}`, `{"sizes":[1]}`},
		{"nested in the path", "GET /q/a%2Fb?filter.at-least=1", "", "", `{"filter":{"name":"a/b","min":1}}`},
		{"many segments in the path", "GET /q/shelves/1/books/%C3%A9%2F/x", "", "", `{"id":"shelves/1/books/é%2F/x"}`},
		{"path instead of header", "GET /t/a", "X-Tenant: b", "", `{"tenant":"a"}`},
		{"verb in the path", "POST /q/a:cancel", "", `{}`, `{"id":"a"}`},
		{"path into the body's object", "PUT /q/a", "", ` { "x":[{}], "filter" : {"min":1,"inner":{"name":"b"}} , "sizes":[1]}`, `{"filter":{"name":"a","min":1,"inner":{"name":"b"}},"sizes":[1]}`},
		{"path into the body's empty object", "PUT /q/a", "", `{"filter":{}}`, `{"filter":{"name":"a"}}`},
		{"path into the body's null", "PUT /q/a", "", `{"sizes":[1],"filter":null}`, `{"filter":{"name":"a"},"sizes":[1]}`},
		{"path beside the body", "PUT /q/a", "", `{"sizes":[1]}`, `{"filter":{"name":"a"},"sizes":[1]}`},
		{"path without a body", "PUT /q/a", "", "", `{"filter":{"name":"a"}}`},
		{"path into an escaped name", "PUT /q/a", "", `{"f\u0069lter":{"min":1}}`, `{"filter":{"name":"a","min":1}}`},
		{"path, header and body", "PUT /q/a", "X-Tenant: t", `{"filter":{"min":1}}`, `{"tenant":"t","filter":{"name":"a","min":1}}`},
		{"path into the field that is the body", "PATCH /q/a/b", "", `{"min":1,"inner":{"min":2}}`, `{"filter":{"name":"a","min":1,"inner":{"name":"b","min":2}}}`},
		{"path into the field that is the body, absent", "PATCH /q/a/b", "", "", `{"filter":{"name":"a","inner":{"name":"b"}}}`},
		{"path into the field that is the body, null", "PATCH /q/a/b?sizes=1", "", "null", `{"filter":{"name":"a","inner":{"name":"b"}},"sizes":[1]}`},
		{"any verb", "FROB /any?sizes=1", "", "", `{"sizes":[1]}`},
		{"a verb of its own", "M-SEARCH /q?sizes=1", "", "", `{"sizes":[1]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var head []string
			if c.head != "" {
				head = strings.Split(c.head, "\r\n")
			}
			r := do(t, addr, c.line, c.body, head...)
			if r.status != 200 || !sameJSON(t, filledQuery(t, c.want), filledQuery(t, r.body)) {
				t.Fatalf("%s %s %s\n got %d %s\nwant 200 %s", c.line, c.head, c.body, r.status, r.body, c.want)
			}
		})
	}
}

// Whatever is wrong with the parameters of a request, all of it is told.
func TestBadParameters(t *testing.T) {
	addr := serve(t, serverConfig(queryRegistry()))
	for _, c := range []struct {
		name, line, head, body string
		want                   []string // FIELD: DESCRIPTION, in part
	}{
		{"styles mixed", "GET /q?sizes=1&sizes[]=2", "", "", []string{`sizes: query parameter "sizes[]": the list is written in another way before, as sizes`}},
		{"styles mixed, index", "GET /q?sizes[]=1&sizes[1]=2", "", "", []string{`sizes: query parameter "sizes[1]": the list is written in another way`}},
		{"index missing", "GET /q?sizes[0]=1&sizes[2]=2", "", "", []string{`sizes: query parameter "sizes[2]": index 1 is missing`}},
		{"first index missing", "GET /q?sizes[1]=1", "", "", []string{`sizes: query parameter "sizes[1]": index 0 is missing`}},
		{"index twice", "GET /q?sizes[0]=1&sizes[0]=2", "", "", []string{`sizes: query parameter "sizes[0]": it is given more than once`}},
		{"index that is huge", "GET /q?sizes[99999999999999999999]=1", "", "", []string{`sizes: query parameter "sizes[99999999999999999999]": "99999999999999999999" is no index`}},
		{"index with a zero", "GET /q?sizes[00]=1", "", "", []string{`"00" is no index`}},
		{"index with a sign", "GET /q?sizes[%2B1]=1", "", "", []string{`"+1" is no index`}},
		{"index that is a word", "GET /q?sizes[a]=1", "", "", []string{`"a" is no index`}},
		{"bracket left open", "GET /q?sizes[0=1", "", "", []string{`sizes: query parameter "sizes[0": a name with [ ends in ]`}},
		{"text after a bracket", "GET /q?sizes[0]x=1", "", "", []string{`ends in ]`}},
		{"brackets after a value", "GET /q?per-page[0]=1", "", "", []string{`perPage: query parameter "per-page[0]": the field is no list or map`}},
		{"key twice", "GET /q?labels[a]=1&labels[b]=2&labels[a]=1", "", "", []string{`labels: query parameter "labels[a]": it is given more than once`}},
		{"map without a key", "GET /q?labels=1", "", "", []string{`labels: query parameter "labels": the field is a map: write labels[KEY]=VALUE`}},
		{"key of another kind", "GET /q?flags[x]=true", "", "", []string{`flags: query parameter "flags[x]": the key "x"`}},
		{"key that is not UTF-8", "GET /q?labels[%ff]=1", "", "", []string{`the key is not valid UTF-8`}},
		{"message", "GET /q?filter=1", "", "", []string{`filter: query parameter "filter": the field is a message: write filter.FIELD=VALUE`}},
		{"list of messages", "GET /q?subs[0].name=1&subs=2", "", "", []string{`subs: query parameter "subs[0].name": the field has a message`, `subs: query parameter "subs": the field has a message`}},
		{"document", "GET /q?any=1", "", "", []string{`any: query parameter "any": the field has a message or document`}},
		{"field of a value", "GET /q?per-page.x=1", "", "", []string{`perPage: query parameter "per-page.x": field perPage is no message`}},
		{"unknown nested field", "GET /q?filter.colour=1", "", "", []string{`filter: query parameter "filter.colour": GET /q has no such parameter`}},
		{"empty name within", "GET /q?filter..name=1", "", "", []string{`has no such parameter`}},
		{"nothing after the dot", "GET /q?filter.=1", "", "", []string{`has no such parameter`}},
		{"too deep", "GET /q?filter" + strings.Repeat(".inner", 64) + ".name=1", "", "", []string{`it is nested more than 64 deep`}},
		{"the name that a tag replaces", "GET /q?perPage=1&tags=x", "", "", []string{`perPage: query parameter "perPage": GET /q has no such parameter`, `tags: query parameter "tags"`}},
		{"field of a header in the query", "GET /q?tenant=a", "", "", []string{`tenant: query parameter "tenant": the field stands in the header x-tenant`}},
		{"field of a cookie in the query", "GET /q?session=a", "", "", []string{`session: query parameter "session": the field stands in the cookie session`}},
		{"header twice", "GET /q", "X-Tenant: a\r\nX-Tenant: a", "", []string{`tenant: header X-Tenant: it is given more than once`}},
		{"header that is no number", "GET /q", "X-Depth: deep", "", []string{`depth: header X-Depth: "deep"`}},
		{"header that is not UTF-8", "GET /q", "X-Tenant: \xff", "", []string{`tenant: header X-Tenant: the value is not valid UTF-8`}},
		{"cookie twice", "GET /q", "Cookie: session=a; session=b", "", []string{`session: cookie session: it is given more than once`}},
		{"cookie with a bad escape", "GET /q", "Cookie: session=100%", "", []string{`session: cookie session: invalid URL escape`}},
		{"header and body", "POST /test.Queries/Default", "X-Tenant: a", `{"tenant":"a"}`, []string{`tenant`}},
		{"renamed and body", "POST /test.Queries/Default?per-page=1", "", `{"perPage":1}`, []string{`perPage`}},
		{"not renamed on the default route", "POST /test.Queries/Default?sizes=1", "", `{}`, []string{`sizes: query parameter "sizes": POST /test.Queries/Default takes this field from the body`}},
		{"path and query", "GET /q/a?filter.name=b", "", "", []string{`filter.name: query parameter "filter.name": the path fills this field already`}},
		{"path and body, nested", "PUT /q/a", "", `{"filter":{"name":"b"}}`, []string{`filter: the name "name" stands twice`}},
		{"path and body, one field", "PATCH /q/a/b", "", `{"inner":{"name":"b"}}`, []string{`filter.inner: the name "name" stands twice`}},
		{"the body's field in the query", "PATCH /q/a/b?filter.at-least=1", "", `{}`, []string{`filter: query parameter "filter.at-least": the body fills this field`}},
		{"all of them", "GET /q?per-page=x&sizes=1&sizes=y&sizes=z&filter.at-least=w&colour=1&flags[1]=no", "X-Depth: v", "",
			[]string{`colour: query parameter "colour"`, `perPage: query parameter "per-page": "x"`, `filter.min: query parameter "filter.at-least": "w"`,
				`flags["1"]: query parameter "flags[1]": `, `sizes[1]: query parameter "sizes": "y"`, `depth: header X-Depth: "v"`, `sizes[2]: query parameter "sizes": "z"`}},
		{"names and values", "GET /q?per-page=x&foo=1&tag=ok&tag[]=no&sizes=y", "X-Tenant: a\r\nX-Tenant: b", "",
			[]string{`tenant: header X-Tenant: it is given`, `foo: query parameter "foo": GET /q has no`, `tags: query parameter "tag[]": the list`,
				`perPage: query parameter "per-page": "x"`, `sizes[0]: query parameter "sizes": "y"`}},
		{"names and the body", "POST /test.Queries/Default?foo=1", "", `{"sizes":["y"],"perPage":true}`,
			[]string{`foo: query parameter "foo"`, `sizes[0]: sizes[0]: "y" is not`, `perPage: perPage: true is not`}},
		{"names and a field that is the body", "PATCH /q/a/b?foo=1&sizes=x", "", `{"min":true}`,
			[]string{`foo: query parameter "foo"`, `sizes[0]: query parameter "sizes": "x"`, `filter.min: filter.min: true is not`}},
		{"names and a body that is no object", "POST /test.Queries/Default?foo=1&per-page=1", "", `[1]`,
			[]string{`foo: query parameter "foo"`, `: the body is not a JSON object`}},
		{"names and a body that is no JSON", "POST /test.Queries/Default?foo=1", "", `{"a"`,
			[]string{`foo: query parameter "foo"`, `: `}},
		{"names and a body where none is", "GET /q?foo=1&per-page=x", "", `{}`,
			[]string{`foo: query parameter "foo"`, `: GET /q takes no body`}},
		{"the body alone", "POST /test.Queries/Default", "", `{"sizes":["y"],"perPage":true}`,
			[]string{`sizes[0]: sizes[0]: "y" is not`, `perPage: perPage: true is not`}},
		{"all values", "GET /q?per-page=x&sizes=1&sizes=y&filter.inner.at-least=w&flags[1]=no&tag=ok", "X-Depth: v", "",
			[]string{`perPage: query parameter "per-page": "x"`, `filter.inner.min: query parameter "filter.inner.at-least": "w"`, `flags["1"]: query parameter "flags[1]": `,
				`sizes[1]: query parameter "sizes": "y"`, `depth: header X-Depth: "v"`}},
		{"values and the body", "POST /test.Queries/Default?per-page=x", "", `{"sizes":["y"]}`, []string{`perPage: query parameter "per-page": "x"`, `sizes[0]: sizes[0]: "y" is not`}},
		{"the body's object is none", "PUT /q/a", "", `{"filter":5}`, []string{`filter`}},
		{"the body's object twice", "PUT /q/a", "", `{"filter":{},"filter":{}}`, []string{`filter`}},
		{"malformed body that is taken apart", "PUT /q/a", "", `{"filter":{},}`, nil},
		{"body that is no object", "PUT /q/a", "", `[1]`, nil},
		{"number in a nested path", "GET /q/%ff", "", "", []string{`filter.name: path parameter filter.name: the value is not valid UTF-8`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var head []string
			if c.head != "" {
				head = strings.Split(c.head, "\r\n")
			}
			r := do(t, addr, c.line, c.body, head...)
			checkProblem(t, r)
			if r.status != 400 {
				t.Fatalf("%s %s: %d %s", c.line, c.body, r.status, r.body)
			}
			s := statusOf(r.status, r.header.Get("Content-Type"), []byte(r.body))
			got := violationsOf(s)
			for i, want := range c.want {
				if i < len(got) && strings.HasPrefix(got[i], want) || i == 0 && strings.Contains(s.Message(), want) {
					continue
				}
				t.Errorf("%s %s %s\nstatus %v\nviolations %q\nwant %q", c.line, c.head, c.body, s, got, c.want)
				break
			}
			if len(c.want) > 1 && len(got) != len(c.want) {
				t.Errorf("violations %q, want %d", got, len(c.want))
			}
		})
	}
}

func violationsOf(s *status.Status) (all []string) {
	for _, d := range s.Details() {
		if b, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range b.GetFieldViolations() {
				all = append(all, v.GetField()+": "+v.GetDescription())
			}
		}
	}
	return all
}

// An error lists so many faults and no more, whatever a client sends.
func TestManyViolations(t *testing.T) {
	addr := serve(t, serverConfig(queryRegistry()))
	r := do(t, addr, "GET /q?"+strings.Repeat("x=1&", 1000), "")
	s := statusOf(r.status, r.header.Get("Content-Type"), []byte(r.body))
	if got := violationsOf(s); len(got) != maxViolations || !strings.Contains(s.Message(), "(and 999 more)") {
		t.Errorf("%d violations; %s", len(got), s.Message())
	}
}

// A handler sees headers as metadata, whether or not a field has them too.
func TestHeaderFieldsAreMetadata(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "t.T/M", func(ctx context.Context, in *parameters) (*sub, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		return &sub{Name: in.Tenant + "," + strings.Join(md["x-tenant"], ",") + "," + strings.Join(md["cookie"], ",")}, nil
	})
	r := do(t, serve(t, serverConfig(reg)), "POST /t.T/M", "{}", "X-Tenant: a", "Cookie: session=b")
	if r.body != `{"name":"a,a,session=b"}` {
		t.Errorf("got %s", r.body)
	}
}

// What the client puts into headers and cookies.
func TestClientHeaderFields(t *testing.T) {
	reg := queryRegistry()
	cfg := clientConfig(serve(t, serverConfig(reg)))
	cfg.Methods = reg
	conn := dial(t, cfg)
	depth := int32(0)
	for _, in := range []*parameters{
		{},
		{Tenant: "a b", Session: "s; \"x\" é%3B,\\\n", Depth: &depth, Tags: []string{"x"}},
	} {
		out, err := everywire.Call[parameters](t.Context(), conn, "test.Queries/Default", in)
		if err != nil || out.Tenant != in.Tenant || out.Session != in.Session || (out.Depth == nil) != (in.Depth == nil) || len(out.Tags) != len(in.Tags) {
			t.Errorf("sent %+v, got %+v, %v", in, out, err)
		}
	}
	for _, tenant := range []string{" a", "a\n", "a\x00b", "a\x7f"} {
		if _, err := everywire.Call[parameters](t.Context(), conn, "test.Queries/Default", &parameters{Tenant: tenant}); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "X-Tenant") && !strings.Contains(err.Error(), "x-tenant") {
			t.Errorf("%q in a header: %v", tenant, err)
		}
	}
	// A field takes the place of metadata; cookies go together.
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-tenant", "other", "cookie", "a=b")
	if out, err := everywire.Call[parameters](ctx, conn, "test.Queries/Default", &parameters{Tenant: "t", Session: "s"}); err != nil || out.Tenant != "t" || out.Session != "s" {
		t.Errorf("beside metadata: %+v, %v", out, err)
	}
	h := http.Header{"Cookie": {"a=b"}, "X-Tenant": {"other"}}
	(&placedRequest{headers: []headerField{{"X-Tenant", "t"}, {"Cookie", "session=s"}}}).setIn(h)
	if h.Get("Cookie") != "a=b; session=s" || len(h["X-Tenant"]) != 1 || h.Get("X-Tenant") != "t" {
		t.Errorf("headers %v", h)
	}
}

// The fields of a request are what the server reads, and nothing is put
// together for a plain default route.
func TestPlainBodyPassesUntouched(t *testing.T) {
	m := itemRegistry().Methods()
	r, err := newRouter(m)
	if err != nil {
		t.Fatal(err)
	}
	var found match
	r.find("POST", "/test.Items/Plain", &found)
	body := []byte{0x81, 0xa3, 'k', 'e', 'y', 0xa1, 'a'} // of another codec
	var b builder
	got, err := b.request(found.endpoint, found.values, "", nil, body)
	if err != nil || &got[0] != &body[0] || !found.endpoint.plainBody {
		t.Errorf("request %q, %v", got, err)
	}
	if n := testing.AllocsPerRun(100, func() {
		r.find("POST", "/test.Items/Plain", &found)
		if _, err := b.request(found.endpoint, found.values, "", nil, body); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
