package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe/source"
	"github.com/everywire/everywire/wire"
)

// methods are those of the sources: built-in services first, then the others as
// they were named.
func (c *describeCmd) methods(ctx context.Context, sources []string) ([]*everywire.Method, error) {
	var builtin []string
	var all []*everywire.Method
	seen := map[string]string{} // the service's source
	for _, name := range sources {
		if isBuiltin(name) {
			builtin = append(builtin, name)
			continue
		}
		methods, err := c.methodsOf(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, m := range methods {
			if other, ok := seen[m.Service]; ok && other != name {
				return nil, usagef("the service %s is in %s and in %s", m.Service, other, name)
			}
			seen[m.Service] = name
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
func (c *describeCmd) methodsOf(ctx context.Context, name string) ([]*everywire.Method, error) {
	methods, err := c.readMethods(ctx, name)
	var mistake *source.Mistake
	if errors.As(err, &mistake) {
		return nil, usageError{err}
	}
	return methods, err
}

func (c *describeCmd) readMethods(ctx context.Context, name string) ([]*everywire.Method, error) {
	if isTarget(name) {
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		return methodsOfServer(ctx, name)
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usagef("it is neither a service nor a file nor a target: the services are %s", builtinNames())
	case err != nil:
		return nil, err
	case info.IsDir():
		return source.Folder(ctx, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(string(text), bundleMark):
		return source.Proto(ctx, unbundle(string(text)), []string{filepath.Dir(name), "."})
	case strings.HasSuffix(name, ".proto"):
		return source.Proto(ctx, map[string]string{filepath.Base(name): string(text)}, []string{filepath.Dir(name), "."})
	}
	return source.Set(text)
}

// unbundle takes a text apart that printFiles wrote.
func unbundle(text string) map[string]string {
	files := map[string]string{}
	for part := range strings.SplitSeq("\n"+text, "\n"+bundleMark) {
		if path, text, ok := strings.Cut(part, "\n"); ok && path != "" {
			files[path] = text
		}
	}
	return files
}

// methodsOfServer asks a server by gRPC's reflection what it has.
func methodsOfServer(ctx context.Context, target string) ([]*everywire.Method, error) {
	t, err := wire.ParseTarget(target)
	if err != nil {
		return nil, err
	}
	if t.Wire != "grpc" {
		return nil, usagef("servers of the wire %s cannot be asked what they have: name a target of grpc, rest or jsonrpc", t.Wire)
	}
	conn, err := wire.Dial(target)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // the call's own error is the one to tell
	server, err := source.Reflect(ctx, conn)
	if err != nil {
		return nil, err
	}
	return server.Methods()
}
