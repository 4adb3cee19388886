package target

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire/lab/data"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/scenario"
)

// Options say what a scenario's operations are called on.
type Options struct {
	// HTTP is the target if that is a URL, and URL its text; else Methods finds
	// methods.
	HTTP *HTTPTarget
	URL  string
	// Methods returns a method by its name. body is the text of its requests' template.
	Methods func(name, body string) (*Method, error)
	// Callers is how many callers there will be.
	Callers int
}

// Work is a scenario that can be run: a load.Workload, whose callers are
// load.Callers with an Op.
type Work struct {
	operations []*operation
	weights    []int // sums, if calls are in any order
	set        []setter
	feeder     *data.Feeder
	names      *data.Scope
	callers    int
	http       bool
	counter    data.Counter
}

// operation is one kind of call, compiled.
type operation struct {
	name    string
	count   int
	set     []setter
	headers []header
	body    *data.Template
	checks  []check
	extract []extractor
	http    *httpOperation
	rpc     *rpcOperation
}

type httpOperation struct {
	verb     string
	path     *data.Template
	statuses Statuses
}

type rpcOperation struct {
	method *Method
	want   []codes.Code
	// message is the request if it is always the same, nil else.
	message any
	// metadata is the same.
	metadata metadata.MD
}

type setter struct {
	slot int
	text *data.Template
}

type header struct {
	name string
	text *data.Template
}

type check struct {
	path     data.Path
	want     *data.Template
	constant bool
}

type extractor struct {
	slot int
	path data.Path
}

// New compiles a scenario. Everything that can be wrong with it is told here, not
// while the load runs.
func New(f *scenario.File, o Options) (*Work, error) {
	w := &Work{names: new(data.Scope), callers: o.Callers, http: o.HTTP != nil}
	if f.Data != nil {
		table, err := data.ReadTable(f.Data.File.Text)
		if err != nil {
			return nil, err
		}
		w.feeder = data.NewFeeder(table, f.Data.Order, w.names)
		if err := w.feeder.Check(o.Callers); err != nil {
			return nil, err
		}
	}
	c := &compiler{names: w.names, options: o, file: f}
	c.declare()
	var err error
	if w.set, err = c.setters(f.Set); err != nil {
		return nil, err
	}
	sum := 0
	for i := range f.Operations {
		op, err := c.operation(&f.Operations[i])
		if err != nil {
			return nil, err
		}
		w.operations = append(w.operations, op)
		if f.Weighted {
			sum += f.Operations[i].Weight
			w.weights = append(w.weights, sum)
		}
	}
	return w, w.rehearse()
}

// rehearse makes each operation's request once, with values that nobody uses
// otherwise: a body that is not what its method takes shows here. Variables that
// come from replies are not known yet; an operation that uses one is left out.
func (w *Work) rehearse() error {
	var unused data.Counter
	s := data.NewState(w.names, &unused, 0, 0)
	if w.feeder != nil {
		w.feeder.First(s)
	}
	w.assign(w.set, s)
	for _, op := range w.operations {
		w.assign(op.set, s)
		if op.rpc == nil || op.rpc.message != nil || w.usesReplies(op) {
			continue
		}
		if err := op.rpc.method.Read(op.body.Append(nil, s), op.rpc.method.NewIn()); err != nil {
			return fmt.Errorf("the body of %s: %w", op.name, err)
		}
	}
	return nil
}

// usesReplies reports whether a body has a variable that an operation extracts.
func (w *Work) usesReplies(op *operation) bool {
	return slices.ContainsFunc(w.operations, func(other *operation) bool {
		return slices.ContainsFunc(other.extract, func(e extractor) bool { return op.body.Uses(e.slot) })
	})
}

func (w *Work) assign(all []setter, s *data.State) {
	for i := range all {
		s.Set(all[i].slot, all[i].text.Value(s))
	}
}

// Operations are the names of the operations.
func (w *Work) Operations() []string {
	names := make([]string, len(w.operations))
	for i, op := range w.operations {
		names[i] = op.name
	}
	return names
}

// Caller is load.Workload's.
func (w *Work) Caller(seed uint64, i int) load.Caller {
	c := &caller{work: w, state: data.NewState(w.names, &w.counter, seed, i), operation: len(w.operations) - 1}
	if w.feeder != nil {
		c.cursor = w.feeder.Cursor(i, w.callers)
	}
	return c
}

// compiler makes operations.
type compiler struct {
	names   *data.Scope
	options Options
	file    *scenario.File
}

// declare makes all names known before any template is compiled: an operation may
// use what one behind it extracts, in the next session.
func (c *compiler) declare() {
	for _, f := range c.file.Set {
		c.names.Declare(f.Name)
	}
	for i := range c.file.Operations {
		for _, f := range c.file.Operations[i].Set {
			c.names.Declare(f.Name)
		}
		for _, e := range c.file.Operations[i].Extract {
			c.names.Declare(e.Name)
		}
	}
}

func (c *compiler) template(t scenario.Text, place data.Place) (*data.Template, error) {
	return data.Compile(t.Text, t.From, place, c.names)
}

func (c *compiler) setters(fields []scenario.Field) ([]setter, error) {
	all := make([]setter, len(fields))
	for i, f := range fields {
		text, err := c.template(f.Value, data.InText)
		if err != nil {
			return nil, err
		}
		all[i] = setter{c.names.Declare(f.Name), text}
	}
	return all, nil
}

func (c *compiler) operation(o *scenario.Operation) (*operation, error) {
	op := &operation{name: o.Name, count: o.Count}
	for _, s := range o.Scalars { // for errors that say where
		if _, err := c.template(s, data.InText); err != nil {
			return nil, err
		}
	}
	var err error
	if op.set, err = c.setters(o.Set); err != nil {
		return nil, err
	}
	for _, ch := range o.Expect.JSON {
		want, err := c.template(ch.Value, data.InJSON)
		if err != nil {
			return nil, err
		}
		_, constant := want.Constant()
		op.checks = append(op.checks, check{ch.Path, want, constant})
	}
	for _, e := range o.Extract {
		op.extract = append(op.extract, extractor{c.names.Declare(e.Name), e.Path})
	}
	fields := append(slices.Clone(c.file.Headers), o.Headers...)
	if c.options.HTTP != nil {
		return op, c.http(op, o, fields)
	}
	return op, c.rpc(op, o, fields)
}

// headers compiles the fields; the last of one name counts.
func (c *compiler) headers(fields []scenario.Field) ([]header, error) {
	var all []header
	for _, f := range fields {
		if !isToken(f.Name) {
			return nil, f.Value.From.At(f.Value.Text, 0, "the header's name %q has characters that names of headers have not", f.Name)
		}
		text, err := c.template(f.Value, data.InHeader)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(h header) bool { return strings.EqualFold(h.name, f.Name) })
		all = append(all, header{f.Name, text})
	}
	return all, nil
}

// reservedHeaders are what the connection itself writes.
var reservedHeaders = []string{"host", "content-length", "transfer-encoding", "connection", "te", "upgrade"}

func (c *compiler) http(op *operation, o *scenario.Operation, fields []scenario.Field) (err error) {
	h := &httpOperation{verb: strings.ToUpper(cmp.Or(o.Method.Text, "GET"))}
	if o.Method.Text == "" && o.Body != nil {
		h.verb = "POST"
	}
	if !isToken(h.verb) || h.verb == "CONNECT" {
		return o.Method.From.At(o.Method.Text, 0, "%q is no method of HTTP such as GET or POST", o.Method.Text)
	}
	if op.headers, err = c.headers(fields); err != nil {
		return err
	}
	contentType := ""
	for _, f := range fields {
		if slices.Contains(reservedHeaders, strings.ToLower(f.Name)) {
			return f.Value.From.At(f.Value.Text, 0, "the header %s is the connection's own", f.Name)
		}
		if strings.EqualFold(f.Name, "Content-Type") {
			contentType = f.Value.Text
		}
	}
	if o.Body != nil {
		if contentType == "" {
			contentType = guessType(o.Body.Text)
			fixed, _ := data.Compile(contentType, data.Origin{}, data.InText, nil)
			op.headers = append(op.headers, header{"Content-Type", fixed})
		}
		if op.body, err = c.template(*o.Body, bodyPlace(contentType)); err != nil {
			return err
		}
	}
	path := o.Path
	if path.Text == "" {
		path = c.options.HTTP.Text()
	}
	if !strings.HasPrefix(path.Text, "/") && !strings.HasPrefix(path.Text, "{{") {
		return path.From.At(path.Text, 0, "the path begins with a slash")
	}
	if h.path, err = c.template(path, data.InURL); err != nil {
		return err
	}
	if i := strings.IndexFunc(outside(path.Text), notInPaths); i >= 0 {
		return path.From.At(path.Text, i, "a path has no %q: write it percent-encoded, such as %%20 for a space", path.Text[i])
	}
	h.statuses, err = httpStatuses(o.Expect.Status)
	op.http = h
	return err
}

// outside is a text whose placeholders are letters.
func outside(text string) string {
	b := []byte(text)
	for at := 0; ; {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			return string(b)
		}
		open += at
		end := strings.Index(text[open:], "}}")
		if end < 0 {
			return string(b)
		}
		for i := open; i < open+end+2; i++ {
			b[i] = 'a'
		}
		at = open + end + 2
	}
}

func notInPaths(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{|}#", r)
}

func (c *compiler) rpc(op *operation, o *scenario.Operation, fields []scenario.Field) (err error) {
	if o.Method.Text == "" {
		return o.From.At("", 0, "the operation %s has no method: name the method that it calls", o.Name)
	}
	if o.Path.Text != "" {
		return o.Path.From.At(o.Path.Text, 0, "paths are for targets such as http://host: here a method is called")
	}
	body := scenario.Text{Text: "{}", From: o.From}
	if o.Body != nil {
		body = *o.Body
	}
	r := new(rpcOperation)
	if r.method, err = c.options.Methods(o.Method.Text, body.Text); err != nil {
		return err
	}
	if r.want, err = statusCodes(o.Expect.Status); err != nil {
		return err
	}
	if op.headers, err = c.headers(fields); err != nil {
		return err
	}
	if op.body, err = c.template(body, data.InJSON); err != nil {
		return err
	}
	if text, ok := op.body.Constant(); ok {
		r.message = r.method.NewIn()
		if err := r.method.Read([]byte(text), r.message); err != nil {
			return fmt.Errorf("the body of %s does not fit: %w", op.name, err)
		}
	}
	if !slices.ContainsFunc(op.headers, func(h header) bool { _, ok := h.text.Constant(); return !ok }) {
		r.metadata = op.metadata(nil)
	}
	op.rpc = r
	return nil
}

// metadata makes the headers of a call, nil if there are none.
func (op *operation) metadata(s *data.State) metadata.MD {
	if len(op.headers) == 0 {
		return nil
	}
	md := make(metadata.MD, len(op.headers))
	for _, h := range op.headers {
		md.Set(h.name, string(h.text.Append(nil, s)))
	}
	return md
}
