package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

const defaultDrain = 10 * time.Second

// An App is a file that can be run, once.
type App struct {
	file     *File
	options  Options
	log      *slog.Logger
	observer Observer // never nil
	bindings bindings

	flows    map[*Flow]*compiled
	triggers []*trigger
	invokes  []*invoke
	// methods are those of the file, for connections: what they look like.
	methods *everywire.Registry
	// servers are the registries by target, in the order of the file.
	servers []*server

	conns map[string]Conn // by target, while the app runs
	ran   atomic.Bool
	begun atomic.Int64  // runs
	full  chan struct{} // closed when Options.Runs have begun and ended
	ended atomic.Int64
	// failures are those of timers' runs that failed.
	failures atomic.Int64
}

// A server is the methods of one target.
type server struct {
	target string
	reg    *everywire.Registry
}

// New makes an app of a file that Parse has found nothing wrong with.
func New(file *File, o Options) (*App, error) {
	if file.src == nil || len(file.src.errs) > 0 {
		return nil, fmt.Errorf("%s has errors: it cannot be run", file.Name)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Drain == 0 {
		o.Drain = defaultDrain
	}
	a := &App{
		file: file, options: o, log: o.Logger, observer: Observers(o.Observer), bindings: bindings{}, flows: map[*Flow]*compiled{},
		full: make(chan struct{}), conns: map[string]Conn{},
	}
	a.methods = everywire.NewRegistry(everywire.WithLogger(o.Logger))
	if err := a.describe(); err != nil {
		return nil, err
	}
	for _, f := range file.Flows {
		a.flows[f] = new(compiled) // flows name each other
	}
	for _, f := range file.Flows {
		if err := a.compile(f); err != nil {
			return nil, err
		}
	}
	for _, t := range file.Triggers {
		if err := a.addTrigger(t); err != nil {
			return nil, err
		}
	}
	switch {
	case len(a.servers) > 0 && o.Serve == nil:
		return nil, errors.New("flow: the file serves methods, and Options.Serve is nil")
	case len(a.invokes) > 0 && o.Dial == nil:
		return nil, errors.New("flow: the file invokes methods, and Options.Dial is nil")
	}
	return a, nil
}

// describe registers all methods, and looks at their routes.
func (a *App) describe() error {
	var errs Errors
	for _, m := range a.file.Methods {
		if err := a.register(a.methods, m, notServed); err != nil {
			return err
		}
		if m.Verb == "" || a.options.Route == nil {
			continue
		}
		alone := everywire.NewRegistry(everywire.WithLogger(a.log))
		if err := a.register(alone, m, notServed); err != nil {
			return err
		}
		if err := a.options.Route(alone); err != nil {
			errs = append(errs, a.file.src.errorAt(m.RoutePos, err.Error()))
		}
	}
	return errs.err()
}

// notServed is the handler of methods that are only described.
func notServed(context.Context, any) (any, error) {
	return nil, status.Error(codes.Unimplemented, "the method is only described")
}

// register adds a method to a registry, which panics at what it cannot have.
func (a *App) register(reg *everywire.Registry, m *Method, handler func(context.Context, any) (any, error)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Errors{a.file.src.errorAt(m.Pos, fmt.Sprint(p))}
		}
	}()
	options := []everywire.MethodOption{everywire.WithIdempotency(m.Idempotency), everywire.WithDoc(m.Doc)}
	if m.Verb != "" {
		body := "*"
		if m.Verb == "GET" || m.Verb == "DELETE" {
			body = ""
		}
		options = append(options, everywire.WithRoute(m.Verb, m.Path, body))
	}
	everywire.HandleTypes(reg, m.Name, a.bindings.of(m.Request).typ, a.bindings.of(m.Reply).typ, handler, options...)
	return nil
}

// Run serves and runs until ctx ends, or nothing is left to do: all timers have had
// their last tick and nothing is served, or Options.Runs have ended. It returns when
// all runs have.
func (a *App) Run(ctx context.Context) (err error) {
	if a.ran.Swap(true) {
		return errors.New("flow: an App runs once")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer func() { err = errors.Join(err, a.hangUp()) }()
	if err := a.dial(); err != nil {
		return err
	}
	var serving sync.WaitGroup
	served := make(chan error, len(a.servers))
	for _, s := range a.servers {
		one, err := a.options.Serve(ctx, s.reg, s.target)
		if err != nil {
			stop()
			serving.Wait()
			return err
		}
		a.log.LogAttrs(ctx, slog.LevelInfo, "serving", slog.String("target", one.Addr()))
		serving.Go(func() {
			err := one.Wait()
			if err != nil || ctx.Err() == nil {
				stop() // a server that has gone takes the others with it
			}
			served <- err
		})
	}
	if a.options.Ready != nil {
		a.options.Ready(ctx)
	}
	// Runs of timers go on for a while when ctx has ended.
	patient, cutOff := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cutOff(nil)
	var timers sync.WaitGroup
	for _, t := range a.triggers {
		if t.def.Timer != nil {
			timers.Go(func() { a.tick(ctx, patient, t) })
		}
	}
	idle := make(chan struct{})
	go func() {
		timers.Wait()
		close(idle)
	}()
	if len(a.servers) == 0 {
		select {
		case <-ctx.Done():
		case <-a.full:
		case <-idle:
		}
	} else {
		select {
		case <-ctx.Done():
		case <-a.full:
		}
	}
	stop()
	drained := time.AfterFunc(a.options.Drain, func() { cutOff(errDrained) })
	<-idle
	if !drained.Stop() {
		err = fmt.Errorf("runs that had not finished after %v were stopped", a.options.Drain)
	}
	serving.Wait()
	close(served)
	for e := range served {
		err = errors.Join(err, e)
	}
	return err
}

var errDrained = errors.New("the time to finish is over")

// dial makes the connections, one for each target.
func (a *App) dial() error {
	for _, i := range a.invokes {
		conn := a.conns[i.def.Target]
		if conn == nil {
			var err error
			if conn, err = a.options.Dial(i.def.Target, a.methods); err != nil {
				return err
			}
			a.conns[i.def.Target] = conn
		}
		i.conn = conn
	}
	return nil
}

func (a *App) hangUp() error {
	var errs []error
	for _, conn := range a.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// Failed is how many runs that timers started have failed so far. A run that a call
// started is not among them: its client knows.
func (a *App) Failed() int64 { return a.failures.Load() }

// begin asks whether another run may begin.
func (a *App) begin() bool {
	return a.options.Runs <= 0 || a.begun.Add(1) <= a.options.Runs
}

// end notes that a run has ended that begin let begin.
func (a *App) end() {
	if a.options.Runs > 0 && a.ended.Add(1) == a.options.Runs {
		close(a.full)
	}
}
