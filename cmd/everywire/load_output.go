package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/everywire/everywire/lab/loadreport"
	"github.com/everywire/everywire/lab/record"
)

// loadOutput says what is made of the result.
type loadOutput struct {
	Fail     []string `placeholder:"THRESHOLD" sep:"none" help:"End with status 99 if this is so: p99>20ms, errors>1%, rate<1000. Repeat it for more."`
	As       string   `default:"table" enum:"table,text,html,json,csv,jtl,prometheus" placeholder:"FORM" help:"What standard output gets: table (the default), html, json, csv, prometheus, or jtl, JMeter's line for each call."`
	JSON     bool     `help:"The same as --as json."`
	Out      []string `short:"o" sep:"none" type:"path" placeholder:"PATH" help:"Where results go: a folder gets run.jsonl, the record, and report.html; the suffix of a file says what it gets: .jsonl, .html, .json, .csv, .jtl, .prom, .txt. Repeat it for more. everywire report makes all but .jtl of the record again."`
	Quiet    bool     `short:"q" help:"Do not tell how the load goes."`
	Progress string   `default:"auto" enum:"auto,plain,none" placeholder:"WHEN" help:"How to tell on standard error how the load goes: auto, a live line on a terminal (the default), plain, a line each ten seconds, or none."`
}

// The forms of results.
const (
	formRecord = "record"
	formText   = "table"
	formJTL    = "jtl"
)

// formsBySuffix are what files get.
var formsBySuffix = map[string]string{
	".jsonl": formRecord, ".html": "html", ".json": "json", ".csv": "csv", ".jtl": formJTL, ".prom": "prometheus", ".txt": formText,
}

// outputs are where results go.
type outputs struct {
	stdout string // the form that it gets
	files  []*outFile
	// calls is where JTL goes, nil if nobody wants it.
	calls io.Writer
	flush func() error // of calls

	// The record is kept, too: the report is made of it as everywire report would make it.
	kept   bytes.Buffer
	record *record.Writer
}

// An outFile is written beside its place and moved there when it is whole, but for the
// record and JTL, which are written as the load goes.
type outFile struct {
	name, form string
	file       *os.File
	done       bool
}

func (f *outFile) grows() bool { return f.form == formRecord || f.form == formJTL }

// outputs opens all files, so that a load is not made in vain.
func (c *loadCmd) outputs(a *app) (_ *outputs, err error) {
	o := &outputs{stdout: c.As}
	if c.JSON {
		if c.As != formText && c.As != "text" && c.As != "json" {
			return nil, usagef("--json and --as %s: give one of them", c.As)
		}
		o.stdout = "json"
	}
	if o.stdout == "text" { // as everywire report calls it
		o.stdout = formText
	}
	for _, path := range c.Out {
		if err := o.add(path); err != nil {
			return nil, err
		}
	}
	// What a file gets need not be printed, too.
	if slices.ContainsFunc(o.files, func(f *outFile) bool { return f.form == o.stdout }) {
		o.stdout = formText
	}
	defer func() {
		if err != nil {
			o.discard()
		}
	}()
	var calls []io.Writer
	if o.stdout == formJTL {
		calls = append(calls, a.stdout)
	}
	for _, f := range o.files {
		if err := f.open(); err != nil {
			return nil, fmt.Errorf("cannot write the result: %w", err)
		}
		if f.form == formJTL {
			calls = append(calls, f.file)
		}
	}
	if len(calls) > 0 {
		buffered := bufio.NewWriter(io.MultiWriter(calls...))
		o.calls, o.flush = buffered, buffered.Flush
	}
	return o, nil
}

// add adds a file or a folder.
func (o *outputs) add(path string) error {
	info, err := os.Stat(path)
	isFolder := err == nil && info.IsDir()
	suffix := strings.ToLower(filepath.Ext(path))
	if !isFolder && suffix != "" {
		form, ok := formsBySuffix[suffix]
		if !ok {
			return usagef("--out %s: the suffix %s says no form of results: it is .jsonl (the record), .html, .json, .csv, .jtl, .prom or .txt; without one it is a folder", display(path), suffix)
		}
		if slices.ContainsFunc(o.files, func(f *outFile) bool { return f.name == path }) {
			return usagef("--out %s is given twice", display(path))
		}
		o.files = append(o.files, &outFile{name: path, form: form})
		return nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return errors.Join(o.add(filepath.Join(path, "run.jsonl")), o.add(filepath.Join(path, "report.html")))
}

func (f *outFile) open() (err error) {
	if f.grows() {
		f.file, err = os.Create(f.name)
		return err
	}
	f.file, err = os.CreateTemp(filepath.Dir(f.name), "."+filepath.Base(f.name)+".*")
	return err
}

// close closes a file that is whole.
func (f *outFile) close() error {
	f.done = true
	if f.grows() {
		return f.file.Close()
	}
	const readable = 0o644 // temporary files are the owner's alone
	return errors.Join(f.file.Chmod(readable), f.file.Close(), os.Rename(f.file.Name(), f.name))
}

// discard removes what is not whole, and leaves what grew as it is.
func (o *outputs) discard() {
	for _, f := range o.files {
		if f.file == nil || f.done {
			continue
		}
		_ = f.file.Close() // the load has failed, and this is no news then
		if !f.grows() {
			_ = os.Remove(f.file.Name())
		}
	}
}

// begin writes the record's header.
func (o *outputs) begin(h record.Header) (err error) {
	all := []io.Writer{&o.kept}
	for _, f := range o.files {
		if f.form == formRecord {
			all = append(all, f.file)
		}
	}
	o.record, err = record.NewWriter(io.MultiWriter(all...), h)
	return err
}

// end writes the rest of the record, and makes the report of it.
func (o *outputs) end(t *record.Trial, end record.End) (*loadreport.Report, error) {
	if err := errors.Join(o.record.Trial(*t), o.record.End(end)); err != nil {
		return nil, err
	}
	read, err := record.Read(&o.kept)
	if err != nil {
		return nil, err
	}
	return loadreport.New(read)
}

// printsText reports whether people read standard output.
func (o *outputs) printsText() bool { return o.stdout == formText }

// report writes all results.
func (o *outputs) report(a *app, r *loadreport.Report) error {
	if o.flush != nil {
		if err := o.flush(); err != nil {
			return err
		}
	}
	var errs []error
	for _, f := range o.files {
		if !f.grows() {
			if err := writeLoad(f.file, r, f.form); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		errs = append(errs, f.close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	if o.stdout == formJTL {
		return nil // it is there already
	}
	if err := writeLoad(a.stdout, r, o.stdout); err != nil {
		return err
	}
	if !o.printsText() || len(o.files) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	for _, f := range o.files {
		name := map[string]string{formRecord: "Record", formJTL: "Calls"}[f.form]
		fmt.Fprintf(a.stdout, "%s: %s\n", cmp.Or(name, "Report"), display(f.name))
	}
	return nil
}

// writeLoad writes a report in one of its forms.
func writeLoad(w io.Writer, r *loadreport.Report, form string) error {
	switch form {
	case "html":
		return r.HTML(w)
	case "json":
		return r.JSON(w)
	case "csv":
		return r.CSV(w)
	case "prometheus":
		return r.Prometheus(w)
	}
	return loadText(w, r)
}
