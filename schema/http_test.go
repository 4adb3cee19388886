package schema_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/schema"
)

func TestHTTPPlaces(t *testing.T) {
	type message struct {
		Tenant  string    `wire:"1" http:"header=X-Tenant"`
		Session *string   `wire:"2" http:"cookie=session"`
		Since   time.Time `wire:"3" http:"header=If-Modified-Since"`
		PerPage int       `wire:"4" http:"query=per-page"`
		Tags    []string  `wire:"5" http:"query=tag"`
		Version int64     `wire:"6" http:"etag"`
		Tag     string    `wire:"7" http:"query=tags"` // two fields may change places
		Other   string    `wire:"8"`
	}
	m := mustOf[message](t)
	var got []schema.HTTPPlace
	for _, f := range m.Fields {
		got = append(got, f.HTTP)
	}
	want := []schema.HTTPPlace{
		{schema.InHeader, "X-Tenant"}, {schema.InCookie, "session"}, {schema.InHeader, "If-Modified-Since"},
		{schema.InQuery, "per-page"}, {schema.InQuery, "tag"}, {schema.ETag, ""}, {schema.InQuery, "tags"}, {schema.InBody, ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("places\n%v\nwant\n%v", got, want)
	}
	for name, want := range map[string]string{
		"per-page": "PerPage", "perPage": "", "per_page": "", "tag": "Tags", "tags": "Tag", "other": "Other", "tenant": "Tenant", "x": "",
	} {
		f, got := m.ByQuery(name), ""
		if f != nil {
			got = m.Type.Field(f.Index).Name
		}
		if got != want {
			t.Errorf("ByQuery(%q) is field %q, want %q", name, got, want)
		}
	}
	if f := m.ByName("tags"); f == nil || m.Type.Field(f.Index).Name != "Tags" {
		t.Errorf("ByName follows the query's names: %+v", f)
	}
}

func TestHTTPPlaceErrors(t *testing.T) {
	type inside struct {
		A string `wire:"1"`
	}
	for _, c := range []struct {
		name string
		typ  reflect.Type
		want []string
	}{
		{"unknown word", reflect.TypeFor[struct {
			A string `wire:"1" http:"head=X"`
		}](), []string{".A: ", `http:"head=X"`, "want header=NAME"}},
		{"empty", reflect.TypeFor[struct {
			A string `wire:"1" http:""`
		}](), []string{".A: ", "want header=NAME"}},
		{"no name", reflect.TypeFor[struct {
			A string `wire:"1" http:"header"`
		}](), []string{".A: ", "want header=NAME"}},
		{"a named entity tag", reflect.TypeFor[struct {
			A string `wire:"1" http:"etag=x"`
		}](), []string{".A: ", "want header=NAME"}},
		{"no token", reflect.TypeFor[struct {
			A string `wire:"1" http:"header=X Y"`
		}](), []string{".A: ", `"X Y" is not a header's name`}},
		{"empty cookie", reflect.TypeFor[struct {
			A string `wire:"1" http:"cookie="`
		}](), []string{".A: ", `"" is not a cookie's name`}},
		{"HTTP's header", reflect.TypeFor[struct {
			A string `wire:"1" http:"header=content-LENGTH"`
		}](), []string{".A: ", "HTTP's own"}},
		{"the cookie header", reflect.TypeFor[struct {
			A string `wire:"1" http:"header=Cookie"`
		}](), []string{".A: ", "cookie=NAME"}},
		{"trailer", reflect.TypeFor[struct {
			A string `wire:"1" http:"header=Trailer-X"`
		}](), []string{".A: ", "trailing"}},
		{"binary", reflect.TypeFor[struct {
			A []byte `wire:"1" http:"header=X-Bin"`
		}](), []string{".A: ", "binary"}},
		{"list in a header", reflect.TypeFor[struct {
			A []string `wire:"1" http:"header=X"`
		}](), []string{".A: ", "a header holds a single value, not []string"}},
		{"message in a cookie", reflect.TypeFor[struct {
			A inside `wire:"1" http:"cookie=x"`
		}](), []string{".A: ", "a cookie holds a single value"}},
		{"map in a header", reflect.TypeFor[struct {
			A map[string]string `wire:"1" http:"header=X"`
		}](), []string{".A: ", "a header holds a single value"}},
		{"query with brackets", reflect.TypeFor[struct {
			A string `wire:"1" http:"query=a[]"`
		}](), []string{".A: ", `"a[]" is not a name`}},
		{"two in a header", reflect.TypeFor[struct {
			A string `wire:"1" http:"header=X-A"`
			B string `wire:"2" http:"header=x-a"`
		}](), []string{".B: ", `http:"header=x-a"`, "field A"}},
		{"two entity tags", reflect.TypeFor[struct {
			A string `wire:"1" http:"etag"`
			B string `wire:"2" http:"etag"`
		}](), []string{".B: ", "field A"}},
		{"float entity tag", reflect.TypeFor[struct {
			A float64 `wire:"1" http:"etag"`
		}](), []string{".A: ", "not from float64"}},
		{"two in a query", reflect.TypeFor[struct {
			PageSize string `wire:"1"`
			B        string `wire:"2" http:"query=page_size"`
		}](), []string{".B: ", `"page_size" in queries`, "field PageSize"}},
		{"excluded", reflect.TypeFor[struct {
			A string `wire:"-" http:"query=a"`
		}](), []string{".A: ", "excluded"}},
		{"not exported", reflect.TypeFor[struct {
			a string `http:"query=a"`
		}](), []string{".a: ", "not exported"}},
	} {
		_, err := schema.Of(c.typ)
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q does not say %s", c.name, err, want)
			}
		}
	}
}
