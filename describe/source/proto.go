package source

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
)

// Folder reads the .proto files of a folder, which is where their imports begin.
func Folder(ctx context.Context, dir string) ([]*everywire.Method, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".proto") {
			name, relErr := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
			return relErr
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, mistake("the folder has no .proto files")
	}
	return compile(ctx, &protocompile.SourceResolver{ImportPaths: []string{dir}}, names)
}

// Proto reads .proto files, by the paths that they have for those that import them.
// What they import is in one of the folders, or among them.
func Proto(ctx context.Context, files map[string]string, folders []string) ([]*everywire.Method, error) {
	return compile(ctx, protocompile.CompositeResolver{
		&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(files)},
		&protocompile.SourceResolver{ImportPaths: folders},
	}, slices.Sorted(maps.Keys(files)))
}

// compile compiles .proto files and returns the methods of their services.
// What protoc brings, and google/api/*.proto, need not be there.
func compile(ctx context.Context, resolver protocompile.Resolver, names []string) ([]*everywire.Method, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{resolver, protocompile.ResolverFunc(linkedIn)},
		// Comments are part of a description.
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, err
	}
	// Options that are linked in, such as google.api.http, have the types of
	// this program in descriptors that it builds.
	set := new(protoregistry.Files)
	all := make([]protoreflect.FileDescriptor, len(compiled))
	for i, f := range compiled {
		if all[i], err = rebuild(set, f); err != nil {
			return nil, err
		}
	}
	return methodsOf(all)
}

// linkedIn finds files in this program, such as google/protobuf/timestamp.proto.
func linkedIn(path string) (protocompile.SearchResult, error) {
	f, err := protoregistry.GlobalFiles.FindFileByPath(path)
	if err != nil || !strings.HasPrefix(path, "google/") {
		return protocompile.SearchResult{}, fs.ErrNotExist
	}
	return protocompile.SearchResult{Desc: f}, nil
}

// rebuild makes a file, and those that it imports, out of its descriptor.
func rebuild(set *protoregistry.Files, f protoreflect.FileDescriptor) (protoreflect.FileDescriptor, error) {
	if done, err := set.FindFileByPath(f.Path()); err == nil {
		return done, nil
	}
	imports := f.Imports()
	for i := range imports.Len() {
		if _, err := rebuild(set, imports.Get(i).FileDescriptor); err != nil {
			return nil, err
		}
	}
	text, err := proto.Marshal(protodesc.ToFileDescriptorProto(f))
	if err != nil {
		return nil, err
	}
	fd := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(text, fd); err != nil {
		return nil, err
	}
	made, err := protodesc.NewFile(fd, set)
	if err != nil {
		return nil, err
	}
	return made, set.RegisterFile(made)
}
