package flow

import (
	"context"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/everywire/everywire"
)

// Options are what an app needs that no file can say.
type Options struct {
	// Dial makes a connection to a target. methods describe what the file declares,
	// for wires that need their routes. Without it the file cannot have an invoke.
	Dial func(target string, methods *everywire.Registry) (Conn, error)
	// Serve serves methods on a target until the context ends, and then lets the
	// calls in flight finish. Without it the file cannot serve.
	Serve func(ctx context.Context, methods *everywire.Registry, target string) (Server, error)
	// Route says what is wrong with the route of a method, which is alone in method. It
	// may be nil: what is wrong is then found when the method is served.
	Route func(method *everywire.Registry) error
	// Ready is called when all methods are served. Timers begin when it returns, so
	// that one app can wait for others that it calls; it may be nil, and returns when
	// ctx ends.
	Ready func(ctx context.Context)
	// Observer sees what the app does; it may be nil.
	Observer Observer
	// Logger is where log steps write, and what goes wrong. The default is
	// slog.Default().
	Logger *slog.Logger
	// Runs is how many runs are started by all triggers together, after which the
	// app ends. 0 is no bound.
	Runs int64
	// Drain bounds how long runs that a timer started may take to finish when the
	// app ends; 10 s by default. Calls of served methods are Serve's.
	Drain time.Duration
}

// A Conn is a connection that can be closed.
type Conn interface {
	grpc.ClientConnInterface
	io.Closer
}

// A Server serves until the context that it was started with ends.
type Server interface {
	// Addr is the target that it serves on, with the port that it got.
	Addr() string
	// Wait waits until it has ended, and says how.
	Wait() error
}

// Check says what is wrong with the targets of a file. target is asked for each, with
// server set for one to serve on; it says what is wrong or returns nil. An error of
// Check is of type [Errors].
func Check(file *File, target func(target string, server bool) error) error {
	src := &source{name: file.src.name, lines: file.src.lines, texts: file.src.texts, from: file.src.from}
	for _, t := range file.Triggers {
		if t.Service != nil && t.Service.On != "" {
			if err := target(t.Service.On, true); err != nil {
				src.bad(t.Service.OnPos, "%v", err)
			}
		}
	}
	for _, f := range file.Flows {
		eachStep(f.Steps, func(s *Step) {
			if s.Invoke != nil && s.Invoke.Target != "" {
				if err := target(s.Invoke.Target, false); err != nil {
					src.bad(s.Invoke.TargetPos, "%v", err)
				}
			}
		})
	}
	return src.errs.err()
}

// eachStep calls fn for all steps, also those within others.
func eachStep(steps []*Step, fn func(*Step)) {
	for _, s := range steps {
		fn(s)
		eachStep(s.Parallel, fn)
	}
}
