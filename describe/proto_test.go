package describe_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/echo"
	"github.com/everywire/everywire/service/kv"
)

// compile compiles .proto files, among which imports are looked for first.
func compile(t *testing.T, files map[string]string, names ...string) []protoreflect.FileDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(files)},
			protocompile.WithStandardImports(protocompile.ResolverFunc(func(string) (protocompile.SearchResult, error) {
				return protocompile.SearchResult{}, io.EOF
			})),
		},
	}
	compiled, err := compiler.Compile(t.Context(), names...)
	if err != nil {
		for _, text := range files {
			t.Log(text)
		}
		t.Fatal(err)
	}
	all := make([]protoreflect.FileDescriptor, len(compiled))
	for i, f := range compiled {
		all[i] = f
	}
	return all
}

func texts(files []describe.File) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		all[f.Path] = string(f.Text)
	}
	return all
}

// alike compares two files but for where their comments are.
func alike(t *testing.T, want, got protoreflect.FileDescriptor) {
	t.Helper()
	protos := make([]*descriptorpb.FileDescriptorProto, 2)
	for i, f := range []protoreflect.FileDescriptor{want, got} {
		// Options that only one of the two knows look alike as bytes.
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(protodesc.ToFileDescriptorProto(f))
		if err != nil {
			t.Fatal(err)
		}
		protos[i] = new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, protos[i]); err != nil {
			t.Fatal(err)
		}
		protos[i].SourceCodeInfo = nil
	}
	if diff := cmp.Diff(protos[0], protos[1], protocmp.Transform()); diff != "" {
		t.Errorf("%s is another file now (-want +got):\n%s", want.Path(), diff)
	}
	wanted, found := comments(want), comments(got)
	if diff := cmp.Diff(wanted, found); diff != "" {
		t.Errorf("%s has other comments now (-want +got):\n%s", want.Path(), diff)
	}
}

// comments are those of what has a name.
func comments(f protoreflect.FileDescriptor) map[protoreflect.FullName]string {
	all := map[protoreflect.FullName]string{}
	var see func(d protoreflect.Descriptor)
	see = func(d protoreflect.Descriptor) {
		if text := f.SourceLocations().ByDescriptor(d).LeadingComments; text != "" {
			all[d.FullName()] = text
		}
		switch d := d.(type) {
		case protoreflect.MessageDescriptor:
			for i := range d.Fields().Len() {
				see(d.Fields().Get(i))
			}
			for i := range d.Messages().Len() {
				see(d.Messages().Get(i))
			}
		case protoreflect.ServiceDescriptor:
			for i := range d.Methods().Len() {
				see(d.Methods().Get(i))
			}
		}
	}
	for i := range f.Messages().Len() {
		see(f.Messages().Get(i))
	}
	for i := range f.Services().Len() {
		see(f.Services().Get(i))
	}
	return all
}

// What is written of plain structs says what their descriptors say.
func TestProto(t *testing.T) {
	for _, routes := range []bool{false, true} {
		reg := everywire.NewRegistry()
		arith.Register(reg)
		echo.Register(reg)
		kv.New(kv.Options{}).Register(reg)
		everywire.Handle(reg, "describe_test.Staff/List", func(_ context.Context, _ *listRequest) (*listReply, error) { return nil, nil },
			everywire.WithDoc("Lists.\n\nIn pages."), everywire.WithRoute("GET", "/staff", ""), everywire.WithRoute("PURGE", "/staff/{tenant}", "*", everywire.ResponseBody("employees")))
		everywire.Handle(reg, "describe_test.Staff/Change", func(_ context.Context, _ *changeRequest) (*employee, error) { return nil, nil })
		files, err := describe.Proto(reg.Methods(), describe.Options{Routes: routes})
		if err != nil {
			t.Fatal(err)
		}
		all := texts(files)
		if _, ok := all["google/api/annotations.proto"]; ok != routes {
			t.Errorf("routes %v: annotations.proto is there: %v", routes, ok)
		}
		set, err := schema.Files(describe.Services(reg.Methods(), routes)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range set.Derived {
			alike(t, f, compile(t, all, f.Path())[0])
		}
		if routes {
			want, err := os.ReadFile(filepath.Join("testdata", "plain.proto"))
			if got := all["everywire/describe_test.proto"]; err != nil || got != string(want) {
				t.Errorf("testdata/plain.proto: %v: %s", err, cmp.Diff(string(want), got))
			}
		}
	}
}

// Whatever .proto files can say is written as it was read.
func TestProtoOfGenerated(t *testing.T) {
	for _, name := range []string{"legacy.proto", "edition.proto"} {
		text, err := os.ReadFile(filepath.Join("testdata", "proto", name))
		if err != nil {
			t.Fatal(err)
		}
		googleapis, err := describe.Proto(methodsWithRoutes(), describe.Options{Routes: true})
		if err != nil {
			t.Fatal(err)
		}
		sources := texts(googleapis)
		sources[name] = string(text)
		want := compile(t, sources, name)[0]
		files, err := describe.Proto(everywire.MethodsOf(want.Services().Get(0)), describe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		alike(t, want, compile(t, texts(files), name)[0])
		again, err := describe.Proto(everywire.MethodsOf(want.Services().Get(0)), describe.Options{})
		if err != nil || !bytes.Equal(again[len(again)-1].Text, files[len(files)-1].Text) {
			t.Errorf("%s is written in two ways: %v", name, err)
		}
	}
}

func methodsWithRoutes() []*everywire.Method {
	reg := everywire.NewRegistry()
	arith.Register(reg)
	return reg.Methods()
}

// Methods of unknown types are left out, and named.
func TestProtoUnknownTypes(t *testing.T) {
	reg := everywire.NewRegistry()
	arith.Register(reg)
	reg.RegisterService(&grpc.ServiceDesc{ServiceName: "hand.Written", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Do"}}}, struct{}{})
	files, err := describe.Proto(reg.Methods(), describe.Options{})
	if err == nil || !strings.Contains(err.Error(), "the message types of hand.Written/Do are not known") {
		t.Errorf("error: %v", err)
	}
	if !strings.Contains(texts(files)["everywire/arith.proto"], "rpc Sum(SumRequest) returns (SumReply) {") {
		t.Errorf("files: %v", texts(files))
	}
}
