package flogo

import (
	"fmt"
	"strings"

	"github.com/everywire/everywire/flow"
)

// A resource is a flow of the app.
type resource struct {
	id     string // flow:greet
	n      *node  // its data
	inputs []*input
	// outputs are the names that it may return.
	outputs  []string
	tasks    []*task
	variants map[string]*variant
}

// An input is one of a flow.
type input struct {
	app, name string
	at        int
	typ       typ
	word      string // the type in the flow file
	value     *node  // what it has if it is not given
}

func (f *resource) input(app string) *input {
	for _, in := range f.inputs {
		if in.app == app {
			return in
		}
	}
	return nil
}

// A reply is what a trigger makes of the results of a flow. Its output is nil where
// the results are code and data already; a nil reply answers nobody.
type reply struct {
	out *node
	// whole replies with all results, as flows do that others run.
	whole bool
}

func (p *reply) key() string {
	switch {
	case p == nil:
		return ""
	case p.whole:
		return "whole"
	}
	return "reply " + p.out.key()
}

// key is the same for values that are the same.
func (n *node) key() string {
	if n == nil {
		return "-"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d%q(", n.kind, n.text)
	for _, m := range n.members {
		fmt.Fprintf(&b, "%q:%s,", m.key, m.value.key())
	}
	for _, item := range n.items {
		b.WriteString(item.key() + ",")
	}
	return b.String() + ")"
}

// A variant is a flow as the flow file has it. A flow that several triggers start,
// whose answers they make in different ways, is there for each of those.
type variant struct {
	res     *resource
	reply   *reply
	name    string
	made    *made
	inputs  *made
	callers []map[string]bool // the inputs that each gives, which are true if they are never null
}

// variant is that of a flow and a reply.
func (r *reader) variant(f *resource, p *reply) *variant {
	v := f.variants[p.key()]
	if v == nil {
		v = &variant{res: f, reply: p, name: r.names.another(strings.TrimPrefix(f.id, "flow:"))}
		f.variants[p.key()] = v
		r.variants = append(r.variants, v)
	}
	return v
}

func (r *reader) readResources(n *node) {
	if n == nil {
		return
	}
	if n.kind != list {
		r.bad(n.at, "the resources are a list, not %v", n)
		return
	}
	for _, res := range n.items {
		if !r.fields(res, "a resource", []string{"id", "data"}, []string{"compressed"}) {
			continue
		}
		id := r.textOf(res, "id", "a resource", true)
		if id == "" {
			continue
		}
		if !strings.HasPrefix(id, "flow:") {
			r.bad(res.get("id").at, "the resource %s is not read: only flows are, whose ids begin with \"flow:\"", shown(id))
			continue
		}
		data := res.get("data")
		if data == nil || data.kind != object {
			r.bad(res.at, "the flow %s has no \"data\" that is an object", shown(id))
			continue
		}
		if r.byURI[id] != nil {
			r.bad(res.get("id").at, "there is another flow %s", shown(id))
			continue
		}
		f := &resource{id: id, n: data, variants: map[string]*variant{}}
		r.byURI[id] = f
		r.flows = append(r.flows, f)
		r.readFlow(f)
	}
}

// readFlow reads what does not depend on who runs a flow.
func (r *reader) readFlow(f *resource) {
	idle := []string{"name", "description", "explicitReply", "model"}
	r.fields(f.n, "a flow", []string{"metadata", "tasks", "links", "errorHandler"}, idle)
	if e := f.n.get("errorHandler"); e != nil && !empty(e) && e.get("tasks") != nil && !empty(e.get("tasks")) {
		r.bad(e.at, "an error handler is not read: a run whose step fails ends, and its caller is told so; \"retryOnError\" of a task is read")
	}
	md := f.n.get("metadata")
	if md != nil && r.fields(md, "the metadata", []string{"input", "output"}, nil) {
		names := newNames()
		for _, p := range r.listOf(md, "input") {
			r.readInput(f, p, names)
		}
		for _, p := range r.listOf(md, "output") {
			if name := r.textOf(p, "name", "an output", true); name != "" {
				f.outputs = append(f.outputs, name)
			}
		}
	}
	r.readTasks(f)
}

// listOf is a member that is a list of objects.
func (r *reader) listOf(n *node, key string) []*node {
	v := n.get(key)
	if v == nil {
		return nil
	}
	if v.kind != list {
		r.bad(v.at, "%q is a list, not %v", key, v)
		return nil
	}
	var all []*node
	for _, item := range v.items {
		if item.kind != object {
			r.bad(item.at, "%q is a list of objects: this is %v", key, item)
			continue
		}
		all = append(all, item)
	}
	return all
}

// types are those of inputs.
var types = map[string]struct {
	typ  typ
	word string
}{
	"string": {stringType, "string"}, "int": {intType, "int64"}, "integer": {intType, "int64"}, "int32": {intType, "int64"}, "int64": {intType, "int64"},
	"long": {intType, "int64"}, "float32": {floatType, "double"}, "float64": {floatType, "double"}, "float": {floatType, "double"}, "double": {floatType, "double"},
	"number": {floatType, "double"}, "bool": {boolType, "bool"}, "boolean": {boolType, "bool"},
}

func (r *reader) readInput(f *resource, n *node, names *names) {
	r.fields(n, "an input", []string{"name", "type", "value"}, []string{"schema", "required", "description"})
	name := r.textOf(n, "name", "an input", true)
	if name == "" {
		return
	}
	if f.input(name) != nil {
		r.bad(n.at, "the flow has another input %s", shown(name))
		return
	}
	in := &input{app: name, name: names.of(name), at: n.at, word: "any", value: n.get("value")}
	if t, ok := types[strings.ToLower(r.textOf(n, "type", "an input", false))]; ok {
		in.typ, in.word = t.typ, t.word
	}
	f.inputs = append(f.inputs, in)
}

// makeFlows makes all flows that are used, and those that are not as if others ran
// them.
func (r *reader) makeFlows(at int) *made {
	size := 0
	for i := 0; ; i++ {
		if i == len(r.variants) {
			for _, f := range r.flows {
				if len(f.variants) == 0 {
					r.variant(f, &reply{whole: true})
				}
			}
			if i == len(r.variants) {
				break
			}
		}
		r.makeFlow(r.variants[i])
		// A flow is there for each way in which triggers make its answers.
		if size += r.variants[i].made.size(); size > flow.MaxFile {
			r.bad(r.variants[i].res.n.at, "the flows become more than the %d bytes that a flow file may have: make it several apps", flow.MaxFile)
			return obj(at)
		}
	}
	if len(r.variants) == 0 {
		r.bad(at, "the app needs \"resources\" with a flow")
	}
	flows := obj(at)
	for _, f := range r.flows { // in the order of the file
		for _, v := range r.variants {
			if v.res == f {
				r.declareInputs(v)
				flows.put(v.name, f.n.at, v.made)
			}
		}
	}
	return flows
}

// declareInputs says which inputs a flow must have: those that all who run it give.
func (r *reader) declareInputs(v *variant) {
	for _, in := range v.res.inputs {
		needed := len(v.callers) > 0
		for _, c := range v.callers {
			needed = needed && c[in.app]
		}
		word := in.word
		if !needed {
			word = "optional " + word
		}
		v.inputs.put(in.name, in.at, say(in.at, word))
	}
	if len(v.inputs.members) > 0 {
		v.made.members = append([]madeMember{{"inputs", v.inputs.at, v.inputs}}, v.made.members...)
	}
	if d := r.textOf(v.res.n, "description", "", false); d != "" {
		at := v.res.n.get("description").at
		v.made.members = append([]madeMember{{"doc", at, say(at, d)}}, v.made.members...)
	}
}
