package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe/source"
	"github.com/everywire/everywire/lab/target"
	"github.com/everywire/everywire/wire"
)

// typeFlags say where the types of methods are that the command does not know.
type typeFlags struct {
	Proto         []string `type:"existingfile" sep:"none" placeholder:"FILE" help:"Take the methods' types from this .proto file instead of the server's reflection. Give it again for several."`
	ImportPath    []string `short:"I" type:"existingdir" sep:"none" placeholder:"DIR" help:"Where the imports of --proto are (default the file's own folder)."`
	DescriptorSet string   `type:"existingfile" placeholder:"FILE" help:"Take the types from a set of descriptors, as protoc --include_imports -o FILE makes it."`
}

// A finder finds methods on one target by what calls need of them: see
// docs/spec/load.md, "Methods".
type finder struct {
	flags  typeFlags
	text   string // the target's
	target wire.Target
	// known are the methods that connections must be told of.
	known *everywire.Registry
	found map[string]*target.Method
	types []*everywire.Method // of the flags, or of the server
	asked bool
}

func newFinder(text string, flags typeFlags) (*finder, error) {
	t, err := wire.ParseTarget(text)
	if err != nil {
		return nil, err
	}
	if len(flags.ImportPath) > 0 && len(flags.Proto) == 0 {
		return nil, usagef("--import-path is where --proto FILE finds what it imports: give a file")
	}
	return &finder{flags: flags, text: text, target: t, known: allBuiltins(), found: map[string]*target.Method{}}, nil
}

// find finds a method. body is the text of requests, by whose first character an
// array of params is told. It must be called before the connection is dialled that
// makes the calls.
func (f *finder) find(ctx context.Context, name, body string) (*target.Method, error) {
	key := name
	if target.IsPositional(body) {
		key += " []"
	}
	if m, ok := f.found[key]; ok {
		return m, nil
	}
	m, err := f.look(ctx, name, body)
	if err != nil {
		return nil, err
	}
	f.found[key] = m
	return m, nil
}

func (f *finder) look(ctx context.Context, name, body string) (*target.Method, error) {
	// JSON-RPC and MessagePack-RPC have names of any form.
	named := f.target.Wire == "jsonrpc" || f.target.Wire == "msgpackrpc"
	if _, _, err := everywire.SplitMethod(name); err != nil && !named {
		return nil, usageError{err}
	}
	if m, ok := f.known.Lookup("/" + strings.TrimPrefix(name, "/")); ok {
		return target.Known(m), nil
	}
	if f.typed() {
		return f.dynamic(ctx, strings.TrimPrefix(name, "/"))
	}
	if named && target.IsPositional(body) {
		return target.Positional(f.known, name), nil
	}
	return target.Untyped(name), nil
}

// typed reports whether a call needs the method's types: because they were given, or
// because protobuf cannot do without.
func (f *finder) typed() bool {
	if len(f.flags.Proto) > 0 || f.flags.DescriptorSet != "" {
		return true
	}
	codec := f.target.Options["codec"]
	switch f.target.Wire {
	case "grpc", "connect":
		return codec == "" || codec == "protobuf"
	case "rest":
		return codec == "protobuf"
	}
	return false
}

func (f *finder) dynamic(ctx context.Context, name string) (*target.Method, error) {
	if !f.asked {
		types, err := f.read(ctx)
		var mistake *source.Mistake
		switch {
		case errors.As(err, &mistake):
			return nil, usageError{err}
		case err != nil:
			return nil, err
		}
		f.types, f.asked = types, true
	}
	var names []string
	for _, m := range f.types {
		if m.FullName() == name {
			return target.Dynamic(m.Desc), nil
		}
		names = append(names, m.FullName())
	}
	if m, err := f.hidden(ctx, name); m != nil || err != nil {
		return m, err
	}
	slices.Sort(names)
	return nil, usagef("there is no method %s: there are %s", name, strings.Join(names, ", "))
}

// read reads all methods from where their types are.
func (f *finder) read(ctx context.Context) ([]*everywire.Method, error) {
	switch {
	case f.flags.DescriptorSet != "":
		text, err := os.ReadFile(f.flags.DescriptorSet)
		if err != nil {
			return nil, err
		}
		methods, err := source.Set(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.flags.DescriptorSet, err)
		}
		return methods, nil
	case len(f.flags.Proto) > 0:
		return f.readProto(ctx)
	case f.target.Wire != "grpc":
		return nil, usagef("protobuf needs the types of the method, and servers of the wire %s cannot be asked for them: give them by --proto or --descriptor-set, or use ?codec=json", f.target.Wire)
	}
	server, done, err := f.reflect(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return server.Methods()
}

// reflect asks the server, until done is called.
func (f *finder) reflect(ctx context.Context) (server *source.Server, done func(), err error) {
	conn, err := wire.Dial(f.text, wire.WithCodecs(codecs()...))
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = conn.Close() } // the call's own error is the one to tell
	if server, err = source.Reflect(ctx, conn); err != nil {
		done()
		return nil, nil, fmt.Errorf("the method's types, of the server's reflection: %w (--proto and --descriptor-set give them, ?codec=json needs none)", err)
	}
	return server, done, nil
}

// hidden finds a method of a service that lists leave out: grpc.health.v1.Health, and
// others named grpc.*. It is nil if there is none.
func (f *finder) hidden(ctx context.Context, name string) (*target.Method, error) {
	service, method, _ := strings.Cut(name, "/")
	if !strings.HasPrefix(service, "grpc.") || len(f.flags.Proto) > 0 || f.flags.DescriptorSet != "" || f.target.Wire != "grpc" {
		return nil, nil //nolint:nilnil // there is none
	}
	server, done, err := f.reflect(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	found, err := server.Service(service)
	if err != nil {
		return nil, nil //nolint:nilnil // which services there are is told then
	}
	if m := found.Methods().ByName(protoreflect.Name(method)); m != nil {
		return target.Dynamic(m), nil
	}
	return nil, nil //nolint:nilnil // there is none
}

// readProto reads .proto files, by the paths that they have below the folders of
// imports.
func (f *finder) readProto(ctx context.Context) ([]*everywire.Method, error) {
	files := map[string]string{}
	folders := f.flags.ImportPath
	for _, name := range f.flags.Proto {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		path, ok := below(f.flags.ImportPath, name)
		if !ok {
			path = filepath.Base(name)
			folders = append(folders, filepath.Dir(name))
		}
		files[path] = string(text)
	}
	methods, err := source.Proto(ctx, files, folders)
	if err != nil {
		return nil, usagef("--proto: %w", err)
	}
	return methods, nil
}

// below is a file's path below one of the folders.
func below(folders []string, name string) (string, bool) {
	for _, dir := range folders {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// callError tells a status in one line: code, message, details.
func callError(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s", target.CodeName(s.Code()), s.Message())
	for _, d := range s.Details() {
		fmt.Fprintf(&text, " [%v]", d)
	}
	return errors.New(text.String())
}
