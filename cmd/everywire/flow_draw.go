package main

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/everywire/everywire/flow/draw"
)

type flowDrawCmd struct {
	File string   `arg:"" help:"A flow file (YAML), or an app of Flogo (JSON)."`
	Flow []string `placeholder:"NAME" help:"Draw this flow alone. Repeat it for more."`
	Out  string   `short:"o" placeholder:"FILE" help:"Where the picture goes (default standard output)."`

	Set []string `placeholder:"NAME=VALUE" sep:"none" help:"Give a setting of the file another value. Repeat it for more."`
}

// Help is the long help with examples.
func (*flowDrawCmd) Help() string {
	return `Examples:

  everywire flow draw examples/flow/hello-server.yaml -o hello-server.svg
  everywire flow draw examples/flow/hello-client.yaml --set name=Ada >hello-client.svg
  everywire flow draw orders.yaml --flow order -o order.svg

Triggers are at the top, steps below. The picture suits light and dark pages, and has no scripts. A file
with errors is not drawn: everywire flow check tells them. docs/spec/flow-draw.md tells the shapes.`
}

// Run draws.
func (c *flowDrawCmd) Run(a *app) error {
	if f, ok := a.stdout.(*os.File); ok && c.Out == "" && term.IsTerminal(int(f.Fd())) {
		return usagef("a picture is nothing for a terminal: name a file by -o FILE, or send it on by | or >")
	}
	files := flowFiles{Files: []string{c.File}, Set: c.Set}
	read, errs, err := files.read(a.ctx)
	if err != nil {
		return err
	}
	if len(errs) > 0 {
		fmt.Fprint(a.stderr, errs.Detail())
		return fmt.Errorf("%s", counted(len(errs), files.Files))
	}
	picture, err := draw.SVG(read[0], c.Flow...)
	if err != nil {
		return usagef("%w", err)
	}
	if c.Out == "" {
		_, err = a.stdout.Write(picture)
		return err
	}
	if err := os.WriteFile(c.Out, picture, 0o644); err != nil { //nolint:gosec // a picture is for everybody
		return err
	}
	fmt.Fprintf(a.stderr, "drawn: %s\n", c.Out)
	return nil
}
