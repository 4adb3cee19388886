package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/flowmetrics"
	"github.com/everywire/everywire/wire"
)

type flowCmd struct {
	Run     flowRunCmd     `cmd:"" help:"Run the flows of files."`
	Check   flowCheckCmd   `cmd:"" help:"Say all that is wrong with flow files."`
	Draw    flowDrawCmd    `cmd:"" help:"Draw the flows of a file as SVG."`
	Convert flowConvertCmd `cmd:"" help:"Make a flow file of an app of Flogo."`
}

// flowFiles are the files of a command, and what is set in them.
type flowFiles struct {
	Files []string `arg:"" name:"file" help:"Flow files (YAML), or apps of Flogo (JSON)."`
	Set   []string `placeholder:"NAME=VALUE" sep:"none" help:"Give a setting of the files another value. Repeat it for more."`
}

// read reads the files. Errors in them are in errs, in the order of the files.
func (c *flowFiles) read(ctx context.Context) (files []*flow.File, errs flow.Errors, err error) {
	assignments, err := c.assignments()
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, name := range c.Files {
		text, err := readFlowFile(name)
		if err != nil {
			return nil, nil, err
		}
		plain, _ := parseFlow(ctx, name, text, nil) // for the names of its settings: its errors are told below
		var set []flow.Assignment
		for _, a := range assignments {
			if slices.ContainsFunc(plain.Settings, func(s *flow.Setting) bool { return s.Name == a.Name }) {
				known[a.Name] = true
				set = append(set, a)
			}
		}
		file, err := parseFlow(ctx, name, text, set)
		errs = append(errs, asErrors(err)...)
		errs = append(errs, asErrors(flow.Check(file, checkTarget))...)
		files = append(files, file)
	}
	for _, a := range assignments {
		if !known[a.Name] && len(errs) == 0 {
			return nil, nil, usagef("--set %s: no file has that setting: they have %s", a.Name, settingNames(files))
		}
	}
	return files, errs.Sorted(), nil
}

func readFlowFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name) //nolint:gosec // the user names it
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		return nil, usagef("the flow file %s cannot be read: %w", name, err)
	}
	return text, nil
}

func (c *flowFiles) assignments() ([]flow.Assignment, error) {
	var all []flow.Assignment
	for _, text := range c.Set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--set %q is not NAME=VALUE", text)
		}
		all = append(all, flow.Assignment{Name: name, Value: value})
	}
	return all, nil
}

func settingNames(files []*flow.File) string {
	var names []string
	for _, f := range files {
		for _, s := range f.Settings {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Compact(names), ", ")
}

// asErrors are the errors of a file.
func asErrors(err error) flow.Errors {
	var errs flow.Errors
	errors.As(err, &errs) // what package flow promises
	return errs
}

// checkTarget says what is wrong with a target, without looking at the network.
func checkTarget(target string, server bool) error {
	err := func() error {
		if server {
			_, err := wire.ParseServed(target)
			return err
		}
		conn, err := wire.Dial(target, wire.WithCodecs(codecs()...))
		if err != nil {
			return err
		}
		return conn.Close()
	}()
	var bad *wire.TargetError
	if errors.As(err, &bad) {
		return errors.New(bad.Reason) // the target stands in the line that is shown
	}
	return err
}

type flowCheckCmd struct {
	flowFiles
	JSON bool `name:"json" help:"Print the errors as JSON."`
}

// Help is the long help with examples.
func (*flowCheckCmd) Help() string {
	return `Examples:

  everywire flow check hello-server.yaml hello-client.yaml
  everywire flow check hello-client.yaml --set name=Ada --json

All errors are told at once, each with its line and what is allowed there. The exit status is 1 if
there are any. Targets are checked for what they say; nothing is dialled.`
}

// Run checks.
func (c *flowCheckCmd) Run(a *app) error {
	files, errs, err := c.read(a.ctx)
	if err != nil {
		return err
	}
	for i := 0; i < len(files) && len(errs) == 0; i++ { // what only the types tell, such as a route with a field that is not there
		_, err := flow.New(files[i], flowOptions(slog.New(slog.DiscardHandler), new(observer), 0))
		if errs = asErrors(err); err != nil && len(errs) == 0 {
			return err
		}
	}
	if c.JSON {
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if errs == nil {
			errs = flow.Errors{}
		}
		if err := e.Encode(map[string]any{"errors": errs}); err != nil {
			return err
		}
	} else {
		fmt.Fprint(a.stdout, errs.Detail())
	}
	if len(errs) > 0 {
		return fmt.Errorf("%s", counted(len(errs), c.Files))
	}
	if !c.JSON {
		for _, f := range files {
			fmt.Fprintf(a.stdout, "%s: good: %d triggers, %d flows\n", f.Name, len(f.Triggers), len(f.Flows))
		}
	}
	return nil
}

// counted says how many errors there are.
func counted(n int, files []string) string {
	if n == 1 {
		return "there is an error in " + strings.Join(files, ", ")
	}
	return fmt.Sprintf("there are %d errors in %s", n, strings.Join(files, ", "))
}

type flowRunCmd struct {
	flowFiles
	For   time.Duration `placeholder:"10s" help:"End after so long (default when it is interrupted, or nothing is left to do)."`
	Count int64         `placeholder:"N" help:"End when so many runs have ended, of each file."`
	Drain time.Duration `default:"10s" help:"How long runs and calls in flight may take to finish at the end."`
	JSON  bool          `name:"json" help:"Print what ran, and how long it took, as JSON when all has ended (default a table)."`

	Metrics      string `placeholder:"HOST:PORT" group:"seen from outside" help:"Where to show /metrics for Prometheus and nothing else, such as :9464 (default nowhere)."`
	observeFlags `group:"seen from outside"`
}

// Help is the long help with examples.
func (*flowRunCmd) Help() string {
	return `Examples:

  everywire flow run examples/flow/hello-server.yaml
  everywire flow run examples/flow/hello-client.yaml --for 10s --set name=Ada
  everywire flow run examples/flow/hello-server-grpc.yaml examples/flow/hello-client-grpc.yaml --count 100
  everywire flow run examples/flow/hello-client.yaml --count 100 --json
  everywire flow run examples/flow/hello-client.yaml --metrics :9464
  curl -s localhost:9464/metrics | grep ^flow_

What is served and what log steps write is on standard error; how often flows ran, and how long they
took, is on standard output at the end. Several files run beside each other; all end when one fails.
SIGINT or SIGTERM ends them when what is under way has finished, a second one at once. The exit status
is 1 if a run that a timer started has failed, unless it was a signal that ended them.
docs/spec/flow.md tells what a file may say.`
}

// Run runs the flows.
func (c *flowRunCmd) Run(a *app) (err error) {
	switch {
	case c.For < 0:
		return usagef("--for %v is no time to run", c.For)
	case c.Count < 0:
		return usagef("--count %d is no number of runs", c.Count)
	}
	files, errs, err := c.read(a.ctx)
	if err != nil {
		return err
	}
	if len(errs) > 0 {
		fmt.Fprint(a.stderr, errs.Detail())
		return fmt.Errorf("%s", counted(len(errs), c.Files))
	}
	logger := c.logger(a)
	var names []string
	for _, f := range files {
		names = append(names, f.App)
	}
	seen, err := c.start(a.ctx, logger, names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seen.close(a.ctx)) }()
	page, observers, err := c.observe(a, logger, seen)
	if err != nil {
		return err
	}
	if page != nil {
		defer func() { err = errors.Join(err, page.close()) }()
	}
	summary := newFlowSummary()
	options := flowOptions(logger, seen, c.Drain)
	options.Runs, options.Drain, options.Observer = c.Count, c.Drain, flow.Observers(append(observers, summary)...)
	options.Ready = newBarrier(len(files)).wait // a file may call what another one serves
	var apps []*flow.App
	for _, f := range files {
		app, err := flow.New(f, options)
		if errs := asErrors(err); len(errs) > 0 {
			fmt.Fprint(a.stderr, errs.Detail())
			return fmt.Errorf("%s", counted(len(errs), []string{f.Name}))
		}
		if err != nil {
			return err
		}
		apps = append(apps, app)
	}
	ctx, stop := context.WithCancel(a.ctx)
	defer stop()
	if c.For > 0 {
		ctx, stop = context.WithTimeout(ctx, c.For)
		defer stop()
	}
	context.AfterFunc(ctx, seen.stopping)
	quiet := context.AfterFunc(a.ctx, func() {
		fmt.Fprintf(a.stderr, "stopping: runs and calls in flight have %v to finish; a second signal stops at once\n", c.Drain)
	})
	defer quiet()
	err = runApps(ctx, stop, apps)
	doc := summary.doc(files)
	if c.JSON {
		err = errors.Join(err, doc.json(a.stdout))
	} else {
		err = errors.Join(err, doc.print(a.stdout))
	}
	if a.ctx.Err() == nil {
		err = errors.Join(err, failedRuns(apps))
	}
	return err
}

// observe makes metrics, and shows them where the flags say.
func (c *flowRunCmd) observe(a *app, logger *slog.Logger, seen *observer) (*metricsPage, []flow.Observer, error) {
	var reg *prometheus.Registry
	switch {
	case seen.admin != nil:
		fmt.Fprintf(a.stderr, "metrics, profiles and health on http://%v/\n", seen.admin.addr)
		reg = seen.admin.registry
	case c.Metrics != "":
		var counted wire.Option
		var err error
		if reg, counted, err = processMetrics(); err != nil {
			return nil, nil, err
		}
		seen.options = append(seen.options, counted)
	default:
		return nil, nil, nil
	}
	metrics, err := flowmetrics.New(reg)
	if err != nil || c.Metrics == "" {
		return nil, []flow.Observer{metrics}, err
	}
	page, err := serveMetrics(a.ctx, c.Metrics, reg, logger)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(a.stderr, "metrics on http://%v/metrics\n", page.addr)
	return page, []flow.Observer{metrics}, nil
}

// failedRuns is an error if runs of timers have failed.
func failedRuns(apps []*flow.App) error {
	var failed int64
	for _, app := range apps {
		failed += app.Failed()
	}
	switch failed {
	case 0:
		return nil
	case 1:
		return errors.New("a run that a timer started failed: the log says why")
	}
	return fmt.Errorf("%d runs that timers started failed: the log says why", failed)
}

// A barrier lets several pass when all have come.
type barrier struct {
	missing atomic.Int64
	all     chan struct{}
}

func newBarrier(n int) *barrier {
	b := &barrier{all: make(chan struct{})}
	b.missing.Store(int64(n))
	return b
}

// wait waits for the others, or for the end of ctx.
func (b *barrier) wait(ctx context.Context) {
	if b.missing.Add(-1) == 0 {
		close(b.all)
	}
	select {
	case <-b.all:
	case <-ctx.Done():
	}
}

// runApps runs apps beside each other. One that fails ends the others.
func runApps(ctx context.Context, stop context.CancelFunc, apps []*flow.App) error {
	errs := make([]error, len(apps))
	var all sync.WaitGroup
	for i, app := range apps {
		all.Go(func() {
			if errs[i] = app.Run(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// flowOptions give an app the wires.
func flowOptions(logger *slog.Logger, seen *observer, drain time.Duration) flow.Options {
	return flow.Options{
		Logger: logger,
		Route:  checkRoute,
		Dial: func(target string, methods *everywire.Registry) (flow.Conn, error) {
			return wire.Dial(target, append(slices.Clone(seen.calls), wire.WithMethods(methods), wire.WithCodecs(codecs()...))...)
		},
		Serve: func(ctx context.Context, methods *everywire.Registry, target string) (flow.Server, error) {
			server, err := wire.Serve(ctx, methods, []string{target}, append(slices.Clone(seen.options),
				wire.WithLogger(logger), wire.WithDrainTimeout(drain), wire.WithCodecs(codecs()...))...)
			if err != nil {
				return nil, err
			}
			return flowServer{server}, nil
		},
	}
}

// A flowServer is a wire's server as package flow has it.
type flowServer struct{ *wire.Server }

func (s flowServer) Addr() string { return s.Targets()[0].String() }

// checkRoute asks the wire REST, which knows what a route may be.
func checkRoute(method *everywire.Registry) error {
	_, err := wire.NewHandler(method, "rest", wire.WithLogger(slog.New(slog.DiscardHandler)))
	var bad *wire.TargetError
	if errors.As(err, &bad) {
		err = errors.New(bad.Reason) // of a target that is not the user's
	}
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), "rest: "))
}
