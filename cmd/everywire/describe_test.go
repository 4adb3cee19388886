package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// shop is what protoc --include_imports --include_source_info -o writes for a
// file with one service.
func shop(t *testing.T) *descriptorpb.FileDescriptorSet {
	t.Helper()
	options := &descriptorpb.MethodOptions{IdempotencyLevel: descriptorpb.MethodOptions_NO_SIDE_EFFECTS.Enum()}
	proto.SetExtension(options, annotations.E_Http, &annotations.HttpRule{Pattern: &annotations.HttpRule_Get{Get: "/goods/{name}"}})
	field := func(name string, number int32) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("shop.proto"), Package: proto.String("shop"), Syntax: proto.String("proto3"),
		Dependency:  []string{"google/api/annotations.proto"},
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Good"), Field: []*descriptorpb.FieldDescriptorProto{field("name", 1), field("maker_name", 2)}}},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Shop"), Method: []*descriptorpb.MethodDescriptorProto{
			{Name: proto.String("Find"), InputType: proto.String(".shop.Good"), OutputType: proto.String(".shop.Good"), Options: options},
			{Name: proto.String("Watch"), InputType: proto.String(".shop.Good"), OutputType: proto.String(".shop.Good"), ServerStreaming: proto.Bool(true)},
		}}},
		SourceCodeInfo: &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{
			{Path: []int32{6, 0}, Span: []int32{1, 0, 1}, LeadingComments: proto.String(" Sells things.\n")},
			{Path: []int32{6, 0, 2, 0}, Span: []int32{2, 0, 1}, LeadingComments: proto.String(" Finds a good.\n")},
			{Path: []int32{4, 0, 2, 1}, Span: []int32{3, 0, 1}, LeadingComments: proto.String(" Who made it.\n")},
		}},
	}
	return &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto),
		protodesc.ToFileDescriptorProto(annotations.File_google_api_http_proto),
		protodesc.ToFileDescriptorProto(annotations.File_google_api_annotations_proto),
		file,
	}}
}

func writeProto(t *testing.T, name string, m proto.Message) string {
	t.Helper()
	text, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func runDescribe(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = execute(t.Context(), append([]string{"describe"}, args...), strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

func TestDescribe(t *testing.T) {
	file := writeProto(t, "shop.binpb", shop(t))
	for name, c := range map[string]struct {
		args []string
		want []string // in the document
	}{
		"openapi":  {[]string{"kv"}, []string{`"openapi": "3.1.1"`, `"/kv/{key}"`, `"url": "/"`}},
		"3.0":      {[]string{"arith", "kv", "--version", "3.0", "--title", "Two", "--server", "https://api.example/v1"}, []string{`"openapi": "3.0.3"`, `"title": "Two"`, `"/sum"`, `"url": "https://api.example/v1"`}},
		"openrpc":  {[]string{"arith", "--as", "openrpc"}, []string{`"openrpc": "1.3.2"`, `"name": "sum"`}},
		"file":     {[]string{file}, []string{`"/goods/{name}"`, `"description": "Finds a good."`, `"description": "Sells things."`, `"description": "Who made it."`, `"makerName"`, `"text/event-stream"`}},
		"file rpc": {[]string{file, "--as", "openrpc"}, []string{`"name": "shop.Shop/Find"`, `"makerName"`, `"description": "Finds a good."`}},
		"both":     {[]string{file, "echo"}, []string{`"/goods/{name}"`, `"/echo"`}},
	} {
		status, stdout, stderr := runDescribe(t, c.args...)
		if status != exitOK || stderr != "" || !json.Valid([]byte(stdout)) {
			t.Errorf("%s: status %d, %s\n%s", name, status, stderr, stdout)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %s is missing in\n%s", name, want, stdout)
			}
		}
	}
}

func TestDescribeMistakes(t *testing.T) {
	set := shop(t)
	good := writeProto(t, "shop.binpb", set)
	alone := writeProto(t, "alone.binpb", &descriptorpb.FileDescriptorSet{File: set.GetFile()[3:]})
	empty := writeProto(t, "empty.binpb", &descriptorpb.FileDescriptorSet{File: set.GetFile()[:1]})
	other := writeProto(t, "other.binpb", set)
	for want, c := range map[string]struct {
		args   []string
		status int
	}{
		`there is no form "wsdl": the forms are openapi, openrpc, proto`:                   {[]string{"kv", "--as", "wsdl"}, exitUsage},
		`there is no OpenAPI version "2.0": there are 3.1, 3.0`:                            {[]string{"kv", "--version", "2.0"}, exitUsage},
		`--version and --server are for --as openapi`:                                      {[]string{"kv", "--as", "openrpc", "--version", "3.0"}, exitUsage},
		`nope: it is neither a service nor a file nor a target: the services are arith`:    {[]string{"nope"}, exitUsage},
		`the service "kv" is given twice`:                                                  {[]string{"kv", "kv"}, exitUsage},
		`describe.go: it is neither a .proto file nor a google.protobuf.FileDescriptorSet`: {[]string{"describe.go"}, exitUsage},
		`empty.binpb: it has no services`:                                                  {[]string{empty}, exitUsage},
		`alone.binpb: proto: could not resolve`:                                            {[]string{alone}, exitFailure},
		`the service shop.Shop is in ` + good + ` and in ` + other:                         {[]string{good, other}, exitUsage},
		`expected "<source> ..."`:                                                          {nil, exitUsage},
	} {
		status, stdout, stderr := runDescribe(t, c.args...)
		// The library varies its white space, so that nobody relies on its words.
		said := strings.ReplaceAll(strings.ReplaceAll(stderr, "\u00a0", " "), "  ", " ")
		if status != c.status || stdout != "" && c.args != nil || !strings.Contains(said, want) {
			t.Errorf("%v: status %d, %s, want %s", c.args, status, stderr, want)
		}
	}
}
