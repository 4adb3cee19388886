package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
)

type describeCmd struct {
	Services []string `arg:"" name:"service" help:"Built-in services, such as kv, or files with protobuf descriptors."`
	As       string   `default:"openapi" placeholder:"FORMAT" help:"The kind of document: openapi or openrpc (default openapi)."`
	Version  string   `placeholder:"3.1" help:"The version of OpenAPI: 3.1 or 3.0 (default 3.1)."`
	Title    string   `placeholder:"TEXT" help:"The name of the API (default the names of the services)."`
	Server   string   `placeholder:"URL" help:"openapi: what all paths are appended to (default /)."`
}

// Help is the long help with examples.
func (*describeCmd) Help() string {
	return `Examples:

  everywire describe kv
  everywire describe arith kv --as openapi --version 3.0 --server https://api.example/v1 >api.json
  everywire describe arith --as openrpc

  protoc --include_imports --include_source_info -o shop.binpb shop.proto
  everywire describe shop.binpb --title Shop

The document is JSON on standard output. A file is a google.protobuf.FileDescriptorSet, as protoc -o and buf build -o
write it; all of its services are described. A server of the wire rest has the same document of itself at
/openapi.json, and a server of jsonrpc answers rpc.discover with it.`
}

// formats are the documents that --as names.
var formats = []string{"openapi", "openrpc"}

// Run writes the document.
func (c *describeCmd) Run(a *app) error {
	switch {
	case !slices.Contains(formats, c.As):
		return usagef("there is no format %q: the formats are %s", c.As, strings.Join(formats, ", "))
	case c.As != "openapi" && (c.Version != "" || c.Server != ""):
		return usagef("--version and --server are for --as openapi")
	case c.Version != "" && !slices.Contains(describe.OpenAPIVersions(), c.Version):
		return usagef("there is no OpenAPI version %q: there are %s", c.Version, strings.Join(describe.OpenAPIVersions(), ", "))
	}
	methods, err := c.methods()
	if err != nil {
		return err
	}
	options := describe.Options{Title: c.Title, OpenAPI: c.Version, Server: c.Server}
	document := describe.OpenAPI
	if c.As == "openrpc" {
		document = describe.OpenRPC
	}
	text, err := document(methods, options)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, &indented)
	return err
}

// methods are those of the services and files that were named.
func (c *describeCmd) methods() ([]*everywire.Method, error) {
	var services []string
	var all []*everywire.Method
	seen := map[string]string{} // the service's argument
	for _, name := range c.Services {
		if slices.ContainsFunc(builtins, func(b builtin) bool { return b.name == name }) {
			services = append(services, name)
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return nil, usagef("%q is neither a service nor a file: the services are %s", name, builtinNames())
		}
		methods, err := methodsOfFile(name)
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
	reg, err := registryOf(services, &serveCmd{})
	if err != nil {
		return nil, err
	}
	return append(reg.Methods(), all...), nil
}

// methodsOfFile reads the services of a set of descriptors, in the file's order.
func methodsOfFile(name string) ([]*everywire.Method, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(text, &set); err != nil || len(set.GetFile()) == 0 {
		return nil, usagef("it is no google.protobuf.FileDescriptorSet: make one by protoc --include_imports -o FILE")
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	var methods []*everywire.Method
	for _, f := range set.GetFile() {
		d, err := files.FindFileByPath(f.GetName())
		if err != nil {
			return nil, err
		}
		methods = append(methods, methodsOfServices(d.Services())...)
	}
	if len(methods) == 0 {
		return nil, usagef("it has no services")
	}
	return methods, nil
}

func methodsOfServices(services protoreflect.ServiceDescriptors) []*everywire.Method {
	var methods []*everywire.Method
	for i := range services.Len() {
		methods = append(methods, everywire.MethodsOf(services.Get(i))...)
	}
	return methods
}
