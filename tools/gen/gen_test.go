package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const hello = `syntax = "proto3";
package hello;
import "google/api/annotations.proto";
import "google/protobuf/timestamp.proto";
option go_package = "example.com/hello";
// Hello greets.
service Hello {
  rpc Greet(Name) returns (Name) { option (google.api.http) = {get: "/greet/{text}"}; }
}
// Name is a name.
message Name { string text = 1; google.protobuf.Timestamp at = 2; }
`

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func generateIn(t *testing.T, root string, check bool, want ...string) {
	t.Helper()
	stale, err := run(context.Background(), root, check)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(stale, want) {
		t.Fatalf("not current: %q, want %q", stale, want)
	}
}

func TestRun(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a/b/hello.proto", hello)
	write(t, root, "a/testdata/broken.proto", "not for us")
	both := []string{"a/b/hello.pb.go", "a/b/hello_grpc.pb.go"}

	generateIn(t, root, true, both...)
	if _, err := os.Stat(filepath.Join(root, both[0])); !os.IsNotExist(err) {
		t.Fatalf("-check wrote a file: %v", err)
	}
	generateIn(t, root, false, both...)
	generateIn(t, root, true)
	code, err := os.ReadFile(filepath.Join(root, both[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"// Name is a name.", `// source: a/b/hello.proto`, "package hello"} {
		if !strings.Contains(string(code), want) {
			t.Errorf("the generated code lacks %q", want)
		}
	}

	write(t, root, both[1], "package changed")
	write(t, root, "a/gone.pb.go", "package gone")
	stale := []string{both[1], "a/gone.pb.go"}
	slices.Sort(stale)
	generateIn(t, root, true, stale...)
	generateIn(t, root, false, stale...)
	generateIn(t, root, true)
	if _, err := os.Stat(filepath.Join(root, "a/gone.pb.go")); !os.IsNotExist(err) {
		t.Errorf("the left-over file is still there: %v", err)
	}
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"syntax":         {"syntax = \"proto3\";\nmessage {}", "bad.proto:2:9"},
		"unknown import": {"syntax = \"proto3\";\nimport \"no/such.proto\";", "no/such.proto"},
		"no go_package":  {"syntax = \"proto3\";\nmessage M {}", "bad.proto"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "bad.proto", test.text)
			_, err := run(context.Background(), root, false)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q in it", err, test.want)
			}
		})
	}
	if _, err := run(context.Background(), t.TempDir(), false); err == nil {
		t.Error("no .proto file is no error")
	}
}
