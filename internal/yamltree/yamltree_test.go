package yamltree_test

import (
	"strings"
	"testing"

	"github.com/everywire/everywire/internal/yamltree"
)

func TestErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"a: 1\n---\nb: 2\n", "line 3 column 1: this is another document: a file has one"},
		{"a: [1", "line 1 column 4: this is not YAML: sequence end token ']' not found"},
		{"x: 1\n" + strings.Repeat("[", 10_000), "line 2 column 17: the file nests more than 8 deep"},
		{"x: 1\n" + strings.Repeat("- ", 10_000), "line 2 column 17: the file nests more than 8 deep"},
		{strings.Repeat(" ", 10_000) + "a: 1", "line 1 column 130: the file nests more than 8 deep"},
	} {
		if _, err := yamltree.Parse(tc.text, 8); err == nil || err.Error() != tc.want {
			t.Errorf("%.20q: %v, want %s", tc.text, err, tc.want)
		}
	}
}

// Brackets that close do not nest; a text without a document has no root; names may
// stand twice, which readers tell.
func TestParse(t *testing.T) {
	for text, kind := range map[string]string{
		"": "nothing", "# a comment\n": "nothing", "---\n---\n": "nothing", "[" + strings.Repeat("[], ", 100) + "]": "a list",
		"a: 1\na: 2": "a mapping", "[1, [2]]": "a list", "x": "a text", "|\n  x": "a text", "7": "the number 7", "true": "true", ".nan": "a number that is none",
		"&a 1": "an anchor or an alias, which test files do not have", "!!str 1": "a tag, which test files do not have",
	} {
		root, err := yamltree.Parse(text, 8)
		if err != nil || yamltree.Kind(root, "test files") != kind {
			t.Errorf("%q: %s, %v, want %s", text, yamltree.Kind(root, "test files"), err, kind)
		}
	}
}

// Places are those of first characters, and texts as they are written.
func TestPlaces(t *testing.T) {
	const text = "# first\nname: 0x1f\nlist:\n  - 'é': {b: 1.50}\n    c: |\n      x\n"
	root, err := yamltree.Parse(text, 8)
	if err != nil {
		t.Fatal(err)
	}
	if at := yamltree.Start(root); at != (yamltree.Pos{Line: 2, Column: 1}) {
		t.Errorf("the document begins at %v", at)
	}
	members, ok := yamltree.Members(root)
	if !ok || len(members) != 2 {
		t.Fatalf("%d members", len(members))
	}
	if s, ok := yamltree.Scalar(members[0].Value); !ok || s != "0x1f" || yamltree.Start(members[0].Value) != (yamltree.Pos{Line: 2, Column: 7}) {
		t.Errorf("the value is %q at %v", s, yamltree.Start(members[0].Value))
	}
	if _, ok := yamltree.Scalar(members[1].Value); ok {
		t.Error("a list is a single value")
	}
	if _, ok := yamltree.Members(members[1].Value); ok {
		t.Error("a list is a mapping")
	}
	if at := yamltree.Start(members[1].Value); at != (yamltree.Pos{Line: 4, Column: 3}) {
		t.Errorf("the list begins at %v", at)
	}
}
