package protobuf_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/codec/protobuf/internal/widepb"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/schema/schematest"
)

// The file that the code is generated from is what describe writes of the plain
// struct, and says which Go package the code is in; of a service nothing is
// generated.
func TestGeneratedFromDescription(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "wide.Wides/Get", func(context.Context, *schematest.Wide) (*schematest.Wide, error) { return nil, nil })
	files, err := describe.Proto(reg.Methods(), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const option = "option go_package = \"github.com/everywire/everywire/codec/protobuf/internal/widepb\";\n\n"
	want := strings.Replace(string(files[0].Text), "service Wides {\n  rpc Get(Wide) returns (Wide);\n}\n\n", option, 1)
	got, err := os.ReadFile(filepath.Join("internal", "widepb", "wide.proto"))
	if err != nil || string(got) != want {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, string(got)))
	}
}

// Code that protoc-gen-go made reads what the codec writes of a plain struct, and
// writes the same bytes.
func TestGeneratedSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wide := schematest.Draw(t, 1, 1)
		text, err := protobuf.Codec{}.Append(nil, wide)
		if err != nil {
			t.Skip(err.Error()) // a document with what no google.protobuf.Value can be
		}
		generated := new(widepb.Wide)
		if err := proto.Unmarshal(text, generated); err != nil {
			t.Fatal(err)
		}
		if len(generated.ProtoReflect().GetUnknown()) > 0 {
			t.Fatal("the generated code does not know a field")
		}
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(generated)
		if err != nil || !sameBytes(generated, text, again) {
			t.Fatalf("%v: plain\n%x\ngenerated\n%x", err, text, again)
		}
		back := new(schematest.Wide)
		if err := (protobuf.Codec{}).Decode(again, back); err != nil {
			t.Fatal(err)
		}
		text2, err := protobuf.Codec{}.Append(nil, back)
		if err != nil || !sameBytes(generated, text, text2) {
			t.Fatalf("%v: the way back\n%x\nnow\n%x", err, text, text2)
		}
	})
}

// sameBytes compares two encodings of a message. Where a map, here one in a
// document, has more than one entry, they may have any order: then the bytes are
// as many.
func sameBytes(m proto.Message, a, b []byte) bool {
	ordered := true
	err := protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		last := p.Index(-1)
		if entries, ok := last.Value.Interface().(protoreflect.Map); ok && entries.Len() > 1 {
			ordered = false
		}
		return nil
	})
	return err == nil && (bytes.Equal(a, b) || !ordered && len(a) == len(b))
}
