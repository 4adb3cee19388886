package flow

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/flow/expr"
)

// resolve checks what needs the whole file, and compiles expressions against what
// they may name. What is broken already is passed over, so that one mistake is told
// once.
func (r *reader) resolve() {
	for _, f := range r.later {
		f()
	}
	for _, f := range r.file.Flows {
		r.resolveFlow(f)
	}
	r.noFlowCycles()
	for _, t := range r.file.Triggers {
		r.resolveTrigger(t)
	}
	r.servedOnce()
}

// slots: a run's values are its inputs, and behind them the results of its steps.
func (f *Flow) slots() int { return len(f.Inputs) + f.results(f.Steps) }

func (f *Flow) results(steps []*Step) int {
	n := 0
	for _, s := range steps {
		if s.slot >= 0 {
			n++
		}
		n += f.results(s.Parallel)
	}
	return n
}

// A flowScope is what the steps of a flow may name so far.
type flowScope struct {
	r    *reader
	flow *Flow
	next int // the slot of the next result
	// known are results of steps that have run.
	known []expr.Var
	// steps are all steps that have names.
	steps map[string]*Step
}

func (r *reader) resolveFlow(f *Flow) {
	s := &flowScope{r: r, flow: f, next: len(f.Inputs), steps: map[string]*Step{}}
	s.collect(f.Steps)
	s.resolve(f.Steps, false)
}

func (s *flowScope) collect(steps []*Step) {
	for _, step := range steps {
		if step.Named {
			s.steps[step.Name] = step
		}
		s.collect(step.Parallel)
	}
}

// resolve goes through steps in order; those of a parallel do not see each other.
func (s *flowScope) resolve(steps []*Step, parallel bool) {
	var results []expr.Var
	ended := false
	for _, step := range steps {
		switch {
		case ended:
			s.r.bad(step.Pos, "this step never runs: the one before it always returns")
			ended = false // which is said once
		case parallel && step.Return != nil:
			s.r.bad(step.Pos, "a return ends the flow: it cannot be one of the steps that run beside each other")
		}
		result := s.step(step)
		if result != nil && step.Named {
			v := expr.Var{Name: step.Name, Type: result, Slot: s.next}
			step.slot = s.next
			s.next++
			if parallel {
				results = append(results, v)
			} else {
				s.known = append(s.known, v)
			}
		}
		ended = ended || !parallel && step.Return != nil && step.When == nil
	}
	s.known = append(s.known, results...)
}

// scope is what an expression may name now.
func (s *flowScope) scope() expr.Scope {
	inputs := expr.Root{Name: "inputs", What: "input"}
	for i, in := range s.flow.Inputs {
		inputs.Vars = append(inputs.Vars, expr.Var{Name: in.Name, Type: typeOf(in.Label, in.Scalar, in.Of), Slot: i})
	}
	steps := expr.Root{Name: "steps", What: "step", Vars: slices.Clone(s.known), Missing: s.missing}
	return append(expr.Scope{inputs, steps}, s.r.settings.settings...)
}

// missing says why a step cannot be named where it is.
func (s *flowScope) missing(name string) string {
	step := s.steps[name]
	switch {
	case step == nil:
		return ""
	case step.Log != nil || step.Parallel != nil || step.Return != nil:
		return fmt.Sprintf("the step %q has no result: it is a %s", name, step.Kind())
	}
	return fmt.Sprintf("the step %q has no result yet: it is in line %d, and ends after this one begins", name, step.Pos.Line)
}

// step checks one step, and returns the type of its result, or nil if it has none.
func (s *flowScope) step(step *Step) *expr.Type {
	r := s.r
	if step.When != nil && r.compile(step.When, s.scope()) {
		if t := step.When.prog.Type(); t.Kind != expr.Bool && t.Kind != expr.Unknown {
			r.bad(step.When.Pos, "\"when\" is a bool, not %v", t)
		}
	}
	switch {
	case step.Invoke != nil:
		return s.invoke(step.Invoke)
	case step.Log != nil:
		if l := step.Log; l.Message != nil {
			r.compileValue(l.Message, s.scope())
		}
		s.members(step.Log.Fields)
	case step.Map != nil:
		if r.compileValue(step.Map, s.scope()) {
			return step.Map.typeOf()
		}
		return expr.Simple(expr.Unknown)
	case step.Call != nil:
		s.r.with(step.Call.Flow, step.Call.FlowPos, step.Call.With, s.scope())
		return expr.Simple(expr.Unknown)
	case step.Parallel != nil:
		s.resolve(step.Parallel, true)
	case step.Return != nil:
		for _, v := range []*Value{step.Return.Reply, step.Return.Message} {
			if v != nil {
				r.compileValue(v, s.scope())
			}
		}
	}
	return nil
}

func (s *flowScope) invoke(i *Invoke) *expr.Type {
	s.members(i.Metadata)
	good := i.Request == nil || s.r.compileValue(i.Request, s.scope())
	if i.Method == nil {
		return expr.Simple(expr.Unknown)
	}
	if i.Request != nil && good && i.Method.Request != nil {
		s.r.fitsMessage(i.Request, i.Method.Request)
	}
	if i.Method.Reply == nil {
		return expr.Simple(expr.Unknown)
	}
	return typeOfMessage(i.Method.Reply)
}

func (s *flowScope) members(all []Member) {
	for _, m := range all {
		s.r.compileValue(m.Value, s.scope())
	}
}

// with checks what a flow is given.
func (r *reader) with(f *Flow, at Pos, with []Member, scope expr.Scope) {
	given := map[string]bool{}
	for _, m := range with {
		good := r.compileValue(m.Value, scope)
		given[m.Name] = true
		if f == nil {
			continue
		}
		in := f.Input(m.Name)
		if in == nil {
			names := namesOf(f.Inputs)
			if len(names) == 0 {
				r.bad(m.Pos, "the flow %q has no inputs", f.Name)
				continue
			}
			r.bad(m.Pos, "the flow %q has no input %q%s", f.Name, m.Name, meant(m.Name, names)).Allowed = names
			continue
		}
		if good {
			r.fits(m.Value, in.Label, in.Scalar, in.Of)
		}
	}
	if f == nil {
		return
	}
	var missing []string
	for _, in := range f.Inputs {
		if in.Label == Single && !given[in.Name] {
			missing = append(missing, fmt.Sprintf("%q", in.Name))
		}
	}
	if len(missing) > 0 {
		r.bad(at, "the flow %q needs %s: give it under \"with\"", f.Name, strings.Join(missing, ", "))
	}
}

func (r *reader) resolveTrigger(t *Trigger) {
	root := expr.Root{Name: "trigger", What: "value"}
	if t.Service != nil {
		request := expr.Simple(expr.Unknown)
		if t.Service.Method != nil && t.Service.Method.Request != nil {
			request = typeOfMessage(t.Service.Method.Request)
		}
		root.Vars = []expr.Var{{Name: "request", Type: request}}
	} else {
		root.Vars = []expr.Var{{Name: "tick", Type: expr.Simple(expr.Int)}, {Name: "time", Type: expr.Simple(expr.Time), Slot: 1}}
	}
	r.with(t.Flow, t.FlowPos, t.With, append(expr.Scope{root}, r.settings.settings...))
	if t.Flow != nil && t.Service != nil && t.Service.Method != nil && t.Service.Method.Reply != nil {
		r.replies(t.Flow.Steps, t.Service.Method.Reply)
	}
}

// replies checks that what a flow returns is the reply of a method that starts it.
func (r *reader) replies(steps []*Step, m *Message) {
	for _, s := range steps {
		if s.Return != nil && s.Return.Reply != nil && s.Return.Code == codes.OK && s.Return.Reply.compiled() {
			r.fitsMessage(s.Return.Reply, m)
		}
	}
}

// compiled reports whether all expressions of a value have been.
func (v *Value) compiled() bool {
	if v.Expr != nil && v.Expr.prog == nil {
		return false
	}
	return !slices.ContainsFunc(v.Parts, func(p Part) bool { return p.Expr != nil && p.Expr.prog == nil }) &&
		!slices.ContainsFunc(v.Members, func(m Member) bool { return !m.Value.compiled() }) &&
		!slices.ContainsFunc(v.Items, func(i *Value) bool { return !i.compiled() })
}

// noFlowCycles refuses flows that call themselves.
func (r *reader) noFlowCycles() {
	state := map[*Flow]int{} // 1 while its calls are looked at, 2 afterwards
	var path []string
	var visit func(f *Flow)
	var calls func(steps []*Step)
	calls = func(steps []*Step) {
		for _, s := range steps {
			calls(s.Parallel)
			if s.Call == nil || s.Call.Flow == nil {
				continue
			}
			switch f := s.Call.Flow; state[f] {
			case 1:
				i := slices.Index(path, f.Name)
				r.bad(s.Call.FlowPos, "the flow %q calls itself, without end: %s", f.Name, strings.Join(append(slices.Clone(path[i:]), f.Name), " calls "))
			case 0:
				visit(f)
			}
		}
	}
	visit = func(f *Flow) {
		state[f] = 1
		path = append(path, f.Name)
		calls(f.Steps)
		path = path[:len(path)-1]
		state[f] = 2
	}
	for _, f := range r.file.Flows {
		if state[f] == 0 {
			visit(f)
		}
	}
}

// servedOnce refuses two triggers for one method on one target.
func (r *reader) servedOnce() {
	type served struct {
		on     string
		method *Method
	}
	seen := map[served]string{}
	for _, t := range r.file.Triggers {
		if t.Service == nil || t.Service.Method == nil || t.Service.On == "" {
			continue
		}
		key := served{t.Service.On, t.Service.Method}
		if first, twice := seen[key]; twice {
			r.bad(t.Service.OnPos, "the trigger %q serves %s on %s already", first, key.method.Name, key.on)
			continue
		}
		seen[key] = t.Name
	}
}
