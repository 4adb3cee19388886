package describe

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	hamba "github.com/hamba/avro/v2"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema/schematest"
)

// indentedAvro is the text as the command writes it.
func indentedAvro(t *testing.T, methods []*everywire.Method) []byte {
	t.Helper()
	text, err := Avro(methods, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func TestKVAvroIsCurrent(t *testing.T) {
	checkCurrent(t, "kv.avsc", indentedAvro(t, kvMethods(t)))
}

// hamba/avro reads what we write; each message is a branch, once.
func TestAvroIsParsed(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "wide.Wides/Echo", func(_ context.Context, w *schematest.Wide) (*schematest.Wide, error) { return w, nil })
	everywire.Handle(reg, "wide.Wides/Part", func(context.Context, *schematest.Part) (*schematest.Nothing, error) { return nil, nil })
	everywire.Handle(reg, "wide.Wides/Say", func(_ context.Context, w *everywire.Document) (*everywire.Document, error) { return w, nil })
	text := indentedAvro(t, append(reg.Methods(), kvMethods(t)...))
	s, err := hamba.ParseBytesWithCache(text, "", &hamba.SchemaCache{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	names := map[string]bool{}
	for _, branch := range s.(*hamba.UnionSchema).Types() {
		if named, ok := branch.(hamba.NamedSchema); ok {
			names[named.FullName()] = true
		} else if ref, ok := branch.(*hamba.RefSchema); ok {
			names[ref.Schema().FullName()] = true
		} else {
			names[string(branch.Type())] = true
		}
	}
	for _, want := range []string{"wide.Wide", "wide.Part", "wide.Nothing", "string", "io.grpc.CreateRequest", "io.grpc.Event", "io.grpc.DeleteResponse"} {
		if !names[want] {
			t.Errorf("%s is no branch: %v", want, names)
		}
	}
}

func TestAvroErrors(t *testing.T) {
	one, same := mustDescribe(t, reflect.TypeFor[oneName]()), mustDescribe(t, reflect.TypeFor[sameName]())
	generated := mustDescribe(t, reflect.TypeFor[holdsGenerated]())
	text, err := Avro([]*everywire.Method{
		{Service: "a.S", Name: "Good", Input: one, Output: one},
		{Service: "a.S", Name: "Same", Input: one, Output: same},
		{Service: "a.S", Name: "Generated", Input: one, Output: generated},
		{Service: "a.S", Name: "Unknown", Input: one},
	}, Options{})
	for _, want := range []string{
		"a.S/Same: the Go types describe.oneName and describe.sameName both have the name a.Message",
		"a.S/Generated: describe.holdsGenerated.at: google.protobuf.Timestamp is generated",
		"the message types of a.S/Unknown are not known",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if want := `[{"name":"a.Message","type":"record","fields":[{"name":"n","type":"long","default":0}]}]`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}
