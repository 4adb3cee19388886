package work

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	ourjson "github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/plan"
)

//go:embed hello/server.yaml
var serverFile []byte

//go:embed hello/client.yaml
var clientFile []byte

// What the flow files call things.
const (
	helloServed = "rest://the-lab"
	helloTimer  = "tick"
	// greeted is the reply to the name that the client's file sets.
	greeted = `{"text":"Hello, World, welcome!"}`
)

// hello makes the work of two flows: the server's answers with a greeting; the
// client's asks for it and logs it. A call of the workload is a run of the client's
// flow, which a tick of its timer starts elsewhere.
func (w *Work) hello() error {
	w.seen = new(seen)
	app, err := newFlow("hello/server.yaml", serverFile, flow.Options{
		Serve:    func(context.Context, *everywire.Registry, string) (flow.Server, error) { return nil, errNotRun },
		Observer: flowTimes{w.seen},
	})
	if err != nil {
		return err
	}
	reg, ok := app.Served(helloServed)
	if !ok {
		return fmt.Errorf("hello/server.yaml serves nothing on %s", helloServed)
	}
	w.registry = reg
	w.client = newHelloClient
	return nil
}

var errNotRun = status.Error(codes.Internal, "the app is not run")

// newFlow makes an app that logs as one does that is run by itself; nobody reads it.
func newFlow(name string, text []byte, o flow.Options) (*flow.App, error) {
	file, err := flow.Parse(name, text)
	if err != nil {
		return nil, err
	}
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	return flow.New(file, o)
}

// flowTimes notes how long a server's flows take.
type flowTimes struct{ *seen }

func (flowTimes) FlowStarted(*flow.FlowInfo)                                {}
func (f flowTimes) FlowEnded(_ *flow.FlowInfo, took time.Duration, _ error) { f.note(took) }
func (flowTimes) ActivityStarted(*flow.ActivityInfo)                        {}
func (flowTimes) ActivityEnded(*flow.ActivityInfo, time.Duration, error)    {}
func (flowTimes) TickSkipped(*flow.TriggerInfo)                             {}

// A helloClient is the client's app as a connection: Invoke runs its flow once.
type helloClient struct {
	app  *flow.App
	conn *witness
}

func newHelloClient(_ plan.Arm, to Conn) (*Client, error) {
	c := &helloClient{conn: &witness{Conn: to}}
	var err error
	c.app, err = newFlow("hello/client.yaml", clientFile, flow.Options{
		Dial: func(string, *everywire.Registry) (flow.Conn, error) { return c.conn, nil },
	})
	if err != nil {
		return nil, err
	}
	if err := c.app.Connect(); err != nil {
		return nil, err
	}
	return &Client{Conn: c, Load: greetings{}, Close: c.app.Close}, nil
}

func (c *helloClient) Invoke(ctx context.Context, _ string, _, out any, _ ...grpc.CallOption) error {
	err := c.app.Fire(ctx, helloTimer)
	*out.(*any) = c.conn.reply //nolint:forcetypeassert // the caller is greetings
	return err
}

func (c *helloClient) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "a flow is run, not streamed")
}

// A witness keeps the last reply. One flow runs at a time on it.
type witness struct {
	Conn
	reply any
}

func (w *witness) Invoke(ctx context.Context, path string, in, out any, opts ...grpc.CallOption) error {
	w.reply = nil
	err := w.Conn.Invoke(ctx, path, in, out, opts...)
	if err == nil {
		w.reply = out
	}
	return err
}

// greetings are the callers of hello.
type greetings struct{}

func (greetings) Caller(uint64, int) load.Caller { return new(greeting) }

type greeting struct{ reply any }

func (g *greeting) Next() (path string, in, out any) {
	g.reply = nil
	return "/hello.Hello/Greet", nil, &g.reply
}

func (g *greeting) Check() string {
	text, err := ourjson.Codec{}.Append(nil, g.reply)
	if err != nil {
		return err.Error()
	}
	if string(text) != greeted {
		return fmt.Sprintf("the flow got %s, want %s", text, greeted)
	}
	return ""
}
