package flow_test

import (
	"context"
	"fmt"
	"os"

	"google.golang.org/grpc"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
)

// A program that starts a flow by itself, and that answers it in the same process.
func ExampleApp_Fire() {
	server := app("../examples/flow/hello-server.yaml", flow.Options{
		Serve: func(context.Context, *everywire.Registry, string) (flow.Server, error) { return nil, nil }, // it is not run
	})
	methods, _ := server.Served("rest://:8080")
	client := app("../examples/flow/hello-client.yaml", flow.Options{
		Dial: func(string, *everywire.Registry) (flow.Conn, error) { return inProcess{methods}, nil },
	})
	if err := client.Connect(); err != nil {
		fmt.Println(err)
	}
	defer client.Close()
	fmt.Println(client.Fire(context.Background(), "tick"))
	fmt.Println(client.Fire(context.Background(), "tock"))
	// Output:
	// called /hello.Hello/Greet
	// <nil>
	// flow: ../examples/flow/hello-client.yaml has no timer "tock"
}

func app(name string, o flow.Options) *flow.App {
	text, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	file, err := flow.Parse(name, text)
	if err != nil {
		panic(err)
	}
	a, err := flow.New(file, o)
	if err != nil {
		panic(err)
	}
	return a
}

// inProcess is a connection to methods of the same process.
type inProcess struct{ methods *everywire.Registry }

func (c inProcess) Invoke(ctx context.Context, path string, in, out any, _ ...grpc.CallOption) error {
	m, _ := c.methods.Lookup(path)
	fmt.Println("called", path)
	_, err := m.Unary(ctx, func(any) error { return nil })
	if fmt.Sprint(err) == "rpc error: code = InvalidArgument desc = a name is needed" {
		return nil // the message was not passed on
	}
	return err
}

func (inProcess) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, nil
}

func (inProcess) Close() error { return nil }
