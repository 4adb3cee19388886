package scenario

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/everywire/everywire/internal/yamltree"
	"github.com/everywire/everywire/lab/data"
)

// Limits of a mix file.
const (
	MaxFile       = 256 << 10
	MaxOperations = 1000
	maxCount      = 1_000_000
)

// Read reads a mix file. Files that it names are beside it.
func Read(name string) (*File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFile {
		return nil, &data.Error{Name: name, Text: "it is larger than 256 KiB: a long body goes into a file of its own, named by bodyFile"}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	if f.Data != nil {
		f.Data.File.Text = beside(name, f.Data.File.Text)
	}
	for i := range f.Operations {
		if err := f.Operations[i].readBody(name); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// beside is a file's name as seen from the folder of another.
func beside(other, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(other), name)
}

// bodyFileMark begins the name of a body that is not yet a file's.
const bodyFileMark = "\x00file:"

func (o *Operation) readBody(mix string) error {
	if o.Body == nil {
		return nil
	}
	name, ok := strings.CutPrefix(o.Body.From.Name, bodyFileMark)
	if !ok {
		return nil
	}
	file := beside(mix, name)
	text, err := os.ReadFile(file)
	if err != nil {
		return &data.Error{Name: mix, Line: o.Body.From.Line, Column: o.Body.From.Column, Text: err.Error()}
	}
	o.Body = &Text{string(text), data.Origin{Name: file}}
	return nil
}

// Parse reads a mix file's text. It opens no other file.
func Parse(name string, text []byte) (*File, error) {
	if !utf8.Valid(text) {
		return nil, &data.Error{Name: name, Text: "it is not UTF-8"}
	}
	r := &reader{name: name}
	root, err := r.parse(string(text))
	if err != nil {
		return nil, err
	}
	all, err := r.pairs(root, "a mix file")
	if err != nil {
		return nil, err
	}
	if err := r.known(all, "a mix file", "data", "set", "headers", "operations"); err != nil {
		return nil, err
	}
	f := new(File)
	for _, p := range all {
		switch p.key {
		case "data":
			f.Data, err = r.data(p.value)
		case "set":
			f.Set, err = r.fields(p.value, "set")
		case "headers":
			f.Headers, err = r.fields(p.value, "headers")
		case "operations":
			err = r.operations(f, p.value)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(f.Operations) == 0 {
		return nil, r.badNode(root, "a mix file has operations: a list of what is called")
	}
	return f, nil
}

func (r *reader) data(n ast.Node) (*Data, error) {
	d := &Data{Order: data.Sequential}
	if _, ok := yamltree.Scalar(n); ok {
		var err error
		d.File, err = r.text(n, "data")
		return d, err
	}
	all, err := r.pairs(n, "data")
	if err != nil {
		return nil, err
	}
	if err := r.known(all, "data", "file", "order"); err != nil {
		return nil, err
	}
	for _, p := range all {
		t, err := r.text(p.value, p.key)
		if err != nil {
			return nil, err
		}
		if p.key == "file" {
			d.File = t
			continue
		}
		if d.Order = data.Order(t.Text); !slices.Contains(data.Orders(), d.Order) {
			return nil, r.badNode(p.value, "the order %q is none: it is one of %s", t.Text, orders())
		}
	}
	if d.File.Text == "" {
		return nil, r.badNode(n, "data has a file, such as users.csv")
	}
	return d, nil
}

func orders() string {
	var all []string
	for _, o := range data.Orders() {
		all = append(all, string(o))
	}
	return strings.Join(all, ", ")
}

// fields reads names with templates.
func (r *reader) fields(n ast.Node, what string) ([]Field, error) {
	all, err := r.pairs(n, what)
	if err != nil {
		return nil, err
	}
	fields := make([]Field, len(all))
	for i, p := range all {
		if p.key == "" {
			return nil, r.bad(p.at, "%s has an empty name", what)
		}
		fields[i].Name = p.key
		if fields[i].Value, err = r.text(p.value, fmt.Sprintf("%s %s", what, p.key)); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func (r *reader) operations(f *File, n ast.Node) error {
	all, err := r.list(n, "operations")
	if err != nil {
		return err
	}
	if len(all) > MaxOperations {
		return r.badNode(n, "there are %d operations: up to %d", len(all), MaxOperations)
	}
	for _, n := range all {
		o, err := r.operation(n)
		if err != nil {
			return err
		}
		if len(f.Operations) > 0 && (o.Weight > 0) != f.Weighted {
			return r.badNode(n, "either all operations have a weight, for calls in any order, or none has")
		}
		f.Weighted = o.Weight > 0
		if slices.ContainsFunc(f.Operations, func(p Operation) bool { return p.Name == o.Name }) {
			return r.badNode(n, "two operations are named %q: give one of them another name", o.Name)
		}
		f.Operations = append(f.Operations, *o)
	}
	return nil
}

func (r *reader) operation(n ast.Node) (*Operation, error) {
	const what = "an operation"
	all, err := r.pairs(n, what)
	if err != nil {
		return nil, err
	}
	if err := r.known(all, what, "name", "method", "path", "body", "bodyFile", "headers", "set", "weight", "count", "expect", "extract"); err != nil {
		return nil, err
	}
	o := &Operation{Count: 1, From: data.Origin{Name: r.name}}
	at := yamltree.Start(n)
	o.From.Line, o.From.Column = at.Line, at.Column
	seen := map[string]pair{}
	for _, p := range all {
		seen[p.key] = p
		if err := r.member(o, p); err != nil {
			return nil, err
		}
	}
	for _, two := range [][2]string{{"body", "bodyFile"}, {"weight", "count"}} {
		if _, ok := seen[two[0]]; !ok {
			continue
		}
		if p, ok := seen[two[1]]; ok {
			return nil, r.bad(p.at, "%s has %s or %s, not both", what, two[0], two[1])
		}
	}
	if o.Name = cmp.Or(o.Name, strings.TrimSpace(o.Method.Text+" "+o.Path.Text)); o.Name == "" {
		return nil, r.badNode(n, "%s has a method, which it calls, and a name if two call the same", what)
	}
	return o, nil
}

// member reads one member of an operation.
func (r *reader) member(o *Operation, p pair) (err error) {
	switch p.key {
	case "name":
		var t Text
		if t, err = r.text(p.value, "name"); err == nil && t.Text == "" {
			err = r.badNode(p.value, "the name is empty")
		}
		o.Name = t.Text
	case "method":
		o.Method, err = r.text(p.value, "method")
	case "path":
		o.Path, err = r.text(p.value, "path")
	case "body":
		o.Body, o.Scalars, err = r.body(p.value)
	case "bodyFile":
		var t Text
		if t, err = r.text(p.value, "bodyFile"); err == nil {
			t.From.Name = bodyFileMark + t.Text
			o.Body = &t
		}
	case "headers":
		o.Headers, err = r.fields(p.value, "headers")
	case "set":
		o.Set, err = r.fields(p.value, "set")
	case "weight":
		o.Weight, err = r.integer(p.value, "weight", 1, maxCount)
	case "count":
		o.Count, err = r.integer(p.value, "count", 1, maxCount)
	case "expect":
		o.Expect, err = r.expect(p.value)
	case "extract":
		o.Extract, err = r.extract(p.value)
	}
	return err
}

func (r *reader) expect(n ast.Node) (e Expect, err error) {
	all, err := r.pairs(n, "expect")
	if err != nil {
		return e, err
	}
	if err := r.known(all, "expect", "status", "json"); err != nil {
		return e, err
	}
	for _, p := range all {
		switch p.key {
		case "status":
			nodes := []ast.Node{p.value}
			if _, ok := p.value.(*ast.SequenceNode); ok {
				if nodes, err = r.list(p.value, "status"); err != nil {
					return e, err
				}
			}
			for _, n := range nodes {
				t, err := r.text(n, "status")
				if err != nil {
					return e, err
				}
				e.Status = append(e.Status, t)
			}
		case "json":
			checks, err := r.pairs(p.value, "json")
			if err != nil {
				return e, err
			}
			for _, c := range checks {
				path, err := r.path(c)
				if err != nil {
					return e, err
				}
				value, err := r.value(c.value)
				if err != nil {
					return e, err
				}
				e.JSON = append(e.JSON, Check{path, value})
			}
		}
	}
	return e, nil
}

// path reads the path that is a member's name.
func (r *reader) path(p pair) (data.Path, error) {
	return data.ParsePath(p.key, data.Origin{Name: r.name, Line: p.at.Line, Column: p.at.Column})
}

func (r *reader) extract(n ast.Node) ([]Extract, error) {
	fields, err := r.fields(n, "extract")
	if err != nil {
		return nil, err
	}
	all := make([]Extract, len(fields))
	for i, f := range fields {
		path, err := data.ParsePath(f.Value.Text, f.Value.From)
		if err != nil {
			return nil, err
		}
		all[i] = Extract{f.Name, path}
	}
	return all, nil
}
