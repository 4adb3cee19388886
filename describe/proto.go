package describe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// A File is one file of a description that needs several.
type File struct {
	// Path is where others find it, with slashes, such as google/rpc/status.proto.
	Path string
	Text []byte
}

// Proto writes methods and their messages as .proto files that protoc takes:
// one for every protobuf package of plain structs, and those that generated
// services and messages are from, each after what it imports. Files that every
// protoc has, google/protobuf/*.proto, are not among them.
//
// The files say the same as server reflection of the wire grpc, but HTTP routes
// only if o.Routes is set. Custom options whose Go package is not linked in are
// left out, and so are methods whose types are not known, which the error names.
func Proto(methods []*everywire.Method, o Options) ([]File, error) {
	set, err := schema.Files(Services(methods, o.Routes)...)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, m := range methods {
		if m.Input == nil || m.Output == nil {
			errs = append(errs, fmt.Errorf("the message types of %s are not known", m.FullName()))
		}
	}
	var files []File
	seen := map[string]bool{}
	for _, f := range slices.Concat(generatedFiles(methods), set.Derived) {
		files = protoFiles(files, f, seen)
	}
	return files, errors.Join(errs...)
}

// generatedFiles are the files of generated services.
func generatedFiles(methods []*everywire.Method) []protoreflect.FileDescriptor {
	var all []protoreflect.FileDescriptor
	for _, m := range methods {
		if m.Desc != nil {
			all = append(all, m.Desc.ParentFile())
		}
	}
	return all
}

// protoFiles adds a file behind those that it imports.
func protoFiles(files []File, f protoreflect.FileDescriptor, seen map[string]bool) []File {
	if seen[f.Path()] || strings.HasPrefix(f.Path(), "google/protobuf/") {
		return files
	}
	seen[f.Path()] = true
	imports := f.Imports()
	for i := range imports.Len() {
		if imp := imports.Get(i); !imp.IsPlaceholder() {
			files = protoFiles(files, imp.FileDescriptor, seen)
		}
	}
	p := newProtoPrinter(f)
	p.file(protodesc.ToFileDescriptorProto(f))
	return append(files, File{f.Path(), p.text})
}
