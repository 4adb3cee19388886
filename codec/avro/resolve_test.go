package avro_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	hamba "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/soe"

	"github.com/everywire/everywire/codec/avro"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
	"github.com/everywire/everywire/schema/schematest"
)

// foreign is what a program in another language may have for reader.
const foreign = `{"type": "record", "name": "Reader", "namespace": "another.one", "doc": "d", "fields": [
	{"name": "unknown", "type": {"type": "array", "items": {"type": "map", "values": ["null", "double", {"type": "fixed", "name": "F", "size": 3}]}}},
	{"name": "real", "type": "int"},
	{"name": "single", "type": ["null", "long"]},
	{"name": "text", "type": {"type": "bytes", "logicalType": "x"}},
	{"name": "data", "type": "string"},
	{"name": "hash", "type": "another.one.F"},
	{"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}},
	{"name": "page_size", "type": "int"},
	{"name": "note", "type": "string"},
	{"name": "list", "type": ["null", {"type": "array", "items": ["null", "int", "string"]}]},
	{"name": "again", "type": ["null", "Reader"]},
	{"name": "at", "type": {"type": "record", "name": "Timestamp", "fields": [{"name": "nanos", "type": "int"}, {"name": "zone", "type": "string"}, {"name": "seconds", "type": "long"}]}}
]}`

type reader struct {
	_        struct{}  `wire:"name=ours.Reader"`
	Real     float64   `wire:"1"`
	Single   float32   `wire:"2"`
	Text     string    `wire:"3"`
	Data     []byte    `wire:"4"`
	Hash     []byte    `wire:"5"`
	Color    string    `wire:"6"`
	PageSize int64     `wire:"7"`
	Note     *string   `wire:"8"`
	List     []int64   `wire:"9"`
	Again    *reader   `wire:"10"`
	At       time.Time `wire:"11"`
	Missing  []string  `wire:"12"`
}

func mustNew(t *testing.T, schemas ...string) avro.Codec {
	t.Helper()
	texts := make([][]byte, len(schemas))
	for i, s := range schemas {
		texts[i] = []byte(s)
	}
	c, err := avro.New(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func textOf(t *testing.T, msg any) []byte {
	t.Helper()
	m, err := schema.For(msg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := avsc.Of(m)
	if err != nil {
		t.Fatal(err)
	}
	return s.Text()
}

// encode writes what a program with another schema and hamba/avro writes.
func encode(t *testing.T, text string, v any) []byte {
	t.Helper()
	s, err := hamba.ParseWithCache(text, "", &hamba.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := soe.NewCodec(s)
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func record(again any) map[string]any {
	return map[string]any{
		"unknown": []any{map[string]any{"a": 1.5, "b": nil}, map[string]any{"c": map[string]any{"another.one.F": [3]byte{1, 2, 3}}}},
		"real":    7, "single": int64(8), "text": []byte("text"), "data": "data", "hash": [3]byte{1, 2, 3}, "color": "GREEN", "page_size": 9,
		"note": "note", "list": map[string]any{"array": []any{1, 2}}, "again": again,
		"at": map[string]any{"nanos": 5, "zone": "UTC", "seconds": int64(6)},
	}
}

// A schema that the codec was given is resolved against that of the message.
func TestResolution(t *testing.T) {
	c := mustNew(t, foreign)
	data := encode(t, foreign, record(map[string]any{"another.one.Reader": record(nil)}))
	note := "note"
	want := reader{
		Real: 7, Single: 8, Text: "text", Data: []byte("data"), Hash: []byte{1, 2, 3}, Color: "GREEN", PageSize: 9, Note: &note,
		List: []int64{1, 2}, At: time.Unix(6, 5).UTC(),
	}
	again := want
	want.Again = &again
	for range 2 { // made once, and found then
		got := reader{Missing: []string{"is reset"}}
		if err := c.Decode(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if err := (avro.Codec{}).Decode(data, new(reader)); err == nil || !strings.Contains(err.Error(), "nor one that the codec was given by New") {
		t.Errorf("a schema that is not known: %v", err)
	}
	for n := range data {
		if err := c.Decode(data[:n], new(reader)); err == nil {
			t.Errorf("%d bytes of %d are read", n, len(data))
		}
	}
	wrong := record(nil)
	wrong["list"] = map[string]any{"array": []any{1, "no int"}}
	if err := c.Decode(encode(t, foreign, wrong), new(reader)); err == nil || !strings.Contains(err.Error(), "list[1]: the writer's string cannot be read into the Go type int64") {
		t.Errorf("a branch that does not fit: %v", err)
	}
}

// Two versions of a message read each other's bytes when each codec has the
// other's schema, as far as the types allow it.
func TestVersions(t *testing.T) {
	type v1 struct {
		_    struct{}         `wire:"name=x.Message"`
		Name string           `wire:"1"`
		Old  *schematest.Wide `wire:"2"`
		N    int32            `wire:"3"`
	}
	type v2 struct {
		_   struct{} `wire:"name=x.Message"`
		N   *int64   `wire:"3"`
		New []string `wire:"4"`
	}
	files := [2]string{string(textOf(t, new(v1))), string(textOf(t, new(v2)))}
	n := int64(5)
	old := &v1{Name: "name", N: 5, Old: &schematest.Wide{Texts: []string{"a"}, PartMap: map[string]schematest.Part{"p": {}}, Self: &schematest.Wide{}}}
	data, err := avro.Codec{}.Append(nil, old)
	if err != nil {
		t.Fatal(err)
	}
	var newer v2
	if err := mustNew(t, files[0]).Decode(data, &newer); err != nil || !reflect.DeepEqual(newer, v2{N: &n}) {
		t.Errorf("%+v, %v", newer, err)
	}
	data, err = avro.Codec{}.Append(nil, &v2{New: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	var older v1
	err = mustNew(t, files[1]).Decode(data, &older)
	if err == nil || !strings.Contains(err.Error(), "n: the writer's long cannot be read into the Go type int32") {
		t.Errorf("a long into an int32: %+v, %v", older, err)
	}
}

// A codec that has a file of several messages reads each of them.
func TestFileOfManyMessages(t *testing.T) {
	file := "[" + string(textOf(t, new(inner))) + "," + string(textOf(t, new(unsigned))) + "]"
	c := mustNew(t, file)
	data, err := c.Append(nil, &inner{N: 3})
	if err != nil {
		t.Fatal(err)
	}
	type innerLater struct {
		_ struct{} `wire:"name=avro_test.inner"`
		N int64    `wire:"1"`
	}
	var got innerLater
	if err := c.Decode(data, &got); err != nil || got.N != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	// A message of another name is another message.
	if err := c.Decode(data, new(unsigned)); err == nil || !strings.Contains(err.Error(), "the writer's record avro_test.inner cannot be read into the Go type avro_test.unsigned") {
		t.Errorf("%v", err)
	}
	if !bytes.HasPrefix(data, framed(t, new(inner), "")) {
		t.Error("a codec with schemas writes other headers")
	}
}

func TestNewErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:         "schema 1: avsc: unexpected end of JSON input",
		`"nothing"`: `there is no type "nothing"`,
		`{"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}`: "the record R is a part of itself",
	} {
		if _, err := avro.New([]byte(`"int"`), []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
