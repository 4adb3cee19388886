package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/term"

	"github.com/everywire/everywire/lab/loadreport"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/report"
)

type reportCmd struct {
	File string `arg:"" help:"The record of a run: the .jsonl file that compare or load wrote; - reads standard input."`
	As   string `default:"text" enum:"text,html,json,csv,prometheus,jtl" placeholder:"FORMAT" help:"What to make: text, html, json or csv; of a load also prometheus, its text format (default ${default})."`
	Out  string `short:"o" placeholder:"FILE" help:"Where to write it (default standard output)."`
	JSON bool   `help:"The same as --as json."`
}

// Help is the long help with examples.
func (*reportCmd) Help() string {
	return `Examples:

  everywire report everywire-report/run.jsonl
  everywire report everywire-report/run.jsonl --as html -o run.html
  everywire report everywire-report/run.jsonl --as csv | column -s, -t
  everywire report load.jsonl --as prometheus -o /var/lib/node_exporter/load.prom

A report is made from the record alone: it can be made again on another machine.
A record has no single calls, which JTL has: load writes that file itself.`
}

// Run makes the report.
func (c *reportCmd) Run(a *app) (err error) {
	run, err := c.read(a.stdin)
	if err != nil {
		return err
	}
	write, err := c.writer(run)
	if err != nil {
		return err
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
	return write(out)
}

// writer is what makes the report that was asked for of such a record. It is found
// before the output is opened, so that a mistake overwrites nothing.
func (c *reportCmd) writer(run *record.Run) (func(io.Writer) error, error) {
	as := c.As
	if c.JSON {
		if as != "text" && as != "json" {
			return nil, usagef("--json and --as %s: give one of them", as)
		}
		as = "json"
	}
	if as == "jtl" {
		return nil, usagef("a record has no single calls, so no JTL can be made of it: everywire load writes that file while it runs, see everywire load --help")
	}
	if run.Header.Load != nil {
		r, err := loadreport.New(run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.File, err)
		}
		return map[string]func(io.Writer) error{
			"text": func(w io.Writer) error { return loadText(w, r) },
			"html": r.HTML, "json": r.JSON, "csv": r.CSV, "prometheus": r.Prometheus,
		}[as], nil
	}
	if as == "prometheus" {
		return nil, usagef("%s is the record of a comparison; those have text, html, json and csv", c.File)
	}
	return func(w io.Writer) error {
		switch as {
		case "html":
			return report.HTML(w, run)
		case "json":
			return report.JSON(w, run)
		case "csv":
			return report.CSV(w, run)
		default:
			return report.Text(w, run, textOptions(w))
		}
	}, nil
}

// loadText writes a load's report for people.
func loadText(w io.Writer, r *loadreport.Report) error {
	opts := textOptions(w)
	return r.Text(w, opts.Columns, opts.Color)
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
