package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
)

// A form is a kind of document that --as names.
type form struct {
	name  string
	write func([]*everywire.Method, describe.Options) ([]describe.File, error)
}

// forms are all kinds, the default first.
var forms = []form{
	{"openapi", one("openapi.json", indented(describe.OpenAPI))},
	{"openrpc", one("openrpc.json", indented(describe.OpenRPC))},
	{"proto", describe.Proto},
	{"thrift", one("services.thrift", describe.Thrift)},
	{"avro", one("services.avsc", indented(describe.Avro))},
	{"flatbuffers", one("services.fbs", describe.FlatBuffers)},
	{"capnp", one("services.capnp", describe.CapnProto)},
}

func formNames() string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// A writer makes a document that is one text.
type writer func([]*everywire.Method, describe.Options) ([]byte, error)

// one makes the only file of a form.
func one(path string, write writer) func([]*everywire.Method, describe.Options) ([]describe.File, error) {
	return func(methods []*everywire.Method, o describe.Options) ([]describe.File, error) {
		text, err := write(methods, o)
		return []describe.File{{Path: path, Text: text}}, err
	}
}

// indented is for documents in JSON.
func indented(write writer) writer {
	return func(methods []*everywire.Method, o describe.Options) ([]byte, error) {
		text, err := write(methods, o)
		if err != nil {
			return nil, err
		}
		return indentJSON(text)
	}
}

func indentJSON(text []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// bundleMark begins a line before each file of several in one text, and is a
// comment in all languages of schemas.
const bundleMark = "// file: "

// printFiles writes files to standard output. Those that the whole world has,
// in google/, are not what was asked for; of several each has its path before
// it.
func (a *app) printFiles(files []describe.File) error {
	files = slices.DeleteFunc(slices.Clone(files), func(f describe.File) bool { return strings.HasPrefix(f.Path, "google/") })
	for i, f := range files {
		text := f.Text
		if len(files) > 1 {
			mark := bundleMark + f.Path + "\n\n"
			if i > 0 {
				mark = "\n" + mark
			}
			text = append([]byte(mark), text...)
		}
		if _, err := a.stdout.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// saveFiles writes files to a folder and says which.
func (a *app) saveFiles(dir string, files []describe.File) error {
	for _, f := range files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) { // a server may have named it
			return fmt.Errorf("the file %q is not within the folder", f.Path)
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // what the user asked for is for everybody
			return err
		}
		if err := os.WriteFile(name, f.Text, 0o644); err != nil { //nolint:gosec // the same
			return err
		}
		fmt.Fprintln(a.stderr, name)
	}
	return nil
}
