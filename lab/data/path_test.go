package data

import (
	"strings"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
)

func TestPath(t *testing.T) {
	var doc everywire.Document
	if err := (json.Codec{}).Decode([]byte(`{"a":{"b":[{"c":1},{"c":"x"}]},"odd.name":[true],"n":null}`), &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{"a.b[0].c", "1"},
		{"a.b[-1].c", "x"},
		{`["odd.name"][0]`, "true"},
		{`a["b"][1]`, `{"c":"x"}`},
		{"n", "null"},
		{"a.b[2]", "! member \"b\" is a list of 2 and has no element 2"},
		{"a.x", `! member "a" has no member "x"`},
		{"x", `! the reply has no member "x"`},
		{"a[0]", `! member "a" has no element 0`},
		{"n.x", `! member "n" is neither an object nor a list`},
		{"", "! the path is empty"},
		{"a..b", "! x: line 1 column 3: a name is missing"},
		{"a[b]", `! x: line 1 column 3: "b" is neither an index nor a name`},
		{"a[0", "! the bracket does not end"},
		{"a b", "! a name is missing, or has characters"},
		{"a[0]b", "! x: line 1 column 5: a dot or a bracket"},
	} {
		p, err := ParsePath(c.path, Origin{Name: "x"})
		var found any
		if err == nil {
			found, err = p.Find(doc.Value)
		}
		if want, isError := strings.CutPrefix(c.want, "! "); isError {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", c.path, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if v, err := ValueOf(found); err != nil || v.Text != c.want {
			t.Errorf("%s: got %v %v, want %s", c.path, v, err, c.want)
		}
	}
	whole, err := ParsePath(".", Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := whole.Find(int64(41)); err != nil || v != int64(41) {
		t.Errorf("got %v, %v", v, err)
	}
}

// A value of a document is the same document again, and text that is no JSON a string.
func TestValueDocument(t *testing.T) {
	for _, doc := range []any{int64(9007199254740993), "41", "x", true, nil, 1.5} {
		v, err := ValueOf(doc)
		if err != nil || v.Document() != doc {
			t.Errorf("%v became %v and %v, %v", doc, v, v.Document(), err)
		}
	}
	for _, c := range []struct {
		v    Value
		want any
	}{{Value{Cell, "41"}, int64(41)}, {Value{Cell, "x y"}, "x y"}, {Value{String, "41"}, "41"}, {Value{Cell, `"41"`}, "41"}} {
		if got := c.v.Document(); got != c.want {
			t.Errorf("%v is %v, want %v", c.v, got, c.want)
		}
	}
}
