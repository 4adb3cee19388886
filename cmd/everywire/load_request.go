package main

import (
	"cmp"
	stdjson "encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/data"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/scenario"
	"github.com/everywire/everywire/lab/target"
)

// loadRequest says what is sent, and what the right answer is.
type loadRequest struct {
	Body       *string       `short:"b" placeholder:"TEXT" help:"The request, a template: JSON of a method; of a URL anything. @FILE reads it from a file, - from standard input."`
	Header     []string      `short:"H" aliases:"meta" placeholder:"KEY:VALUE" sep:"none" help:"A header, or metadata, to send; the value is a template. Repeat it for more. --meta is the same."`
	Data       string        `type:"existingfile" placeholder:"FILE" help:"Rows whose columns templates take: .csv with a head, or .jsonl, one object a line."`
	Order      string        `enum:"sequential,random,unique," default:"" placeholder:"ORDER" help:"Which row comes next: sequential (the default), random, or unique, so that no two callers share one."`
	Set        []string      `sep:"none" placeholder:"NAME=VALUE" help:"A variable that gets its value, a template, before each call: id={{uuid}} makes {{id}} the same wherever the request has it. Repeat it for more."`
	Mix        string        `type:"existingfile" placeholder:"FILE" help:"Call the operations of this YAML file, by weights or as sessions, in place of one METHOD (docs/spec/load.md)."`
	Expect     []string      `placeholder:"STATUS" help:"The statuses of right replies: 200, 2xx, 404 of a URL (default 2xx), OK, NOT_FOUND of methods (default OK)."`
	ExpectJSON []string      `name:"expect-json" sep:"none" placeholder:"PATH=VALUE" help:"A value that right replies have: result=41, items[0].name=Ada. Repeat it for more."`
	Timeout    time.Duration `default:"10s" help:"How long a call may take, 0 for any time (default ${default}); methods' servers are told."`
	MaxSize    byteSize      `name:"max-message" default:"4MiB" placeholder:"SIZE" help:"The largest message or body taken (default ${default})."`
}

// work compiles what is called.
func (c *loadCmd) work(a *app, to *endpoint, p *plan.Plan) (*target.Work, error) {
	f, err := c.scenario(a, to)
	if err != nil {
		return nil, err
	}
	options := target.Options{HTTP: to.http, URL: c.Target, Callers: p.Callers[0]}
	var findErr error
	options.Methods = func(name, body string) (*target.Method, error) {
		ctx, cancel := bounded(a.ctx)
		defer cancel()
		m, err := to.find(ctx, name, body)
		findErr = err
		return m, err
	}
	w, err := target.New(f, options)
	switch {
	case a.ctx.Err() != nil:
		return nil, errInterrupted
	case findErr != nil:
		return nil, findErr
	case err != nil:
		return nil, usageError{err}
	}
	return w, nil
}

// scenario is what callers do, as the flags or a file say.
func (c *loadCmd) scenario(a *app, to *endpoint) (*scenario.File, error) {
	if c.Order != "" && c.Data == "" {
		return nil, usagef("--order says in which order rows are taken: give the rows by --data (a mix file has its own data and order)")
	}
	f := new(scenario.File)
	if c.Mix != "" {
		if c.Method != "" || c.Body != nil || len(c.Expect) > 0 || len(c.ExpectJSON) > 0 {
			return nil, usagef("the operations of --mix have methods, bodies and expectations of their own: leave out METHOD, --body, --expect and --expect-json")
		}
		var err error
		if f, err = scenario.Read(display(c.Mix)); err != nil {
			return nil, usageError{err}
		}
	} else {
		op, err := c.operation(a, to)
		if err != nil {
			return nil, err
		}
		f.Operations = []scenario.Operation{*op}
	}
	if c.Data != "" {
		order := data.Order(cmp.Or(c.Order, string(data.Sequential)))
		f.Data = &scenario.Data{File: scenario.Text{Text: display(c.Data), From: data.Origin{Name: "--data"}}, Order: order}
	}
	variables, err := c.variables()
	if err != nil {
		return nil, err
	}
	f.Set = append(f.Set, variables...)
	headers, err := c.headers()
	f.Headers = append(f.Headers, headers...)
	return f, err
}

// variables are those of --set. Those of a mix file have their values when these get
// theirs.
func (c *loadCmd) variables() ([]scenario.Field, error) {
	var all []scenario.Field
	for _, text := range c.Set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t\"{}") {
			return nil, usagef("--set %q is not NAME=VALUE, such as id={{uuid}}", text)
		}
		all = append(all, scenario.Field{Name: name, Value: scenario.Text{Text: value, From: data.Origin{Name: "--set " + name}}})
	}
	return all, nil
}

// operation is the one that the flags name.
func (c *loadCmd) operation(a *app, to *endpoint) (*scenario.Operation, error) {
	if to.http == nil && c.Method == "" {
		return nil, usagef("which method? Name it behind the target, such as arith.Arith/Sum, or several by --mix FILE")
	}
	o := &scenario.Operation{
		Name: c.Method, Method: scenario.Text{Text: c.Method, From: data.Origin{Name: "the method"}}, Count: 1,
		From: data.Origin{Name: "the request, which is {} without --body"},
	}
	if to.http != nil {
		o.Name = c.verb() + " " + to.http.Path
	}
	if c.Body != nil {
		body, err := c.body(a.stdin)
		if err != nil {
			return nil, err
		}
		o.Body = body
	}
	for _, text := range c.Expect {
		o.Expect.Status = append(o.Expect.Status, scenario.Text{Text: strings.TrimSpace(text), From: data.Origin{Name: "--expect"}})
	}
	for _, text := range c.ExpectJSON {
		check, err := parseCheck(text)
		if err != nil {
			return nil, err
		}
		o.Expect.JSON = append(o.Expect.JSON, check)
	}
	return o, nil
}

// verb is the method of HTTP.
func (c *loadCmd) verb() string {
	switch {
	case c.Method != "":
		return strings.ToUpper(c.Method)
	case c.Body != nil:
		return "POST"
	}
	return "GET"
}

func (c *loadCmd) body(stdin io.Reader) (*scenario.Text, error) {
	text := *c.Body
	name, isFile := strings.CutPrefix(text, "@")
	switch {
	case text == "-":
		all, err := io.ReadAll(stdin)
		return &scenario.Text{Text: string(all), From: data.Origin{Name: "standard input"}}, err
	case isFile:
		all, err := os.ReadFile(name)
		if err != nil {
			return nil, usagef("--body: %w", err)
		}
		return &scenario.Text{Text: string(all), From: data.Origin{Name: name}}, nil
	}
	return &scenario.Text{Text: text, From: data.Origin{Name: "--body"}}, nil
}

func (c *loadCmd) headers() ([]scenario.Field, error) {
	var all []scenario.Field
	for _, h := range c.Header {
		key, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(key) == "" {
			return nil, usagef("the header %q is not KEY:VALUE", h)
		}
		name := strings.TrimSpace(key)
		all = append(all, scenario.Field{Name: name, Value: scenario.Text{
			Text: strings.TrimSpace(value), From: data.Origin{Name: "the header " + name},
		}})
	}
	return all, nil
}

// parseCheck reads PATH=VALUE. A value that is no JSON is a text.
func parseCheck(text string) (check scenario.Check, err error) {
	at := assignment(text)
	if at < 0 {
		return check, usagef("--expect-json %q is not PATH=VALUE, such as result=41 or items[0].name=Ada", text)
	}
	from := data.Origin{Name: "--expect-json " + text}
	if check.Path, err = data.ParsePath(text[:at], from); err != nil {
		return check, usageError{err}
	}
	from.Line, from.Column = 1, 1+len([]rune(text[:at+1]))
	value := text[at+1:]
	if !isJSONTemplate(value) {
		value = data.Quote(value)
	}
	check.Value = scenario.Text{Text: value, From: from}
	return check, nil
}

// isJSONTemplate reports whether a value is JSON, or begins as JSON does, or is one
// placeholder alone.
func isJSONTemplate(value string) bool {
	switch {
	case value == "":
		return false
	case strings.HasPrefix(value, "{{"):
		return strings.Index(value, "}}") == len(value)-2
	}
	return stdjson.Valid([]byte(value)) || strings.IndexByte(`{["`, value[0]) >= 0
}

// assignment is where the = stands that is not within quotes, -1 if none does.
func assignment(text string) int {
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' && (i == 0 || text[i-1] != '\\'):
			quoted = !quoted
		case c == '=' && !quoted:
			return i
		}
	}
	return -1
}
