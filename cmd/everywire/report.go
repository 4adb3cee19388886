package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/term"

	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/report"
)

type reportCmd struct {
	File string `arg:"" help:"The record of a run: the .jsonl file that compare wrote; - reads standard input."`
	As   string `default:"text" enum:"text,html,json,csv" placeholder:"FORMAT" help:"What to make: ${enum} (default ${default})."`
	Out  string `short:"o" placeholder:"FILE" help:"Where to write it (default standard output)."`
	JSON bool   `help:"The same as --as json."`
}

// Help is the long help with examples.
func (*reportCmd) Help() string {
	return `Examples:

  everywire report everywire-report/run.jsonl
  everywire report everywire-report/run.jsonl --as html -o run.html
  everywire report everywire-report/run.jsonl --as csv | column -s, -t

A report is made from the record alone: it can be made again on another machine.`
}

// Run makes the report.
func (c *reportCmd) Run(a *app) (err error) {
	run, err := c.read(a.stdin)
	if err != nil {
		return err
	}
	as := c.As
	if c.JSON {
		as = "json"
	}
	out := a.stdout
	if c.Out != "" {
		f, createErr := os.Create(c.Out)
		if createErr != nil {
			return createErr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	switch as {
	case "html":
		return report.HTML(out, run)
	case "json":
		return report.JSON(out, run)
	case "csv":
		return report.CSV(out, run)
	default:
		return report.Text(out, run, textOptions(out))
	}
}

func (c *reportCmd) read(stdin io.Reader) (*record.Run, error) {
	if c.File == "-" {
		return record.Read(stdin)
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	run, err := record.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return run, nil
}

// textOptions fit a report to w, if that is a terminal.
func textOptions(w io.Writer) report.TextOptions {
	opts := report.TextOptions{Color: isTerminal(w)}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		opts.Columns = columns(w)
	}
	return opts
}

// isTerminal reports whether colour and progress make sense on w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && !slices.Contains([]string{"", "dumb"}, os.Getenv("TERM")) && os.Getenv("NO_COLOR") == ""
}
