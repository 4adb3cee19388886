package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow/expr"
	"github.com/everywire/everywire/resilience"
)

// compile makes what runs a flow.
func (a *App) compile(f *Flow) error {
	c := a.flows[f]
	*c = compiled{info: &FlowInfo{a.file.App, a.file.Version, f.Name}, def: f, slots: f.slots()}
	var err error
	c.steps, err = a.compileSteps(f, f.Steps)
	return err
}

func (a *App) compileSteps(f *Flow, steps []*Step) ([]*activity, error) {
	all := make([]*activity, len(steps))
	for i, s := range steps {
		all[i] = &activity{info: &ActivityInfo{a.file.App, a.file.Version, f.Name, s.Name, s.Kind()}, def: s}
		var err error
		if all[i].do, err = a.action(f, s); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (a *App) action(f *Flow, s *Step) (action, error) {
	switch {
	case s.Invoke != nil:
		return a.invoke(s)
	case s.Log != nil:
		return a.logStep(f, s), nil
	case s.Map != nil:
		return func(_ context.Context, r *run) (bool, error) {
			v, err := s.Map.eval(a.file.src, r.values)
			r.keep(s, v)
			return false, err
		}, nil
	case s.Call != nil:
		with := a.givens(s.Call.Flow, s.Call.With)
		other := a.flows[s.Call.Flow]
		return func(ctx context.Context, r *run) (bool, error) {
			v, err := a.run(ctx, other, with, r.values)
			r.keep(s, v)
			return false, err
		}, nil
	case s.Parallel != nil:
		steps, err := a.compileSteps(f, s.Parallel)
		return a.parallel(steps), err
	}
	return a.returnStep(s.Return), nil
}

// keep keeps a step's result, if it can be named.
func (r *run) keep(s *Step, v any) {
	if s.slot >= 0 {
		r.values[s.slot] = v
	}
}

func (a *App) returnStep(ret *Return) action {
	return func(_ context.Context, r *run) (ended bool, err error) {
		if ret.Code == codes.OK {
			if ret.Reply != nil {
				r.reply, err = ret.Reply.eval(a.file.src, r.values)
			}
			return true, err
		}
		text, err := a.textOf(ret.Message, r.values)
		if err != nil {
			return true, err
		}
		return true, status.Error(ret.Code, text)
	}
}

// textOf is a value as a text.
func (a *App) textOf(v *Value, env []any) (string, error) {
	x, err := v.eval(a.file.src, env)
	if err != nil {
		return "", err
	}
	if s, ok := x.(string); ok {
		return s, nil
	}
	text, err := expr.AppendText(nil, x)
	if err != nil {
		return "", a.file.src.located(err, func(int) Pos { return v.Pos })
	}
	return string(text), nil
}

var slogLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (a *App) logStep(f *Flow, s *Step) action {
	level := slogLevels[s.Log.Level]
	fixed := []slog.Attr{slog.String("flow", f.Name), slog.String("step", s.Name)}
	return func(ctx context.Context, r *run) (bool, error) {
		if !a.log.Enabled(ctx, level) {
			return false, nil
		}
		text, err := a.textOf(s.Log.Message, r.values)
		if err != nil {
			return false, err
		}
		attrs := fixed[:len(fixed):len(fixed)]
		for _, m := range s.Log.Fields {
			v, err := m.Value.eval(a.file.src, r.values)
			if err != nil {
				return false, err
			}
			attrs = append(attrs, slog.Any(m.Name, logged(v)))
		}
		a.log.LogAttrs(ctx, level, text, attrs...)
		return false, nil
	}
}

// logged is a value as it stands in a log: what is made of others is JSON, also in a
// log of lines.
func logged(v any) any {
	switch v.(type) {
	case map[string]any, []any:
		return asJSON{v}
	}
	return v
}

// asJSON is a value that logs write as JSON.
type asJSON struct{ value any }

func (d asJSON) MarshalText() ([]byte, error) { return expr.AppendText(nil, d.value) }
func (d asJSON) MarshalJSON() ([]byte, error) { return expr.AppendText(nil, d.value) }

// An invoke calls a method. Its connection is there while the app runs.
type invoke struct {
	def            *Invoke
	conn           grpc.ClientConnInterface
	guard          *resilience.Guard // nil: calls are made once
	path           string
	request, reply *binding
}

func (a *App) invoke(s *Step) (action, error) {
	d := s.Invoke
	i := &invoke{def: d, path: "/" + d.Method.Name, request: a.bindings.of(d.Method.Request), reply: a.bindings.of(d.Method.Reply)}
	if d.Retry != nil {
		guard, err := resilience.New(resilience.Policy{
			Methods: a.methods, OnAttempt: resilience.Log(a.log),
			Default: resilience.Rules{
				Attempts: d.Retry.Attempts, Backoff: d.Retry.Backoff, MaxBackoff: d.Retry.MaxBackoff, AttemptTimeout: d.Retry.AttemptTimeout, Codes: d.Retry.Codes,
			},
		})
		if err != nil {
			return nil, Errors{a.file.src.errorAt(d.Retry.Pos, err.Error())}
		}
		i.guard = guard
	}
	a.invokes = append(a.invokes, i)
	return func(ctx context.Context, r *run) (bool, error) {
		reply, err := a.call(ctx, i, r.values)
		if err != nil {
			return false, err
		}
		r.keep(s, reply)
		return false, nil
	}, nil
}

var errNotConnected = errors.New("flow: the app is not connected: call Connect first")

// call makes a call and returns its reply as a value.
func (a *App) call(ctx context.Context, i *invoke, values []any) (any, error) {
	if i.conn == nil {
		return nil, errNotConnected
	}
	var request any = map[string]any{}
	if i.def.Request != nil {
		var err error
		if request, err = i.def.Request.eval(a.file.src, values); err != nil {
			return nil, err
		}
	}
	in, err := i.request.message(request)
	if err != nil {
		return nil, a.file.src.errorAt(i.def.Request.Pos, err.Error())
	}
	for _, m := range i.def.Metadata {
		text, err := a.textOf(m.Value, values)
		if err != nil {
			return nil, err
		}
		ctx = metadata.AppendToOutgoingContext(ctx, m.Name, text)
	}
	ctx, cancel := context.WithTimeout(ctx, i.def.Deadline)
	defer cancel()
	out := reflect.New(i.reply.typ).Interface()
	if i.guard == nil {
		err = i.conn.Invoke(ctx, i.path, in, out)
	} else {
		err = i.guard.Unary(ctx, i.path, in, out, nil, func(ctx context.Context, method string, req, reply any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
			return i.conn.Invoke(ctx, method, req, reply, opts...)
		})
	}
	if err != nil {
		return nil, &invokeError{err}
	}
	return i.reply.value(out), nil
}

// A trigger starts runs of a flow.
type trigger struct {
	def   *Trigger
	info  *TriggerInfo
	flow  *compiled
	with  []given
	slots chan struct{} // one for each run that is under way
	fired atomic.Int64  // by Fire
}

func (a *App) addTrigger(def *Trigger) error {
	t := &trigger{
		def: def, info: &TriggerInfo{a.file.App, a.file.Version, def.Name},
		flow: a.flows[def.Flow], with: a.givens(def.Flow, def.With), slots: make(chan struct{}, def.Limit),
	}
	a.triggers = append(a.triggers, t)
	if def.Service == nil {
		return nil
	}
	var s *server
	for _, known := range a.servers {
		if known.target == def.Service.On {
			s = known
		}
	}
	if s == nil {
		s = &server{def.Service.On, everywire.NewRegistry(everywire.WithLogger(a.log))}
		a.servers = append(a.servers, s)
	}
	return a.register(s.reg, def.Service.Method, a.handler(t))
}

// handler is that of a method whose calls start runs.
func (a *App) handler(t *trigger) func(context.Context, any) (any, error) {
	method := t.def.Service.Method
	request, reply := a.bindings.of(method.Request), a.bindings.of(method.Reply)
	return func(ctx context.Context, in any) (any, error) {
		select {
		case t.slots <- struct{}{}:
			defer func() { <-t.slots }()
		default:
			return nil, status.Errorf(codes.ResourceExhausted, "%d runs are under way, which is the limit", t.def.Limit)
		}
		if !a.begin() {
			return nil, status.Error(codes.Unavailable, "the flow has run as often as it was to")
		}
		defer a.end()
		v, err := a.run(ctx, t.flow, t.with, []any{request.value(in)})
		if err != nil {
			return nil, a.failed(ctx, t, err)
		}
		if v == nil && reply == document {
			v = map[string]any{}
		}
		out, err := reply.message(v)
		if err != nil {
			return nil, a.failed(ctx, t, fmt.Errorf("the reply does not fit %s: %w", method.Name, err))
		}
		return out, nil
	}
}

// failed logs a run that failed by a fault of the flow, or of what it called, and
// returns what its client is told.
func (a *App) failed(ctx context.Context, t *trigger, err error) error {
	told, fault := clientError(ctx, t.flow.def.Name, err)
	if fault {
		a.log.LogAttrs(ctx, slog.LevelError, "a run failed", slog.String("flow", t.flow.def.Name), slog.String("trigger", t.def.Name), slog.Any("error", err))
	}
	return told
}
