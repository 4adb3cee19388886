package avsc_test

import (
	"reflect"
	"strings"
	"testing"

	hamba "github.com/hamba/avro/v2"

	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
	"github.com/everywire/everywire/schema/schematest"
)

type point struct {
	_     struct{}    `wire:"name=geo.Point"`
	X     float64     `wire:"1" doc:"To the \"right\"."`
	Note  *string     `wire:"2"`
	Next  []*point    `wire:"3"`
	Color color       `wire:"4"`
	ByKey map[int]any `wire:"5"`
	Other *color      `wire:"6"`
}

type color struct {
	_   struct{} `wire:"name=geo.Color"`
	RGB uint32   `wire:"1" json:"rgb"`
}

func TestText(t *testing.T) {
	m, err := schema.Of(reflect.TypeFor[point]())
	if err != nil {
		t.Fatal(err)
	}
	s, err := avsc.Of(m)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"geo.Point","type":"record","fields":[` +
		`{"name":"x","doc":"To the \"right\".","type":"double","default":0},` +
		`{"name":"note","type":["null","string"],"default":null},` +
		`{"name":"next","type":{"type":"array","items":"geo.Point"},"default":[]},` +
		`{"name":"color","type":{"name":"geo.Color","type":"record","fields":[{"name":"rgb","type":"long","default":0}]},"default":{"rgb":0}},` +
		`{"name":"byKey","type":{"type":"map","values":"string"},"default":{}},` +
		`{"name":"other","type":["null","geo.Color"],"default":null}]}`
	if got := string(s.Text()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Schemas of all kinds, ours and others', are read, and their canonical form is
// the one that hamba/avro makes.
func TestParse(t *testing.T) {
	m, err := schema.Of(reflect.TypeFor[schematest.Wide]())
	if err != nil {
		t.Fatal(err)
	}
	wide, err := avsc.Of(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`"int"`, `{"type": "string"}`, `["null", "long"]`, `{"type": "array", "items": "bytes"}`,
		`{"type": "map", "values": ["null", "double", {"type": "array", "items": "float"}]}`,
		`{"type": "fixed", "name": "a.b.F", "size": 16}`, `{"type": "enum", "name": "E", "namespace": "x.y", "symbols": ["A", "B_2"], "default": "A"}`,
		`{"type": "record", "name": "R", "namespace": "x", "aliases": ["Q"], "fields": [
			{"name": "a", "type": {"type": "enum", "name": "E", "symbols": ["A"]}, "default": "A", "order": "ignore"},
			{"name": "b", "type": "E"}, {"name": "c", "type": "x.E"}, {"name": "d", "type": ["null", "R"]},
			{"name": "e", "type": {"type": "record", "name": "z.Inner", "fields": [{"name": "f", "type": {"type": "fixed", "name": "G", "size": 0}}, {"name": "g", "type": "z.G"}]}},
			{"name": "h", "type": "boolean", "doc": "yes or no", "default": true}]}`,
		`[{"type": "record", "name": "A", "fields": []}, {"type": "record", "name": "B", "fields": [{"name": "a", "type": "A"}]}]`,
		string(wide.Text()),
	} {
		s, err := avsc.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		theirs, err := hamba.ParseWithCache(text, "", &hamba.SchemaCache{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(s.Canonical()), theirs.String(); got != want {
			t.Errorf("canonical form\n%s\nwant\n%s", got, want)
		}
		again, err := avsc.Parse(s.Text())
		if err != nil || string(again.Text()) != string(s.Text()) {
			t.Errorf("written and read again: %v\n%s", err, s.Text())
		}
	}
}

// What hamba/avro does not know, or keeps in the canonical form.
func TestParseMore(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "string", "logicalType": "uuid"}`:                          `"string"`,
		`{"type": {"type": "array", "items": "bytes"}}`:                      `{"type":"array","items":"bytes"}`,
		`{"type": "error", "name": "E", "fields": []}`:                       `{"name":"E","type":"record","fields":[]}`,
		`{"type": "fixed", "name": "F", "namespace": "a", "size": 2, "x":1}`: `{"name":"a.F","type":"fixed","size":2}`,
	} {
		s, err := avsc.Parse([]byte(text))
		if err != nil || string(s.Canonical()) != want {
			t.Errorf("%s: %v, %v, want %s", text, s, err, want)
		}
	}
}

// The fingerprint of "int", as the specification's own implementation in Java
// has it in its tests.
func TestFingerprint(t *testing.T) {
	s, err := avsc.Parse([]byte(`"int"`))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Fingerprint(); got != 0x7275d51a3f395c8f {
		t.Errorf("%016x", got)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                  "unexpected end of JSON input",
		`5`:                 "5 is no type",
		`"record"`:          `there is no type "record"`,
		`{}`:                "an object has no type",
		`{"type": 5}`:       "5 is no type",
		`{"type": "array"}`: "items of a array: <nil> is no type",
		`[]`:                "a union has no branches",
		`["int", "int"]`:    "has the branch int twice",
		`["int", ["long"]]`: "a union holds another",
		`{"type": "fixed", "name": "F", "size": -1}`:                                                   "F: the size -1 is none",
		`{"type": "fixed", "name": "F", "size": 1.5}`:                                                  "F: the size 1.5 is none",
		`{"type": "fixed", "name": "0", "size": 1}`:                                                    `"0" is not a name`,
		`{"type": "enum", "name": "E"}`:                                                                "E: an enum has no symbols",
		`{"type": "enum", "name": "E", "symbols": ["A", "A"]}`:                                         "A is no symbol, or is there twice",
		`{"type": "record", "name": "R"}`:                                                              "R: a record has no fields",
		`{"type": "record", "name": "R", "fields": [5]}`:                                               `"" is no name for a field`,
		`{"type": "record", "name": "R", "fields": [{"name": "a", "type": "no"}]}`:                     `R: a: there is no type "no"`,
		`{"type": "record", "name": "R", "fields": [{"name": "a", "type": "R"}]}`:                      "the record R is a part of itself",
		`[{"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "fixed", "name": "E", "size": 1}]`: "the type E is defined twice",
		strings.Repeat("[", 600) + strings.Repeat("]", 600):                                            "nested deeper than 500 levels",
	} {
		if _, err := avsc.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// Any text is read or refused, and what is read is a schema.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "R", {"type": "enum", "name": "E", "symbols": ["A"]}], "default": null}]}`))
	f.Add([]byte(`[{"type": "map", "values": {"type": "fixed", "name": "a.F", "size": 3}}, "bytes"]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := avsc.Parse(text)
		if err != nil {
			return
		}
		again, err := avsc.Parse(s.Text())
		if err != nil {
			t.Fatalf("%v\n%s", err, s.Text())
		}
		if s.Fingerprint() != again.Fingerprint() {
			t.Fatalf("%s\n%s", s.Canonical(), again.Canonical())
		}
	})
}
