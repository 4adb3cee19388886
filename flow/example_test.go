package flow_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/wire"
)

// A program takes the two files of the hello pair as they are, serves the one and
// starts the other by itself, and calls on a wire that neither names: it says where
// by its own Serve and Dial. An observer sees how long each run takes.
func ExampleNew() {
	times := &runTimes{}
	server := app("../examples/flow/hello-server.yaml", flow.Options{
		Observer: times,
		Serve:    neverServed, // the app is asked, and not run
	})
	methods, ok := server.Served("rest://:8080") // as the file has it
	if !ok {
		fmt.Println("the file does not serve there")
	}
	listening, err := wire.Serve(context.Background(), methods, []string{"msgpackrpc+tcp://127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = listening.Shutdown(context.Background()) }()

	client := app("../examples/flow/hello-client.yaml", flow.Options{
		Observer: times,
		Logger:   slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
		Dial: func(_ string, methods *everywire.Registry) (flow.Conn, error) { // whatever target the file has
			return wire.Dial(listening.Targets()[0].String(), wire.WithMethods(methods))
		},
	}, flow.Assignment{Name: "name", Value: "Ada"})
	if err := client.Connect(); err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for range 2 {
		if err := client.Fire(context.Background(), "tick"); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(client.Fire(context.Background(), "tock"))
	// Output:
	// the flow greet of hello-server 1.0.0 took some time: true
	// level=INFO msg="Hello, Ada, welcome!" flow=ask step=log
	// the flow ask of hello-client 1.0.0 took some time: true
	// the flow greet of hello-server 1.0.0 took some time: true
	// level=INFO msg="Hello, Ada, welcome!" flow=ask step=log
	// the flow ask of hello-client 1.0.0 took some time: true
	// flow: ../examples/flow/hello-client.yaml has no timer "tock": it has tick
}

// app makes an app of a file.
func app(name string, o flow.Options, set ...flow.Assignment) *flow.App {
	text, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	file, err := flow.Parse(name, text, set...)
	if err != nil {
		panic(err)
	}
	a, err := flow.New(file, o)
	if err != nil {
		panic(err)
	}
	return a
}

func neverServed(context.Context, *everywire.Registry, string) (flow.Server, error) {
	panic("an app that is not run serves nothing")
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// runTimes is an observer of runs.
type runTimes struct{}

func (*runTimes) FlowStarted(*flow.FlowInfo) {}
func (*runTimes) FlowEnded(f *flow.FlowInfo, took time.Duration, err error) {
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("the flow %s of %s %s took some time: %v\n", f.Flow, f.App, f.Version, took > 0)
}
func (*runTimes) ActivityStarted(*flow.ActivityInfo)                     {}
func (*runTimes) ActivityEnded(*flow.ActivityInfo, time.Duration, error) {}
func (*runTimes) TickSkipped(*flow.TriggerInfo)                          {}
