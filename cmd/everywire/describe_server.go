package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/wire"
)

// documentRequest asks a server for its own document.
type documentRequest struct {
	Version string `wire:"1"`
}

// getDocument is what such servers do not call it.
const getDocument = "everywire.Describe/Document"

// documents says how servers of a wire are asked, and for which form.
func documents() (reg *everywire.Registry, forms map[string]string) {
	reg = everywire.NewRegistry()
	everywire.Handle(reg, getDocument,
		func(context.Context, *documentRequest) (*everywire.Document, error) {
			return &everywire.Document{}, nil
		}, // never runs here
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", "/openapi.json", ""),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "rpc.discover"}))
	return reg, map[string]string{"rest": "openapi", "jsonrpc": "openrpc"}
}

// printServers prints a server's own document, if it is such a server that the
// command is about.
func (c *describeCmd) printServers(a *app) (done bool, err error) {
	reg, forms := documents()
	for _, source := range append(slices.Clone(c.Sources), c.Against) {
		if !isTarget(source) {
			continue
		}
		t, err := wire.ParseTarget(source)
		if err != nil {
			return true, err
		}
		form, ok := forms[t.Wire]
		switch {
		case !ok:
			continue
		case c.Against != "":
			return true, usagef("%s: its document has no field numbers to compare: name a target of the wire grpc", source)
		case len(c.Sources) > 1 || c.Title != "" || c.Server != "":
			return true, usagef("%s: a server's own document is printed as it is, and alone", source)
		case c.As != "" && c.As != form:
			return true, usagef("%s: servers of the wire %s have --as %s only", source, t.Wire, form)
		}
		return true, c.printDocument(a, reg, source, form)
	}
	return false, nil
}

func (c *describeCmd) printDocument(a *app, reg *everywire.Registry, target, form string) error {
	conn, err := wire.Dial(target, wire.WithMethods(reg))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the call's own error is the one to tell
	ctx, cancel := context.WithTimeout(a.ctx, c.Timeout)
	defer cancel()
	doc, err := everywire.Call[everywire.Document](ctx, conn, getDocument, &documentRequest{Version: c.Version})
	if err != nil {
		return callError(err)
	}
	text, err := json.Codec{}.Append(nil, doc)
	if err != nil {
		return err
	}
	if text, err = indentJSON(text); err != nil {
		return err
	}
	files := []describe.File{{Path: form + ".json", Text: text}}
	if c.Out != "" {
		return a.saveFiles(c.Out, files)
	}
	return a.printFiles(files)
}

// methodsOfServer asks a server by gRPC's reflection what it has. The services
// that every gRPC server may have, grpc.*, are left out.
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
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, callError(err)
	}
	r := &reflected{stream: stream, files: map[string]*descriptorpb.FileDescriptorProto{}, set: new(protoregistry.Files)}
	names, err := r.services()
	if err != nil {
		return nil, err
	}
	var methods []*everywire.Method
	for _, name := range names {
		if strings.HasPrefix(name, "grpc.") {
			continue
		}
		service, err := r.service(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		methods = append(methods, everywire.MethodsOf(service)...)
	}
	return methods, nil
}

// reflected builds descriptors out of what a server's reflection sends.
type reflected struct {
	stream grpc.BidiStreamingClient[reflectionpb.ServerReflectionRequest, reflectionpb.ServerReflectionResponse]
	files  map[string]*descriptorpb.FileDescriptorProto // what came
	set    *protoregistry.Files                         // what is built
}

func (r *reflected) ask(request *reflectionpb.ServerReflectionRequest) (*reflectionpb.ServerReflectionResponse, error) {
	if err := r.stream.Send(request); err != nil {
		_, err = r.stream.Recv() // why it ended
		return nil, callError(err)
	}
	reply, err := r.stream.Recv()
	if err != nil {
		return nil, callError(err)
	}
	if e := reply.GetErrorResponse(); e != nil {
		return nil, fmt.Errorf("the server's reflection says: %s", e.GetErrorMessage())
	}
	for _, text := range reply.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, f); err != nil {
			return nil, fmt.Errorf("the server's reflection sent what is no file: %w", err)
		}
		r.files[f.GetName()] = f
	}
	return reply, nil
}

func (r *reflected) services() ([]string, error) {
	reply, err := r.ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range reply.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	return names, nil
}

func (r *reflected) service(name string) (protoreflect.ServiceDescriptor, error) {
	reply, err := r.ask(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
	})
	if err != nil {
		return nil, err
	}
	for _, text := range reply.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, f); err != nil {
			return nil, err
		}
		if err := r.build(f.GetName(), nil); err != nil {
			return nil, err
		}
	}
	d, err := r.set.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	service, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("the server lists it as a service, which it is not")
	}
	return service, nil
}

// build builds a file behind those that it imports, which it asks for where
// they have not come with it.
func (r *reflected) build(path string, via []string) error {
	if _, err := r.set.FindFileByPath(path); err == nil {
		return nil
	}
	if slices.Contains(via, path) {
		return fmt.Errorf("the files %s import each other", strings.Join(append(via, path), ", "))
	}
	f := r.files[path]
	if f == nil {
		_, err := r.ask(&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_FileByFilename{FileByFilename: path},
		})
		if err != nil {
			return err
		}
		if f = r.files[path]; f == nil {
			return fmt.Errorf("the server's reflection does not have %s", path)
		}
	}
	for _, dependency := range f.GetDependency() {
		if err := r.build(dependency, append(via, path)); err != nil {
			return err
		}
	}
	made, err := protodesc.NewFile(f, r.set)
	if err != nil {
		return err
	}
	return r.set.RegisterFile(made)
}
