package describe

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/internal/golden"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
	"github.com/everywire/everywire/service/kv"
)

func kvMethods(t *testing.T) []*everywire.Method {
	t.Helper()
	store := kv.New(kv.Options{})
	t.Cleanup(func() { _ = store.Close() })
	reg := everywire.NewRegistry()
	store.Register(reg)
	return reg.Methods()
}

// checkCurrent compares a schema file of kv with what we write today.
func checkCurrent(t *testing.T, name string, text []byte) {
	t.Helper()
	golden.Check(t, filepath.Join("..", "service", "kv", "schemas", name), text, false)
}

func TestKVThriftIsCurrent(t *testing.T) {
	text, err := Thrift(kvMethods(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkCurrent(t, "kv.thrift", text)
}

// compileThrift has Debian's compiler generate code of all languages that differ
// much in what they refuse.
func compileThrift(t *testing.T, text []byte) {
	t.Helper()
	thrift := needs.Program(t, "thrift", "apt-get install thrift-compiler")
	dir := t.TempDir()
	file := filepath.Join(dir, "services.thrift")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"go", "java", "py", "cpp"} {
		out, err := exec.Command(thrift, "-strict", "-o", dir, "--gen", language, file).CombinedOutput()
		if err != nil {
			t.Fatalf("thrift --gen %s: %v\n%s\n%s", language, err, out, text)
		}
		if strings.Contains(string(out), "WARNING") {
			t.Errorf("thrift --gen %s warns:\n%s", language, out)
		}
	}
}

func TestThriftCompiles(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "wide.class.Wides/Echo", func(_ context.Context, w *schematest.Wide) (*schematest.Wide, error) { return w, nil })
	everywire.Handle(reg, "wide.class.Wides/print", func(_ context.Context, w *everywire.Document) (*everywire.Document, error) { return w, nil })
	text, err := Thrift(append(reg.Methods(), kvMethods(t)...), Options{Title: "Two services"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"// Two services, as the codecs", "  // The text.\n  // It may have */ in it.\n  40: string text\n", "  91: list<Wide> selves\n",
		"struct Document {\n  1: string json // any JSON value\n}", "  Document print_(1: Document request)\n",
		"  // Scan (server streaming) takes ScanRequest and gives Entry; Thrift has no streams.\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file has no\n%s\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "namespace") {
		t.Errorf("two packages have one namespace:\n%s", text)
	}
	compileThrift(t, text)
}

// All words that Thrift's compiler refuses, as far as they can be names of ours.
func TestThriftWords(t *testing.T) {
	var fields []reflect.StructField
	for word := range thriftWords {
		if word == strings.ToLower(word) && !strings.HasPrefix(word, "_") {
			fields = append(fields, reflect.StructField{
				Name: "F" + word, Type: reflect.TypeFor[string](),
				Tag: reflect.StructTag(fmt.Sprintf(`wire:"%d" json:%q`, len(fields)+1, word)),
			})
		}
	}
	slices.SortFunc(fields, func(a, b reflect.StructField) int { return strings.Compare(a.Name, b.Name) })
	message := mustDescribe(t, reflect.StructOf(fields))
	text, err := Thrift([]*everywire.Method{{Service: "everywire.Words", Name: "Say", Input: message, Output: message}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), " delete_\n") || !strings.Contains(string(text), "namespace * everywire\n") {
		t.Error(string(text))
	}
	compileThrift(t, text)
}

type (
	oneName struct {
		_ struct{} `wire:"name=a.Message"`
		N int      `wire:"1"`
	}
	sameName struct {
		_ struct{} `wire:"name=a.Message"`
		S string   `wire:"1"`
	}
	otherPackage struct {
		_ struct{} `wire:"name=b.Message"`
		B oneName  `wire:"1"`
	}
	largeNumber struct {
		N int `wire:"32768"`
	}
	holdsGenerated struct {
		At *timestamppb.Timestamp `wire:"1"`
	}
)

// What an encoding cannot carry is left out and named; the rest is described.
func TestThriftErrors(t *testing.T) {
	one, same, other := mustDescribe(t, reflect.TypeFor[oneName]()), mustDescribe(t, reflect.TypeFor[sameName]()), mustDescribe(t, reflect.TypeFor[otherPackage]())
	large, generated := mustDescribe(t, reflect.TypeFor[largeNumber]()), mustDescribe(t, reflect.TypeFor[holdsGenerated]())
	text, err := Thrift([]*everywire.Method{
		{Service: "a.S", Name: "Good", Input: one, Output: other},
		{Service: "a.S", Name: "Same", Input: one, Output: same},
		{Service: "a.S", Name: "Large", Input: large, Output: one},
		{Service: "a.S", Name: "Generated", Input: one, Output: generated},
		{Service: "a.S", Name: "Unknown", Input: one},
	}, Options{})
	for _, want := range []string{
		"a.S/Same: the Go types describe.oneName and describe.sameName both have the name a.Message",
		"a.S/Large: describe.largeNumber.n: the number 32768 is above 32767",
		"a.S/Generated: describe.holdsGenerated.at: google.protobuf.Timestamp is generated",
		"the message types of a.S/Unknown are not known",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	// Two packages have a message of one name, which Thrift cannot tell apart.
	if !strings.Contains(string(text), "  b_Message Good(1: a_Message request)\n}") || strings.Contains(string(text), "Large") {
		t.Error(string(text))
	}
	compileThrift(t, text)
}

func mustDescribe(t *testing.T, typ reflect.Type) *schema.Message {
	t.Helper()
	m, err := schema.Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
