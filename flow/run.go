package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A compiled flow is one that can be run.
type compiled struct {
	info  *FlowInfo
	def   *Flow
	slots int
	steps []*activity
}

// An activity is a step that can be run.
type activity struct {
	info *ActivityInfo
	def  *Step
	do   action
}

// An action is what a step does. ended is set if the run ends with it.
type action func(ctx context.Context, r *run) (ended bool, err error)

// A run is one execution of a flow.
type run struct {
	flow *compiled
	// values are the inputs and the results, by slot. Steps that run beside each
	// other write different ones.
	values []any
	reply  any
}

// A panicError is a panic of a run.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// A stepError says which step failed. Its status is that of the error.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// A timeoutError is the end of a run by the flow's own timeout.
type timeoutError struct{ flow *Flow }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the flow %s had not ended after %v", e.flow.Name, e.flow.Timeout)
}

// GRPCStatus is the status that it has for clients.
func (e *timeoutError) GRPCStatus() *status.Status {
	return status.New(codes.DeadlineExceeded, e.Error())
}

// run runs a flow, whose inputs with computes from values.
func (a *App) run(ctx context.Context, c *compiled, with []given, values []any) (reply any, err error) {
	a.observer.FlowStarted(c.info)
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, &panicError{p}
			a.log.LogAttrs(ctx, slog.LevelError, "panic in a flow", slog.String("flow", c.def.Name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
		a.observer.FlowEnded(c.info, time.Since(began), err)
	}()
	if c.def.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.def.Timeout, &timeoutError{c.def})
		defer cancel()
	}
	r := &run{flow: c, values: make([]any, c.slots)}
	if err := a.inputs(r, with, values); err != nil {
		return nil, err
	}
	_, err = a.steps(ctx, r, c.steps)
	return r.reply, err
}

// A given is an input that whoever starts a flow gives it.
type given struct {
	name  string
	slot  int
	value *Value
	// check is nil if the value is known to have the input's type.
	check    *boundField
	required bool
}

// givens prepares the inputs of a flow.
func (a *App) givens(f *Flow, with []Member) []given {
	var all []given
	for i, in := range f.Inputs {
		for _, m := range with {
			if m.Name != in.Name {
				continue
			}
			g := given{name: in.Name, slot: i, value: m.Value, required: in.Label == Single && in.Scalar != Any}
			if !certain(m.Value, in) {
				g.check = &boundField{name: in.Name, label: in.Label, scalar: in.Scalar}
				if in.Of != nil {
					g.check.of = a.bindings.of(in.Of)
				}
			}
			all = append(all, g)
		}
	}
	return all
}

// certain reports whether a value has an input's type, whatever comes.
func certain(v *Value, in *Input) bool {
	if in.Scalar == Any && (in.Label == Single || in.Label == Optional) {
		return true
	}
	is := v.typeOf()
	switch {
	case in.Label == Repeated || in.Label == MapOf:
		return false
	case in.Of != nil:
		return is.Name == in.Of.Name
	case in.Scalar == Bool, in.Scalar == Int64, in.Scalar == Double, in.Scalar == String, in.Scalar == Bytes:
		return is.Kind == exprKinds[in.Scalar]
	}
	return false
}

func (a *App) inputs(r *run, with []given, values []any) error {
	for _, g := range with {
		v, err := g.value.eval(a.file.src, values)
		var located *Error
		switch {
		case errors.As(err, &located):
			return &inputError{fmt.Errorf("the input %s: %s", g.name, located.Text)}
		case v == nil && g.required:
			return &inputError{fmt.Errorf("the input %s is missing", g.name)}
		}
		if v != nil && g.check != nil {
			if v, err = g.check.converted(v); err != nil {
				return &inputError{fmt.Errorf("the input %s: %w", g.name, err)}
			}
		}
		r.values[g.slot] = v
	}
	return nil
}

// steps runs steps one after the other.
func (a *App) steps(ctx context.Context, r *run, steps []*activity) (ended bool, err error) {
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			if late := asError[*timeoutError](context.Cause(ctx)); late != nil {
				return false, late
			}
			return false, status.FromContextError(err).Err()
		}
		if ended, err = a.step(ctx, r, s); ended || err != nil {
			return ended, err
		}
	}
	return false, nil
}

func (a *App) step(ctx context.Context, r *run, s *activity) (ended bool, err error) {
	if s.def.When != nil {
		v, err := s.def.When.eval(a.file.src, r.values)
		if err != nil {
			return false, &stepError{s.def.Name, err}
		}
		yes, ok := v.(bool)
		if !ok {
			return false, &stepError{s.def.Name, a.file.src.errorAt(s.def.When.Pos, fmt.Sprintf("\"when\" is a bool, not %s", shown(v)))}
		}
		if !yes {
			return false, nil
		}
	}
	a.observer.ActivityStarted(s.info)
	began := time.Now()
	defer func() {
		if p := recover(); p != nil { // told on by the run
			a.observer.ActivityEnded(s.info, time.Since(began), &panicError{p})
			panic(p)
		}
		a.observer.ActivityEnded(s.info, time.Since(began), err)
	}()
	ended, err = s.do(ctx, r)
	if err != nil && s.def.Return == nil {
		err = &stepError{s.def.Name, err}
	}
	return ended, err
}

// parallel runs steps beside each other. The first that fails stops the others.
func (a *App) parallel(steps []*activity) action {
	return func(ctx context.Context, r *run) (bool, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var once sync.Once
		var first error
		fail := func(err error) {
			once.Do(func() {
				first = err
				cancel()
			})
		}
		var all sync.WaitGroup
		for _, s := range steps {
			all.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						a.log.LogAttrs(ctx, slog.LevelError, "panic in a flow", slog.String("flow", r.flow.def.Name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
						fail(&panicError{p})
					}
				}()
				if _, err := a.step(ctx, r, s); err != nil {
					fail(err)
				}
			})
		}
		all.Wait()
		return false, first
	}
}
