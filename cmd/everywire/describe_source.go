package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
)

// methods are those of the sources: built-in services first, then the others as
// they were named.
func (c *describeCmd) methods(ctx context.Context, sources []string) ([]*everywire.Method, error) {
	var builtin []string
	var all []*everywire.Method
	seen := map[string]string{} // the service's source
	for _, source := range sources {
		if isBuiltin(source) {
			builtin = append(builtin, source)
			continue
		}
		methods, err := c.methodsOf(ctx, source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		for _, m := range methods {
			if other, ok := seen[m.Service]; ok && other != source {
				return nil, usagef("the service %s is in %s and in %s", m.Service, other, source)
			}
			seen[m.Service] = source
		}
		all = append(all, methods...)
	}
	reg, err := registryOf(builtin, &serveCmd{})
	if err != nil {
		return nil, err
	}
	for _, m := range reg.Methods() {
		if other, ok := seen[m.Service]; ok {
			return nil, usagef("the service %s is in %s, and is built in", m.Service, other)
		}
	}
	return append(reg.Methods(), all...), nil
}

func isBuiltin(name string) bool {
	return slices.ContainsFunc(builtins, func(b builtin) bool { return b.name == name })
}

// isTarget reports whether a source is a server.
func isTarget(source string) bool { return strings.Contains(source, "://") }

// methodsOf are the methods of one source.
func (c *describeCmd) methodsOf(ctx context.Context, source string) ([]*everywire.Method, error) {
	if isTarget(source) {
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		return methodsOfServer(ctx, source)
	}
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usagef("it is neither a service nor a file nor a target: the services are %s", builtinNames())
	case err != nil:
		return nil, err
	case info.IsDir():
		return methodsOfFolder(ctx, source)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(source, ".proto") || strings.HasPrefix(string(text), bundleMark) {
		return methodsOfProto(ctx, source, text)
	}
	return methodsOfSet(text)
}

// methodsOfSet reads the services of a set of descriptors, in its order.
func methodsOfSet(text []byte) ([]*everywire.Method, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(text, &set); err != nil || len(set.GetFile()) == 0 {
		return nil, usagef("it is neither a .proto file nor a google.protobuf.FileDescriptorSet, as protoc --include_imports -o FILE makes it")
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	all := make([]protoreflect.FileDescriptor, len(set.GetFile()))
	for i, f := range set.GetFile() {
		if all[i], err = files.FindFileByPath(f.GetName()); err != nil {
			return nil, err
		}
	}
	return methodsOfFiles(all)
}

func methodsOfFiles(files []protoreflect.FileDescriptor) ([]*everywire.Method, error) {
	var methods []*everywire.Method
	for _, f := range files {
		for i := range f.Services().Len() {
			methods = append(methods, everywire.MethodsOf(f.Services().Get(i))...)
		}
	}
	if len(methods) == 0 {
		return nil, usagef("it has no services")
	}
	return methods, nil
}
