package main

import (
	"slices"
	"strings"
	"time"

	"github.com/everywire/everywire/describe"
)

type describeCmd struct {
	Sources []string      `arg:"" name:"source" help:"Built-in services, such as kv; files or folders with .proto files or descriptors; targets of servers."`
	As      string        `placeholder:"FORM" help:"The form: ${forms} (default openapi)."`
	Out     string        `placeholder:"DIR" type:"path" help:"Write the files into this folder, and not to standard output."`
	Against string        `placeholder:"OLD" help:"Name the changes since OLD, a source as above, that break old clients."`
	JSON    bool          `name:"json" help:"against: print the changes as JSON."`
	Version string        `placeholder:"3.1" help:"openapi: the version, 3.1 or 3.0 (default 3.1)."`
	Title   string        `placeholder:"TEXT" help:"openapi and openrpc: the name of the API (default the names of the services)."`
	Server  string        `placeholder:"URL" help:"openapi: what all paths are appended to (default /)."`
	Routes  bool          `help:"proto: with HTTP routes as google.api.http."`
	Timeout time.Duration `default:"10s" help:"How long a server may take to say what it has."`
}

// Help is the long help with examples.
func (*describeCmd) Help() string {
	return `Examples:

  everywire describe kv
  everywire describe arith kv --as openapi --version 3.0 --server https://api.example/v1 >api.json
  everywire describe arith --as openrpc
  everywire describe kv --as proto >kv.proto
  everywire describe kv --as proto --routes --out proto
  everywire describe grpc://localhost:9090 --as proto
  everywire describe kv --against kv.proto

  protoc --include_imports --include_source_info -o shop.binpb shop.proto
  everywire describe shop.binpb --title Shop

The document goes to standard output. A file is a .proto file, what this command wrote, or a
google.protobuf.FileDescriptorSet, as protoc -o and buf build -o write it; all of its services are described. Imports of
.proto files are looked for from the folder that was named, or else from the file's and from the current one.

A server of the wire grpc is asked by reflection. A server of rest has its document at /openapi.json and one of jsonrpc
answers rpc.discover: these are printed as they are.

With --against the exit status is 1 if a change breaks old clients. HTTP routes are compared if OLD has any.`
}

// Run writes the document, or the changes.
func (c *describeCmd) Run(a *app) error {
	chosen, err := c.form()
	if err != nil {
		return err
	}
	if done, err := c.printServers(a); done || err != nil {
		return err
	}
	methods, err := c.methods(a.ctx, c.Sources)
	if err != nil {
		return err
	}
	if c.Against != "" {
		return c.compare(a, methods)
	}
	files, err := chosen.write(methods, describe.Options{Title: c.Title, OpenAPI: c.Version, Server: c.Server, Routes: c.Routes})
	switch {
	case err != nil:
		return err
	case c.Out != "":
		return a.saveFiles(c.Out, files)
	}
	return a.printFiles(files)
}

// form checks the flags and returns the form that they ask for.
func (c *describeCmd) form() (*form, error) {
	name := c.As
	if name == "" {
		name = forms[0].name
	}
	i := slices.IndexFunc(forms, func(f form) bool { return f.name == name })
	switch {
	case i < 0:
		return nil, usagef("there is no form %q: the forms are %s", name, formNames())
	case c.Against != "" && (c.As != "" || c.Out != "" || c.Version != "" || c.Title != "" || c.Server != "" || c.Routes):
		return nil, usagef("--against prints changes, and no document: of the other flags only --json and --timeout go with it")
	case c.JSON && c.Against == "":
		return nil, usagef("--json is for --against")
	case name != "openapi" && (c.Version != "" || c.Server != ""):
		return nil, usagef("--version and --server are for --as openapi")
	case name != "proto" && c.Routes:
		return nil, usagef("--routes is for --as proto")
	case c.Version != "" && !slices.Contains(describe.OpenAPIVersions(), c.Version):
		return nil, usagef("there is no OpenAPI version %q: there are %s", c.Version, strings.Join(describe.OpenAPIVersions(), ", "))
	}
	return &forms[i], nil
}
