package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/describe/source"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/flogo"
)

// parseFlow reads a flow file, or an app of Flogo.
func parseFlow(ctx context.Context, name string, text []byte, set []flow.Assignment) (*flow.File, error) {
	if flogo.Is(name, text) {
		return flogo.Read(name, text, flogoOptions(ctx, name, set))
	}
	return flow.Parse(name, text, set...)
}

// flogoOptions find .proto files beside the app.
func flogoOptions(ctx context.Context, app string, set []flow.Assignment) flogo.Options {
	return flogo.Options{Set: set, Proto: func(name string) ([]protoreflect.ServiceDescriptor, error) {
		return protoServices(ctx, filepath.Join(filepath.Dir(app), name+".proto"))
	}}
}

// protoServices are the services of a .proto file.
func protoServices(ctx context.Context, file string) ([]protoreflect.ServiceDescriptor, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user's app names it
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	methods, err := source.Proto(ctx, map[string]string{filepath.Base(file): string(text)}, []string{filepath.Dir(file), "."})
	if err != nil {
		return nil, err
	}
	var services []protoreflect.ServiceDescriptor
	for _, m := range methods {
		if s, ok := m.Desc.Parent().(protoreflect.ServiceDescriptor); ok && !slices.Contains(services, s) {
			services = append(services, s)
		}
	}
	return services, nil
}

type flowConvertCmd struct {
	App string `arg:"" help:"An app of Flogo (JSON)."`
}

// Help is the long help with examples.
func (*flowConvertCmd) Help() string {
	return `Examples:

  everywire flow convert hello-server.json >hello-server.yaml

Apps of Flogo are run and checked as they are; this shows what they become. The .proto files that an app
names are looked for beside it. What is not read is told with its place, and nothing is printed: the
exit status is then 1. docs/spec/flow-flogo.md tells what is read.`
}

// Run prints the flow file.
func (c *flowConvertCmd) Run(a *app) error {
	text, err := readFlowFile(c.App)
	if err != nil {
		return err
	}
	if !flogo.Is(c.App, text) {
		return usagef("%s is no app of Flogo: it has no \"type\": \"flogo:app\"", c.App)
	}
	made, err := flogo.Convert(c.App, text, flogoOptions(a.ctx, c.App, nil))
	if errs := asErrors(err); len(errs) > 0 {
		fmt.Fprint(a.stderr, errs.Detail())
		return fmt.Errorf("%s", counted(len(errs), []string{c.App}))
	}
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(made)
	return err
}
