package describe

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/capnp"
	"github.com/everywire/everywire/codec/flatbuffers"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

func TestKVFlatBuffersIsCurrent(t *testing.T) {
	text, err := FlatBuffers(kvMethods(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkCurrent(t, "kv.fbs", text)
}

func TestKVCapnProtoIsCurrent(t *testing.T) {
	text, err := CapnProto(kvMethods(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkCurrent(t, "kv.capnp", text)
}

// runTool runs a compiler of Debian's on a file with the text.
func runTool(t *testing.T, tool, pkg, name string, text []byte, args ...string) {
	t.Helper()
	path := needs.Program(t, tool, "apt-get install "+pkg)
	dir := t.TempDir()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, append(args, file)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), "warning") {
		t.Fatalf("%s: %v\n%s\n%s", tool, err, out, text)
	}
}

// text is a struct with the name of a type of Cap'n Proto, and with fields that
// have the names of keywords.
type text struct {
	_         struct{}         `wire:"name=one.Text"`
	Struct    string           `wire:"1"`
	Union     bool             `wire:"2"`
	Table     []bool           `wire:"3"`
	Namespace map[string]bool  `wire:"4"`
	Unused7   *float32         `wire:"5" doc:"Two lines\nof text; }"`
	Void      []other          `wire:"8"`
	Group     map[bool]other   `wire:"9"`
	Using     *other           `wire:"10"`
	String    *bool            `wire:"11"`
	Enum      []*time.Time     `wire:"-"`
	Digits    map[int32][]byte `wire:"13" json:"_2x"`
}

type other struct {
	_    struct{} `wire:"name=two.Text"`
	Back *text    `wire:"1"`
	Doc  any      `wire:"2"`
}

type textGroupEntry struct {
	_    struct{} `wire:"name=one.TextGroupEntry"`
	Rest []lower  `wire:"1"`
}

type lower struct {
	_ struct{} `wire:"name=one.lower_case_"`
}

func hardMethods() []*everywire.Method {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "one.Names/A", func(_ context.Context, _ *text) (*textGroupEntry, error) { return nil, nil }, everywire.WithDoc("Says */ and\n# and }."))
	everywire.Handle(reg, "one.Names/B", func(_ context.Context, _ *schema.Document) (*schematest.Wide, error) { return nil, nil })
	everywire.Handle(reg, "other.Names/C", func(_ context.Context, _ *other) (*schema.Document, error) { return nil, nil })
	everywire.HandleServerStream(reg, "Bare/D", func(_ *lower, _ grpc.ServerStreamingServer[text]) error { return nil })
	return reg.Methods()
}

func TestFlatBuffersCompiles(t *testing.T) {
	out, err := FlatBuffers(hardMethods(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	runTool(t, "flatc", "flatbuffers-compiler", "services.fbs", out, "--cpp", "--java", "--python", "--ts", "--rust", "--csharp")
}

func TestCapnProtoCompiles(t *testing.T) {
	out, err := CapnProto(hardMethods(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	runTool(t, "capnp", "capnproto", "services.capnp", out, "compile", "-ocapnp")
	for _, want := range []string{"struct OneText @", "struct TwoText @", "void @7 :List(TwoText);", "n2x @12 :", "B takes Document and gives Wide."} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the file does not have %s:\n%s", want, out)
		}
	}
}

// What is refused is left out of the schema, as the codecs refuse it.
func TestSlotsRefuse(t *testing.T) {
	type large struct {
		A bool `wire:"4097"`
	}
	type good struct {
		A bool `wire:"4096"`
	}
	type twice struct {
		A bool `wire:"1" json:"a_b"`
		B bool `wire:"2" json:"a__b"`
	}
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "a.S/Good", func(_ context.Context, m *good) (*good, error) { return m, nil })
	everywire.Handle(reg, "a.S/Large", func(_ context.Context, _ *large) (*good, error) { return nil, nil })
	everywire.Handle(reg, "a.S/Generated", func(_ context.Context, _ *good) (*timestamppb.Timestamp, error) { return nil, nil })
	for _, c := range []struct {
		write func([]*everywire.Method, Options) ([]byte, error)
		codec everywire.PartialCodec
		has   string
	}{{FlatBuffers, flatbuffers.Codec{}, "table good {"}, {CapnProto, capnp.Codec{}, "struct Good @"}} {
		out, err := c.write(reg.Methods(), Options{})
		for _, want := range []string{
			"a.S/Large: describe.large.a: the number 4097 is above 4096",
			"a.S/Generated: google.protobuf.Timestamp is generated from a .proto file",
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %s: %v", want, err)
			}
		}
		if !strings.Contains(string(out), c.has) || strings.Contains(string(out), "Large") {
			t.Errorf("not the method that is good, and that alone:\n%s", out)
		}
		for _, m := range reg.Methods() {
			if err := c.codec.Carries(m.Input); (err != nil) != (m.Name == "Large") {
				t.Errorf("%s carries the request of %s: %v", c.codec.Name(), m.Name, err)
			}
		}
	}
	reg = everywire.NewRegistry()
	everywire.Handle(reg, "a.S/Twice", func(_ context.Context, m *twice) (*twice, error) { return m, nil })
	if _, err := CapnProto(reg.Methods(), Options{}); err == nil || !strings.Contains(err.Error(), "the fields a_b and a__b are both called aB in Cap'n Proto") {
		t.Errorf("two fields of one name: %v", err)
	}
}
