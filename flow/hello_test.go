package flow_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/wire"
)

const examples = "../examples/flow/"

// The two variants of the example differ in their target, and in nothing else.
func TestVariantsDifferInOneLine(t *testing.T) {
	for _, c := range []struct{ rest, grpc, restLine, grpcLine string }{
		{"hello-server.yaml", "hello-server-grpc.yaml", "on: rest://:8080", "on: grpc://:8080"},
		{"hello-client.yaml", "hello-client-grpc.yaml", "target: rest://localhost:8080", "target: grpc://localhost:8080"},
	} {
		rest, grpc := lines(t, c.rest), lines(t, c.grpc)
		if len(rest) != len(grpc) {
			t.Fatalf("%s has %d lines, %s has %d", c.rest, len(rest), c.grpc, len(grpc))
		}
		differ := 0
		for i := range rest {
			if rest[i] == grpc[i] {
				continue
			}
			differ++
			// Comments may name the other variant.
			for line, want := range map[string]string{rest[i]: c.restLine, grpc[i]: c.grpcLine} {
				if code, _, _ := strings.Cut(line, " #"); strings.TrimSpace(code) != want {
					t.Errorf("line %d is %q, want %q", i+1, line, want)
				}
			}
		}
		if differ != 1 {
			t.Errorf("%s and %s differ in %d lines", c.rest, c.grpc, differ)
		}
	}
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(examples + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// A server that wire serves, as package flow has it.
type server struct{ *wire.Server }

func (s server) Addr() string { return s.Targets()[0].String() }

// The pair runs on every wire when one line of each file is another: the client's
// timer starts runs, and each logs what the server's flow has made.
func TestHelloOnEveryWire(t *testing.T) {
	for _, shape := range []string{"rest://", "grpc://", "connect://", "jsonrpc+http://", "jsonrpc+tcp://", "msgpackrpc+tcp://"} {
		t.Run(shape, func(t *testing.T) {
			served := make(chan string, 1)
			serve := func(ctx context.Context, methods *everywire.Registry, target string) (flow.Server, error) {
				if target != shape+"127.0.0.1:0" {
					t.Errorf("served on %s", target)
				}
				s, err := wire.Serve(ctx, methods, []string{target})
				if err != nil {
					return nil, err
				}
				served <- s.Targets()[0].String()
				return server{s}, nil
			}
			text := strings.Replace(strings.Join(lines(t, "hello-server.yaml"), "\n"), "rest://:8080", shape+"127.0.0.1:0", 1)
			ctx, stop := context.WithCancel(t.Context())
			quiet, _ := logText()
			serverApp := made(t, text, flow.Options{Serve: serve, Logger: quiet})
			ended := make(chan error, 1)
			go func() { ended <- serverApp.Run(ctx) }()
			defer func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()
			var target string
			select {
			case target = <-served:
			case err := <-ended:
				ended <- err
				t.Fatal(err)
			}

			text = strings.Replace(strings.Join(lines(t, "hello-client.yaml"), "\n"), "rest://localhost:8080", target, 1)
			text = strings.Replace(text, "every: 100ms", "every: 2ms", 1)
			file, err := flow.Parse("client.yaml", []byte(text), flow.Assignment{Name: "name", Value: " Ada "})
			if err != nil {
				t.Fatal(err)
			}
			logger, logged := logText()
			runs := new(counter)
			client, err := flow.New(file, flow.Options{
				Logger: logger, Observer: runs, Runs: 5,
				Dial: func(target string, methods *everywire.Registry) (flow.Conn, error) {
					return wire.Dial(target, wire.WithMethods(methods))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Run(t.Context()); err != nil {
				t.Error(err)
			}
			if want := strings.Repeat("level=INFO msg=\"Hello, Ada, welcome!\" flow=ask step=log\n", 5); logged.String() != want {
				t.Errorf("logged\n%swant\n%s", logged, want)
			}
			if runs.String() != "ask 5, ask.ask 5, ask.log 5" {
				t.Errorf("observed %v", runs)
			}
		})
	}
}

// A counter counts what has ended without an error.
type counter struct {
	mu   sync.Mutex
	good map[string]int
}

func (c *counter) ended(name string, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.good == nil {
		c.good = map[string]int{}
	}
	if err == nil && took > 0 {
		c.good[name]++
	}
}

func (*counter) FlowStarted(*flow.FlowInfo) {}
func (c *counter) FlowEnded(f *flow.FlowInfo, took time.Duration, err error) {
	c.ended(f.Flow, took, err)
}
func (*counter) ActivityStarted(*flow.ActivityInfo) {}
func (c *counter) ActivityEnded(a *flow.ActivityInfo, took time.Duration, err error) {
	c.ended(a.Flow+"."+a.Activity, took, err)
}
func (*counter) TickSkipped(*flow.TriggerInfo) {}

func (c *counter) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("ask %d, ask.ask %d, ask.log %d", c.good["ask"], c.good["ask.ask"], c.good["ask.log"])
}

// The server refuses a request without a name, on every wire alike, and one trigger
// each may serve a method on several targets at once.
func TestHelloServedOnSeveral(t *testing.T) {
	text := strings.Join(lines(t, "hello-server.yaml"), "\n")
	text = strings.Replace(text, "rest://:8080", "rest://127.0.0.1:0", 1)
	text = strings.Replace(text, "triggers:\n", `triggers:
  second:
    on: any://127.0.0.1:0
    method: hello.Hello/Greet
    flow: greet
    with: {name: '${{ trigger.request.name }}'}
`, 1)
	targets := make(chan string, 2)
	a := made(t, text, flow.Options{Serve: func(ctx context.Context, methods *everywire.Registry, target string) (flow.Server, error) {
		s, err := wire.Serve(ctx, methods, []string{target})
		if err != nil {
			return nil, err
		}
		targets <- s.Targets()[0].String()
		return server{s}, nil
	}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	type message struct {
		Name string `json:"name" wire:"1"`
	}
	type reply struct {
		Text string `json:"text" wire:"1"`
	}
	for range 2 {
		for _, target := range every(<-targets) {
			conn, err := wire.Dial(target)
			if err != nil {
				t.Fatal(err)
			}
			got, err := everywire.Call[reply](t.Context(), conn, "hello.Hello/Greet", &message{"Ada"})
			if err != nil || got.Text != "Hello, Ada, welcome!" {
				t.Errorf("%s: %v, %v", target, got, err)
			}
			_, err = everywire.Call[reply](t.Context(), conn, "hello.Hello/Greet", &message{" "})
			if fmt.Sprint(err) != "rpc error: code = InvalidArgument desc = a name is needed" {
				t.Errorf("%s: %v", target, err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// every are the targets that name a served one, one for each wire.
func every(served string) []string {
	address, ok := strings.CutPrefix(served, "any://")
	if !ok {
		return []string{served}
	}
	return []string{"rest://" + address, "grpc://" + address, "connect://" + address, "jsonrpc+tcp://" + address, "msgpackrpc+tcp://" + address}
}

// A target that cannot be served ends the app, and what it serves already.
func TestNotServed(t *testing.T) {
	text := strings.Replace(strings.Join(lines(t, "hello-server.yaml"), "\n"), "triggers:\n", `triggers:
  second:
    on: grpc://:9
    method: hello.Hello/Greet
    flow: greet
    with: {name: x}
`, 1)
	waited := make(chan struct{})
	a := made(t, text, flow.Options{Serve: func(ctx context.Context, _ *everywire.Registry, target string) (flow.Server, error) {
		if target != "grpc://:9" {
			return nil, fmt.Errorf("%s is taken", target)
		}
		return waiting{ctx, waited}, nil
	}})
	if err := a.Run(t.Context()); fmt.Sprint(err) != "rest://:8080 is taken" {
		t.Error(err)
	}
	select {
	case <-waited:
	default:
		t.Error("Run has not waited for the first server")
	}
}

type waiting struct {
	ctx  context.Context
	done chan struct{}
}

func (waiting) Addr() string { return "grpc://:9" }
func (w waiting) Wait() error {
	<-w.ctx.Done()
	close(w.done)
	return nil
}
