package rest

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/everywire/everywire"
	jsoncodec "github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/librarypb"
)

// library replies with the method's name and what it was called with.
type library struct {
	librarypb.UnimplementedLibraryServer
}

func answer(method string, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return &librarypb.BookReply{Method: method, Request: in, Book: in.GetBook(), Tags: in.GetTags()}, nil
}

func (library) GetBook(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("GetBook", in)
}

func (library) ListBooks(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("ListBooks", in)
}

func (library) CreateBook(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("CreateBook", in)
}

func (library) UpdateBook(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("UpdateBook", in)
}

func (library) ReplaceBook(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("ReplaceBook", in)
}

func (library) SetTags(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("SetTags", in)
}

func (library) DeleteBook(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("DeleteBook", in)
}

func (library) LendBook(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("LendBook", in)
}

func (library) SearchBooks(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("SearchBooks", in)
}

func (library) Page(_ context.Context, in *librarypb.BookRequest) (*librarypb.BookReply, error) {
	return answer("Page", in)
}

func libraryRegistry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	librarypb.RegisterLibraryServer(reg, library{})
	return reg
}

// The rules of google.api.http, as curl would use them.
func TestLibrary(t *testing.T) {
	addr := serve(t, serverConfig(libraryRegistry()))
	for _, c := range []struct{ line, body, method, want string }{
		{"GET /v1/shelves/1/books/2", "", "GetBook", `{"name":"shelves/1/books/2"}`},
		{"GET /v1/shelves/1/books/2?kind=KIND_NOVEL&tags=a&filter.year=1999", "", "GetBook", `{"name":"shelves/1/books/2","kind":"KIND_NOVEL","tags":["a"],"filter":{"year":1999}}`},
		{"GET /v1/books/a%2Fb", "", "GetBook", `{"name":"a/b"}`},
		{"GET /v1/books/Poe/1845?filter.wider.author=x", "", "GetBook", `{"filter":{"author":"Poe","year":1845,"wider":{"author":"x"}}}`},
		{"GET /everywire.booktest.Library/GetBook?name=n&read_mask=name,book.title", "", "GetBook", `{"name":"n","readMask":"name,book.title"}`},
		{"POST /everywire.booktest.Library/GetBook", `{"name":"n"}`, "GetBook", `{"name":"n"}`},
		{"GET /v1/books?kinds=1&kinds=KIND_ESSAY&since=2026-01-02T03:04:05.5Z&within=1.5s&atLeast=9007199254740993&note=&pageSize=0&token=AP-_&ratio=-Infinity&deep=true", "", "ListBooks",
			`{"kinds":[1,2],"since":"2026-01-02T03:04:05.5Z","within":"1.5s","atLeast":9007199254740993,"note":"","pageSize":0,"token":"AP+/","ratio":"-Infinity","deep":true}`},
		{"GET /v1/books?kinds[]=2&counts[a]=1&counts[b]=2&number=18446744073709551615", "", "ListBooks", `{"kinds":[2],"counts":{"a":1,"b":2},"number":18446744073709551615}`},
		{"GET /v1/books?book.authors[0]=a&book.authors[1]=b&filter.years=1&filter.years=2", "", "ListBooks", `{"book":{"authors":["a","b"]},"filter":{"years":[1,2]}}`},
		{"POST /v1/shelves/1/books", `{"book":{"title":"t"}}`, "CreateBook", `{"name":"shelves/1","book":{"title":"t"}}`},
		{"PATCH /v1/shelves/1/books/2?tags=x", `{"title":"t"}`, "", `{"name":"shelves/1/books/2","title":"t","authors":[]}`},
		{"PUT /v1/shelves/1/books/2", `{"kind":2,"book":{"title":"t"}}`, "ReplaceBook", `{"kind":2,"book":{"name":"shelves/1/books/2","title":"t"}}`},
		{"PUT /v1/shelves/1/2/3:tags", `["a","b"]`, "", `["a","b"]`},
		{"PUT /v1/shelves:tags", ``, "", `[]`},
		{"DELETE /v1/a/b//c/?kind=1", "", "DeleteBook", `{"name":"a/b//c/","kind":1}`},
		{"DELETE /v1", "", "DeleteBook", `{}`},
		{"POST /v1/shelves/1/books/2:lend", `{}`, "LendBook", `{"name":"shelves/1/books/2"}`},
		{"POST /v1/KIND_ESSAY:lend", `{}`, "LendBook", `{"kind":2}`},
		{"SEARCH /v1/anything/books?tags=x", "", "SearchBooks", `{"tags":["x"]}`},
		{"FROB /pages/a/b?tags=x", "", "Page", `{"name":"a/b","tags":["x"]}`},
	} {
		r := do(t, addr, c.line, c.body)
		if r.status != 200 {
			t.Errorf("%s: %d %s", c.line, r.status, r.body)
			continue
		}
		if c.method == "" {
			if !sameJSON(t, r.body, c.want) {
				t.Errorf("%s\n got %s\nwant %s", c.line, r.body, c.want)
			}
			continue
		}
		var got librarypb.BookReply
		var want librarypb.BookRequest
		if err := (jsoncodec.Codec{}).Decode([]byte(r.body), &got); err != nil {
			t.Fatal(err)
		}
		if err := (jsoncodec.Codec{}).Decode([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if got.GetMethod() != c.method || !proto.Equal(got.GetRequest(), &want) {
			t.Errorf("%s\n got %s %v\nwant %s %v", c.line, got.GetMethod(), got.GetRequest(), c.method, &want)
		}
	}
	for line, want := range map[string]string{
		"GET /v1/books?author=a&number=1":    "number",
		"GET /v1/books?kind=KIND_OTHER":      "kind",
		"GET /v1/books?since=now":            "since",
		"GET /v1/books?within=1":             "within",
		"GET /v1/books?atLeast=x":            "atLeast",
		"GET /v1/books?readMask=,":           "readMask",
		"GET /v1/books?counts[a]=x":          "counts",
		"GET /v1/books?book=x":               "book",
		"GET /v1/books/Poe/late":             "filter.year",
		"GET /v1/books?since.seconds=1":      "since",
		"GET /v1/books?counts.a=1":           "counts",
		"POST /v1/KIND_OTHER:lend":           "kind",
		"GET /v1/books?filter.wider.years=x": "filter.wider.years",
	} {
		r := do(t, addr, line, "")
		if p := checkProblem(t, r); r.status != 400 || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %d %s, want 400 that names %s", line, r.status, p.Detail, want)
		}
	}
}

// A generated client calls every method by its rules.
func TestLibraryClient(t *testing.T) {
	reg := libraryRegistry()
	cfg := clientConfig(serve(t, serverConfig(reg)))
	cfg.Methods = reg
	conn := dial(t, cfg)
	client := librarypb.NewLibraryClient(conn)
	in := &librarypb.BookRequest{
		Name: "shelves/é 1/books/2:lend", Kind: librarypb.Kind_KIND_NOVEL, Filter: &librarypb.Filter{Author: "a&b", Years: []int64{1, 2}},
		Book: &librarypb.Book{Name: "shelves/1/books/x", Title: "t"}, Tags: []string{"", "b"}, Kinds: []librarypb.Kind{0, 2, 7},
		Since: timestamppb.New(time.Unix(1, 5)), Within: durationpb.New(-time.Second), AtLeast: wrapperspb.Int64(0), Note: wrapperspb.String(""),
		ReadMask: &fieldmaskpb.FieldMask{Paths: []string{"book.page_size", "name"}}, Counts: map[string]int64{"a=b": 0, "": 1}, PageSize: proto.Int32(0),
		Token: []byte{0xff, 0}, Ratio: 0.1, Deep: true, By: &librarypb.BookRequest_Number{Number: 1 << 63},
	}
	without := func(change func(*librarypb.BookRequest)) *librarypb.BookRequest {
		c := proto.CloneOf(in)
		change(c)
		return c
	}
	for name, call := range map[string]func(*librarypb.BookRequest) (*librarypb.BookReply, error){
		"GetBook": func(r *librarypb.BookRequest) (*librarypb.BookReply, error) { return client.GetBook(t.Context(), r) },
		"CreateBook": func(*librarypb.BookRequest) (*librarypb.BookReply, error) {
			return client.CreateBook(t.Context(), without(func(c *librarypb.BookRequest) { c.Name = "shelves/1" }))
		},
		"ReplaceBook": func(r *librarypb.BookRequest) (*librarypb.BookReply, error) {
			return client.ReplaceBook(t.Context(), r)
		},
		"LendBook":   func(r *librarypb.BookRequest) (*librarypb.BookReply, error) { return client.LendBook(t.Context(), r) },
		"DeleteBook": func(r *librarypb.BookRequest) (*librarypb.BookReply, error) { return client.DeleteBook(t.Context(), r) },
		"SearchBooks": func(r *librarypb.BookRequest) (*librarypb.BookReply, error) {
			return client.SearchBooks(t.Context(), r)
		},
		"Page": func(r *librarypb.BookRequest) (*librarypb.BookReply, error) { return client.Page(t.Context(), r) },
	} {
		want := in
		if name == "CreateBook" {
			want = without(func(c *librarypb.BookRequest) { c.Name = "shelves/1" })
		}
		out, err := call(in)
		if err != nil || out.GetMethod() != name || !proto.Equal(out.GetRequest(), want) {
			t.Errorf("%s: %v, %v\nwant %v", name, out, err, want)
		}
	}
	_, err := client.CreateBook(t.Context(), in)
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "shelves/*") {
		t.Errorf("a name that is not of the route's form: %v", err)
	}
	// One field is the reply.
	book, err := client.UpdateBook(t.Context(), in)
	if err != nil || !proto.Equal(book, &librarypb.BookReply{Book: in.GetBook()}) {
		t.Errorf("UpdateBook: %v, %v", book, err)
	}
	tags, err := client.SetTags(t.Context(), in)
	if err != nil || !proto.Equal(tags, &librarypb.BookReply{Tags: in.GetTags()}) {
		t.Errorf("SetTags: %v, %v", tags, err)
	}
	deep := &librarypb.Filter{Year: 1}
	for range 70 {
		deep = &librarypb.Filter{Wider: deep}
	}
	if _, err := client.ListBooks(t.Context(), &librarypb.BookRequest{Filter: deep}); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "64 deep") {
		t.Errorf("a filter in a filter in a filter …: %v", err)
	}
}

// The first rule that can carry a request carries it.
func TestLibraryClientRoutes(t *testing.T) {
	for _, c := range []struct {
		method string
		in     *librarypb.BookRequest
		want   string
	}{
		{"GetBook", &librarypb.BookRequest{Name: "shelves/1/books/2"}, "GET /v1/shelves/1/books/2"},
		{"GetBook", &librarypb.BookRequest{Name: "other/1"}, "GET /v1/books/other%2F1"},
		{"GetBook", &librarypb.BookRequest{Filter: &librarypb.Filter{Author: "Poe", Year: 1845}}, "GET /v1/books/Poe/1845"},
		{"ListBooks", &librarypb.BookRequest{Book: &librarypb.Book{}}, "GET /v1/books?book.name="},
		{"ListBooks", &librarypb.BookRequest{Kind: 2, Kinds: []librarypb.Kind{0}}, "GET /v1/books?kind=KIND_ESSAY&kinds=KIND_UNSPECIFIED"},
		{"UpdateBook", &librarypb.BookRequest{Book: &librarypb.Book{Name: "shelves/1/books/2", Title: "t"}, Tags: []string{"x"}},
			`PATCH /v1/shelves/1/books/2?tags=x {"title":"t","authors":[]}`},
		{"DeleteBook", &librarypb.BookRequest{Name: "a//b/"}, "DELETE /v1/a//b/"},
		{"LendBook", &librarypb.BookRequest{Kind: 1}, "POST /v1/KIND_NOVEL:lend"},
		{"SetTags", &librarypb.BookRequest{Name: "shelves", Tags: []string{"x"}}, `PUT /v1/shelves:tags ["x"]`},
		{"SearchBooks", &librarypb.BookRequest{}, "SEARCH /v1/-/books"},
		{"Page", &librarypb.BookRequest{}, "the default route"}, // any verb may be another route's
	} {
		m, ok := libraryRegistry().Lookup("/everywire.booktest.Library/" + c.method)
		if !ok {
			t.Fatal(c.method)
		}
		r, err := newClientRoute(m)
		if err != nil {
			t.Fatal(err)
		}
		if r == defaultRoute {
			if c.want != "the default route" {
				t.Errorf("%s goes by the default route, want %s", c.method, c.want)
			}
			continue
		}
		message, err := (jsoncodec.Codec{}).Append(nil, c.in)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.split(message)
		if err != nil {
			t.Errorf("%s: %v", c.method, err)
			continue
		}
		got := p.endpoint.verb + " " + p.path
		if p.query != "" {
			got += "?" + p.query
		}
		if p.body != nil && p.endpoint.bodyField != nil {
			got += " " + string(p.body)
		}
		if got != c.want {
			t.Errorf("%s of %v\n goes by %s\nwant %s", c.method, c.in, got, c.want)
		}
	}
}
