package flow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/internal/yamltree"
)

func (r *reader) readFlows(e *entry) {
	all, _ := r.entries(e.value, "the flows")
	for _, m := range all {
		if !r.nameIs(m, "a flow", label) {
			continue
		}
		f := &Flow{Pos: m.at, Name: m.key}
		r.file.Flows = append(r.file.Flows, f)
		r.flows[f.Name] = f
		if o := r.object(m.value, m.at, "a flow", "doc", "timeout", "inputs", "steps"); o != nil {
			r.readFlow(f, o)
		}
	}
}

func (r *reader) readFlow(f *Flow, o *object) {
	f.Doc = o.doc()
	if e := o.get("timeout"); e != nil {
		f.Timeout = r.settings.duration(e, "\"timeout\"", time.Millisecond)
	}
	if e := o.get("inputs"); e != nil {
		all, _ := r.entries(e.value, "the inputs")
		for _, m := range all {
			text, ok := yamltree.Scalar(m.value)
			if !r.nameIs(m, "an input", identifier) {
				continue
			}
			if !ok {
				r.bad(m.at, "an input has a type, such as %s: string", m.key)
				continue
			}
			i := &Input{Pos: m.at, Name: m.key}
			if i.Label, i.Scalar, i.Of, ok = r.typeNamed(text, start(m.value)); !ok {
				i.Scalar = Any // its name is known, whatever it is
			}
			f.Inputs = append(f.Inputs, i)
		}
	}
	if e := o.need("steps", "steps: [{log: {message: Hello}}]"); e != nil {
		f.Steps = r.readSteps(e, &stepNames{})
	}
}

// stepNames are those of one flow.
type stepNames struct {
	all    map[string]Pos
	counts map[string]int
}

func (r *reader) readSteps(e *entry, names *stepNames) []*Step {
	items := r.items(e.value, fmt.Sprintf("%q", e.key))
	if _, ok := e.value.(*ast.SequenceNode); ok && len(items) == 0 {
		r.bad(start(e.value), "%q has no step", e.key)
	}
	var steps []*Step
	for _, n := range items {
		at := start(e.value)
		if n != nil {
			at = start(n)
		}
		o := r.object(n, at, "a step", append([]string{"name", "when"}, kinds...)...)
		if o == nil {
			continue
		}
		if s := r.readStep(o, names); s != nil {
			steps = append(steps, s)
		}
	}
	return steps
}

// kinds are what a step can be.
var kinds = []string{"invoke", "log", "map", "flow", "parallel", "return"}

func (r *reader) readStep(o *object, names *stepNames) *Step {
	s := &Step{Pos: o.at, slot: -1}
	var is *entry
	for i := range o.entries {
		e := &o.entries[i]
		switch {
		case !slices.Contains(kinds, e.key):
		case is != nil:
			r.bad(e.at, "a step does one thing: this is %q already", is.key).Allowed = []string{"name", "when"}
		default:
			is = e
		}
	}
	if is == nil {
		if o.unknown { // which was told, and may be what it was to do
			return nil
		}
		r.bad(o.at, "a step must say what it does").Allowed = kinds
		return nil
	}
	names.give(r, s, o, is.key)
	if e := o.get("when"); e != nil {
		s.When = r.condition(e)
	}
	if is.value == nil || !r.readKind(s, is, names) {
		return nil
	}
	return s
}

// give names a step as the file does, or by its kind.
func (n *stepNames) give(r *reader, s *Step, o *object, kind string) {
	if n.all == nil {
		n.all, n.counts = map[string]Pos{}, map[string]int{}
	}
	if e := o.get("name"); e != nil {
		text, _ := yamltree.Scalar(e.value)
		if r.nameIs(entry{text, start(e.value), nil}, "a step", identifier) {
			if at, twice := n.all[text]; twice {
				r.bad(start(e.value), "there is another step %q, in line %d", text, at.Line)
			}
			s.Name, s.Named = text, true
			n.all[text] = start(e.value)
			return
		}
	}
	n.counts[kind]++
	s.Name = kind
	if i := n.counts[kind]; i > 1 {
		s.Name += "_" + strconv.Itoa(i)
	}
}

// condition reads an expression that stands without marks.
func (r *reader) condition(e *entry) *Expr {
	text, ok := yamltree.Scalar(e.value)
	if !ok {
		r.bad(start(e.value), "\"when\" is an expression such as inputs.count > 1, not %s", kindOf(e.value))
		return nil
	}
	from, q := r.origin(e.value)
	if strings.HasPrefix(strings.TrimSpace(text), openMark) {
		r.bad(from, "\"when\" is an expression already: write it without %s and %s", openMark, closeMark)
		return nil
	}
	return r.expression(text, func(offset int) Pos { return r.place(from, q, text, offset) })
}

// readKind reads what a step does.
func (r *reader) readKind(s *Step, e *entry, names *stepNames) bool {
	switch e.key {
	case "invoke":
		s.Invoke = r.readInvoke(e)
		return s.Invoke != nil
	case "log":
		s.Log = r.readLog(e)
		return s.Log != nil
	case "map":
		s.Map = r.value(e.value, e.at)
		return s.Map != nil
	case "flow":
		s.Call = r.readCall(e)
		return s.Call != nil
	case "parallel":
		s.Parallel = r.readSteps(e, names)
		return len(s.Parallel) > 0
	}
	s.Return = r.readReturn(e)
	return s.Return != nil
}

// defaultDeadline bounds a call that the file gives no deadline.
const defaultDeadline = 10 * time.Second

func (r *reader) readInvoke(e *entry) *Invoke {
	o := r.object(e.value, e.at, "an invoke", "target", "method", "request", "metadata", "deadline", "retry")
	if o == nil {
		return nil
	}
	i := &Invoke{Deadline: defaultDeadline}
	if e := o.need("target", "rest://localhost:8080"); e != nil {
		i.TargetPos = start(e.value)
		i.Target = r.settings.text(e, "\"target\"", "rest://localhost:8080")
	}
	if e := o.need("method", "hello.Hello/Greet"); e != nil {
		i.Method = r.methodNamed(e)
	}
	if e := o.get("request"); e != nil {
		i.Request = r.value(e.value, e.at)
	}
	if e := o.get("metadata"); e != nil {
		for _, m := range r.members(e, "the metadata") {
			if strings.ContainsFunc(m.Name, notInKeys) || strings.HasPrefix(m.Name, "grpc-") {
				r.bad(m.Pos, "%s is no key of metadata: it has lower-case letters, digits, '-', '_' and '.', and does not begin with grpc-", shown(m.Name))
				continue
			}
			i.Metadata = append(i.Metadata, m)
		}
	}
	if e := o.get("deadline"); e != nil {
		i.Deadline = r.settings.duration(e, "\"deadline\"", time.Millisecond)
	}
	if e := o.find("retry"); e != nil {
		i.Retry = r.readRetry(e)
	}
	return i
}

func notInKeys(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
}

func (r *reader) readRetry(e *entry) *Retry {
	o := r.object(e.value, e.at, "a retry", "attempts", "backoff", "max-backoff", "attempt-timeout", "codes")
	if o == nil {
		return nil
	}
	retry := &Retry{Pos: e.at}
	if e := o.need("attempts", "3"); e != nil {
		retry.Attempts = r.settings.integer(e, "\"attempts\"", 1, 100)
	}
	for key, d := range map[string]*time.Duration{"backoff": &retry.Backoff, "max-backoff": &retry.MaxBackoff, "attempt-timeout": &retry.AttemptTimeout} {
		if e := o.get(key); e != nil {
			*d = r.settings.duration(e, fmt.Sprintf("%q", key), time.Millisecond)
		}
	}
	if e := o.get("codes"); e != nil {
		for _, n := range r.items(e.value, "\"codes\"") {
			if c, ok := r.codeNamed(&entry{"codes", e.at, n}); ok {
				retry.Codes = append(retry.Codes, c)
			}
		}
	}
	return retry
}

// codeNames are the codes of errors, in the order of their numbers.
var codeNames = func() []string {
	var names []string
	for i := int32(1); i <= int32(codes.Unauthenticated); i++ {
		names = append(names, code.Code_name[i])
	}
	return names
}()

// codeNamed reads the code of an error by its name.
func (r *reader) codeNamed(e *entry) (codes.Code, bool) {
	i, ok := r.settings.word(e, "a code", codeNames)
	return codes.Code(i + 1), ok //nolint:gosec // of sixteen
}

var levels = []string{"debug", "info", "warn", "error"}

func (r *reader) readLog(e *entry) *Log {
	o := r.object(e.value, e.at, "a log", "message", "level", "fields")
	if o == nil {
		return nil
	}
	l := &Log{Level: "info"}
	if e := o.need("message", "Hello, ${{ inputs.name }}"); e != nil {
		l.Message = r.value(e.value, e.at)
	}
	if e := o.get("level"); e != nil {
		if i, ok := r.settings.word(e, "\"level\"", levels); ok {
			l.Level = levels[i]
		}
	}
	if e := o.get("fields"); e != nil {
		l.Fields = r.members(e, "the fields")
	}
	return l
}

func (r *reader) readCall(e *entry) *Call {
	o := r.object(e.value, e.at, "a flow that is called", "name", "with")
	if o == nil {
		return nil
	}
	c := new(Call)
	if e := o.need("name", "greet"); e != nil {
		c.FlowPos = start(e.value)
		r.later = append(r.later, func() { c.Flow = r.flowNamed(e) })
	}
	if e := o.get("with"); e != nil {
		c.With = r.members(e, "the inputs")
	}
	return c
}

func (r *reader) readReturn(e *entry) *Return {
	o := r.object(e.value, e.at, "a return", "reply", "error")
	if o == nil {
		return nil
	}
	ret := new(Return)
	reply, failure := o.get("reply"), o.get("error")
	if reply != nil && failure != nil {
		r.bad(failure.at, "a return has a reply or an error: this has both")
		return nil
	}
	if reply != nil {
		ret.Reply = r.value(reply.value, reply.at)
	}
	if failure == nil {
		return ret
	}
	eo := r.object(failure.value, failure.at, "an error", "code", "message")
	if eo == nil {
		return nil
	}
	if e := eo.need("code", "NOT_FOUND"); e != nil {
		ret.Code, _ = r.codeNamed(e)
	}
	if e := eo.need("message", "there is no ${{ inputs.name }}"); e != nil {
		ret.Message = r.value(e.value, e.at)
	}
	return ret
}
