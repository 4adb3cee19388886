package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/everywire/everywire"
	jsoncodec "github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/internal/librarypb"
)

// parcel has a field of every kind that a route can place.
type parcel struct {
	Name    string            `wire:"1"`
	Size    int64             `wire:"2"`
	Ratio   float64           `wire:"3"`
	On      bool              `wire:"4" http:"query=is-on"`
	Data    []byte            `wire:"5"`
	At      time.Time         `wire:"6"`
	Wait    time.Duration     `wire:"7"`
	Tenant  string            `wire:"8" http:"header=X-Tenant"`
	Session string            `wire:"9" http:"cookie=session"`
	Level   *int32            `wire:"10" http:"header=X-Level"`
	Limit   *uint32           `wire:"11"`
	Tags    []string          `wire:"12" http:"query=tag"`
	Numbers []uint64          `wire:"13"`
	Labels  map[string]string `wire:"14"`
	Flags   map[int32]bool    `wire:"15"`
	In      label             `wire:"16"`
	Ptr     *label            `wire:"17" http:"query=$p"`
	Big     int64             `wire:"18" json:",string"`
}

type label struct {
	Title string    `wire:"1"`
	Count int32     `wire:"2"`
	Tags  []string  `wire:"3"`
	Deep  *deepText `wire:"4"`
}

type deepText struct {
	A string  `wire:"1"`
	B *string `wire:"2" http:"query=b-" json:"bb"`
}

var (
	anyText  = rapid.StringMatching(`([a-zé/%+ "\\?#&=;.:*\[\]]|\x00|\n){0,6}`)
	someText = rapid.StringMatching(`([a-zé/%+ "\\?#&=;.:*\[\]]|\x00|\n){1,6}`)
	headText = rapid.StringMatching(`[a-zé]([a-z %;,é]{0,4}[a-zé])?`)
)

func drawParcel(t *rapid.T) *parcel {
	return &parcel{
		Name: anyText.Draw(t, "name"), Size: rapid.Int64().Draw(t, "size"), Ratio: rapid.Float64().Draw(t, "ratio"), On: rapid.Bool().Draw(t, "on"),
		Data: rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "data"), At: time.Unix(rapid.Int64Range(-1e10, 1e10).Draw(t, "at"), 0).UTC(),
		Wait: time.Duration(rapid.Int64().Draw(t, "wait")), Tenant: rapid.OneOf(rapid.Just(""), headText).Draw(t, "tenant"),
		Session: anyText.Draw(t, "session"), Level: rapid.Ptr(rapid.Int32(), true).Draw(t, "level"), Limit: rapid.Ptr(rapid.Uint32Range(0, 1), true).Draw(t, "limit"),
		Tags: rapid.SliceOfN(anyText, 0, 3).Draw(t, "tags"), Numbers: rapid.SliceOfN(rapid.Uint64(), 0, 3).Draw(t, "numbers"),
		Labels: rapid.MapOfN(anyText, anyText, 0, 3).Draw(t, "labels"), Flags: rapid.MapOfN(rapid.Int32(), rapid.Bool(), 0, 2).Draw(t, "flags"),
		In: *drawLabel(t), Ptr: rapid.OneOf(rapid.Just[*label](nil), rapid.Custom(drawLabel)).Draw(t, "ptr"), Big: rapid.Int64().Draw(t, "big"),
	}
}

func drawLabel(t *rapid.T) *label {
	var deep *deepText
	if rapid.Bool().Draw(t, "has deep") {
		deep = &deepText{A: anyText.Draw(t, "a"), B: rapid.Ptr(anyText, true).Draw(t, "b")}
	}
	return &label{
		Title: anyText.Draw(t, "title"), Count: rapid.Int32Range(-1, 1).Draw(t, "count"),
		Tags: rapid.SliceOfN(anyText, 0, 2).Draw(t, "tags"), Deep: deep,
	}
}

// drawPattern makes a template with variables of the fields given.
func drawPattern(t *rapid.T, fields ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "/r%d", rapid.IntRange(0, 3).Draw(t, "root"))
	if rapid.Bool().Draw(t, "wild") {
		b.WriteString("/*")
	}
	left := rapid.Permutation(fields).Draw(t, "fields")
	left = left[:rapid.IntRange(0, len(left)).Draw(t, "how many")]
	for i, f := range left {
		form := rapid.SampledFrom([]string{"", "=*", "=s/*", "=s/*/%C3%A9/*", "=**", "=s/**"}).Draw(t, "form")
		if i < len(left)-1 && strings.Contains(form, "**") {
			form = ""
		}
		b.WriteString("/{" + f + form + "}")
		if i < len(left)-1 && rapid.Bool().Draw(t, "between") {
			b.WriteString("/a%2Fb")
		}
	}
	if rapid.Bool().Draw(t, "verb") {
		b.WriteString(":do")
	}
	return b.String()
}

// suit makes the values of a template's variables ones that it has room for.
func suit(t *rapid.T, tmpl *template, set func(path, value string)) {
	for _, v := range tmpl.variables {
		parts := make([]string, 0, v.end-v.first)
		for _, seg := range tmpl.segments[v.first:v.end] {
			switch text := someText.Draw(t, "text"); {
			case seg.kind == literal:
				parts = append(parts, seg.literal)
			case v.many && seg.kind == one:
				parts = append(parts, strings.ReplaceAll(text, "/", "-"))
			default:
				parts = append(parts, text)
			}
		}
		set(v.path, strings.Join(parts, "/"))
	}
}

// deliver takes a request from the client's mapping to the server's, and
// returns what the server makes of it.
func deliver(t *rapid.T, m *everywire.Method, in any) any {
	var codec jsoncodec.Codec
	r, err := newRouter([]*everywire.Method{m})
	if err != nil {
		t.Fatal(err)
	}
	route, err := newClientRoute(m)
	if err != nil || route == defaultRoute {
		t.Fatalf("route %v, %v", route, err)
	}
	message, err := codec.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := route.split(message)
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	header := http.Header{}
	sent.setIn(header)
	verb := sent.endpoint.verb
	var found match
	if r.find(verb, sent.path, &found); found.endpoint == nil || found.endpoint.pattern != sent.endpoint.pattern {
		t.Fatalf("%s %s has the route %v, not %s", verb, sent.path, found.endpoint, sent.endpoint.pattern)
	}
	var b builder
	got, err := b.request(found.endpoint, found.values, sent.query, header, sent.body)
	if err != nil {
		t.Fatalf("%s %s?%s %v %s: %v", verb, sent.path, sent.query, header, sent.body, err)
	}
	out := m.Input.New()
	if err := codec.Decode(got, out); err != nil {
		t.Fatalf("%s %s?%s %v %s\nbecame %s: %v", verb, sent.path, sent.query, header, sent.body, got, err)
	}
	back, err := codec.Append(nil, out)
	if err != nil || string(back) != string(message) {
		t.Fatalf("%s %s?%s %v %s\n sent %s\n  got %s %v", verb, sent.path, sent.query, header, sent.body, message, back, err)
	}
	return out
}

// What a client divides between path, query, headers, cookies and body, the
// server puts together again, whatever the route and the message.
func TestAnyRouteCarriesAnyMessage(t *testing.T) {
	input, err := schema.For(&parcel{})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		route := everywire.Route{
			Verb:    rapid.SampledFrom([]string{"PUT", "DELETE", "REPORT"}).Draw(t, "verb"),
			Pattern: drawPattern(t, "name", "tenant", "in.title", "ptr.title", "ptr.deep.a"),
			Body:    rapid.SampledFrom([]string{"", "*", "in", "ptr", "tags", "labels", "data"}).Draw(t, "body"),
		}
		m := &everywire.Method{Service: "t.T", Name: "M", Input: input, Output: input, Routes: []everywire.Route{route}}
		in := drawParcel(t)
		tmpl, err := parseTemplate(route.Pattern)
		if err != nil {
			t.Fatal(err)
		}
		suit(t, tmpl, func(path, value string) {
			switch path {
			case "name":
				in.Name = value
			case "tenant":
				in.Tenant = value
			case "in.title":
				in.In.Title = value
			case "ptr.title":
				in.Ptr = orNew(in.Ptr)
				in.Ptr.Title = value
			case "ptr.deep.a":
				in.Ptr = orNew(in.Ptr)
				in.Ptr.Deep = orNew(in.Ptr.Deep)
				in.Ptr.Deep.A = value
			}
		})
		deliver(t, m, in)
	})
}

func orNew[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// The same for a generated message, whose fields may be absent.
func TestAnyRouteCarriesAnyGeneratedMessage(t *testing.T) {
	input, err := schema.For(&librarypb.BookRequest{})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		route := everywire.Route{
			Verb: "PATCH", Pattern: drawPattern(t, "name", "book.name", "filter.author", "filter.wider.author"),
			Body: rapid.SampledFrom([]string{"", "*", "book", "filter", "kinds", "since", "counts"}).Draw(t, "body"),
		}
		m := &everywire.Method{Service: "t.T", Name: "M", Input: input, Output: input, Routes: []everywire.Route{route}}
		in := &librarypb.BookRequest{
			Name: anyText.Draw(t, "name"), Kind: librarypb.Kind(rapid.Int32Range(0, 4).Draw(t, "kind")), Tags: rapid.SliceOfN(anyText, 0, 2).Draw(t, "tags"),
			Counts:   rapid.MapOfN(anyText, rapid.Int64(), 0, 2).Draw(t, "counts"),
			PageSize: rapid.Ptr(rapid.Int32Range(0, 1), true).Draw(t, "size"), Token: rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "token"),
			Ratio: rapid.Float64().Draw(t, "ratio"), Deep: rapid.Bool().Draw(t, "deep"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "kinds") {
			in.Kinds = append(in.Kinds, librarypb.Kind(rapid.Int32Range(0, 3).Draw(t, "of")))
		}
		for _, set := range []func(){
			func() { in.Since = timestamppb.New(time.Unix(rapid.Int64Range(0, 1e9).Draw(t, "s"), 1)) },
			func() { in.Within = durationpb.New(time.Duration(rapid.Int64().Draw(t, "d"))) },
			func() { in.AtLeast = wrapperspb.Int64(rapid.Int64Range(-1, 1).Draw(t, "l")) },
			func() { in.Note = wrapperspb.String(anyText.Draw(t, "n")) },
			func() { in.ReadMask = &fieldmaskpb.FieldMask{Paths: []string{"a", "b.c_d"}} },
			func() { in.By = &librarypb.BookRequest_Author{Author: anyText.Draw(t, "w")} },
			func() { in.By = &librarypb.BookRequest_Number{Number: rapid.Uint64Range(0, 1).Draw(t, "i")} },
			func() {
				in.Book = &librarypb.Book{Title: anyText.Draw(t, "t"), Authors: rapid.SliceOfN(anyText, 0, 2).Draw(t, "as")}
			},
			func() {
				in.Filter = &librarypb.Filter{Year: rapid.Int32Range(0, 1).Draw(t, "y"), Wider: &librarypb.Filter{Years: rapid.SliceOfN(rapid.Int64(), 0, 2).Draw(t, "ys")}}
			},
		} {
			if rapid.Bool().Draw(t, "set") {
				set()
			}
		}
		tmpl, err := parseTemplate(route.Pattern)
		if err != nil {
			t.Fatal(err)
		}
		suit(t, tmpl, func(path, value string) {
			switch path {
			case "name":
				in.Name = value
			case "book.name":
				in.Book = orNew(in.Book)
				in.Book.Name = value
			case "filter.author":
				in.Filter = orNew(in.Filter)
				in.Filter.Author = value
			case "filter.wider.author":
				in.Filter = orNew(in.Filter)
				in.Filter.Wider = orNew(in.Filter.Wider)
				in.Filter.Wider.Author = value
			}
		})
		if out := deliver(t, m, in); !proto.Equal(out.(proto.Message), in) {
			t.Fatalf("sent %v\n got %v", in, out)
		}
	})
}

// Every message comes by the default route with its headers, too.
func TestDefaultRouteCarriesHeaders(t *testing.T) {
	input, err := schema.For(&parcel{})
	if err != nil {
		t.Fatal(err)
	}
	m := &everywire.Method{Service: "t.T", Name: "M", Input: input, Output: input}
	rapid.Check(t, func(t *rapid.T) {
		in := drawParcel(t)
		out := deliver(t, m, in).(*parcel)
		if out.Session != in.Session || !slices.Equal(out.Tags, in.Tags) {
			t.Fatalf("sent %+v\n got %+v", in, out)
		}
	})
}
