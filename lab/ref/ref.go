// Package ref holds the reference arms: servers and clients that are not ours,
// written by hand with the usual library as a careful engineer would. Beside a
// wire of ours they tell what a result owes to the wire from what it owes to
// our implementation of it.
//
// Every arm decodes and encodes the same Go values at both ends as our wires
// do: two integers and their sum, a whole document as any, or a message of the
// type that is given.
package ref

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// The reference implementations.
const (
	// NetHTTP is net/http with encoding/json.
	NetHTTP = "net/http"
	// NetHTTPOurJSON is the same code with our codec/json, which tells the
	// HTTP part of a difference from the JSON part.
	NetHTTPOurJSON = "net/http+json"
	// GRPCGo is grpc-go with generated stubs.
	GRPCGo = "grpc-go"
	// GRPCGoOurProtobuf is grpc-go with plain structs and our codec/protobuf: it
	// tells HTTP/2 from the messages, and has typed documents, for which nobody
	// generated code.
	GRPCGoOurProtobuf = "grpc-go+protobuf"
	// JRPC2 is creachadair/jrpc2 over TCP, one message a line.
	JRPC2 = "jrpc2"
	// Ping is a bare TCP socket that echoes 64 bytes, whatever the service:
	// the floor. Its connection ignores the messages that it is given.
	Ping = "ping"
)

// Names returns the names of all reference implementations.
func Names() []string {
	return []string{NetHTTP, NetHTTPOurJSON, GRPCGo, GRPCGoOurProtobuf, JRPC2, Ping}
}

// Known says whether name is one of Names.
func Known(name string) bool {
	_, ok := implementations[name]
	return ok
}

// Options is what both ends of an implementation must know.
type Options struct {
	// Service is "arith", "echo", "kv" or "relay", of which they serve what its
	// first service calls.
	Service string
	// Type is the type of echo's messages; nil for documents.
	Type reflect.Type
	// ReadDelay and WriteDelay are how long kv takes.
	ReadDelay, WriteDelay time.Duration
	// Delay is how long the service behind relay takes.
	Delay time.Duration
	// MaxMessage is the limit on one message in bytes, 0 for 4 MiB. jrpc2 has
	// no such limit.
	MaxMessage int
}

func (o Options) withDefaults() Options {
	if o.MaxMessage == 0 {
		o.MaxMessage = everywire.DefaultMaxMessage
	}
	return o
}

// Dialer opens a connection to host:port.
type Dialer = func(ctx context.Context, addr string) (net.Conn, error)

// Conn is a connection that is closed when it is no longer needed.
type Conn interface {
	grpc.ClientConnInterface
	io.Closer
}

// server serves on a listener until stop, which ends open connections.
type server interface {
	serve(net.Listener) error
	stop(context.Context) error
}

type implementation struct {
	server func(Options) server
	dial   func(ctx context.Context, addr string, dial Dialer, o Options) (Conn, error)
}

var implementations = map[string]implementation{
	NetHTTP:        {newHTTPServer(stdJSON{}), dialHTTP(stdJSON{})},
	NetHTTPOurJSON: {newHTTPServer(ourJSON{}), dialHTTP(ourJSON{})},
	GRPCGo:         {newGRPCServer, dialGRPC},
	JRPC2:          {newJRPC2Server, dialJRPC2},
	Ping:           {newPingServer, dialPing},

	GRPCGoOurProtobuf: {newPlainGRPCServer, dialPlainGRPC},
}

func find(name string, o Options) (implementation, error) {
	impl, ok := implementations[name]
	if !ok {
		return impl, fmt.Errorf("unknown reference implementation %q; known are %q", name, Names())
	}
	return impl, Serves(name, o)
}

// Serves says why an implementation cannot serve what the options ask for, or nil.
func Serves(name string, o Options) error {
	switch {
	case name == Ping:
		return nil
	case !slices.Contains([]string{"arith", "echo", "kv", "relay"}, o.Service):
		return fmt.Errorf("the reference implementations serve arith, echo, kv and relay, not %q", o.Service)
	case o.Service == "relay" && name != NetHTTP && name != GRPCGo:
		return fmt.Errorf("%s does not serve relay; %s and %s do", name, NetHTTP, GRPCGo)
	case o.Service == "kv" && name != GRPCGo && name != GRPCGoOurProtobuf:
		return fmt.Errorf("%s does not serve kv; %s and %s do", name, GRPCGo, GRPCGoOurProtobuf)
	case o.Type != nil && name == GRPCGo:
		return fmt.Errorf("%s has generated messages, and nobody generated code for the schema of the payload; %s has plain structs", name, GRPCGoOurProtobuf)
	}
	return nil
}

// isMessage reports whether both are messages of echo.
func (o Options) isMessage(in, out any) bool {
	t := reflect.TypeFor[everywire.Document]()
	if o.Type != nil {
		t = o.Type
	}
	t = reflect.PointerTo(t)
	return reflect.TypeOf(in) == t && reflect.TypeOf(out) == t
}

// newMessage makes a message of echo.
func (o Options) newMessage() any {
	if o.Type != nil {
		return reflect.New(o.Type).Interface()
	}
	return new(everywire.Document)
}

// A Place is where a server listens.
type Place struct {
	// Addr is host:port, with port 0 for a free one.
	Addr string
	// Listen opens the listener, as that of [net.ListenConfig] does.
	Listen func(ctx context.Context, network, addr string) (net.Listener, error)
}

// Loopback is a free port of the loopback interface.
func Loopback() Place {
	return Place{Addr: "127.0.0.1:0", Listen: new(net.ListenConfig).Listen}
}

// Serve serves at a place and returns its host:port. ctx is of the start only.
// The caller must call stop, which ends open connections too.
func Serve(ctx context.Context, name string, at Place, o Options) (addr string, stop func(context.Context) error, err error) {
	impl, err := find(name, o)
	if err != nil {
		return "", nil, err
	}
	lis, err := at.Listen(ctx, "tcp4", at.Addr)
	if err != nil {
		return "", nil, err
	}
	srv := impl.server(o.withDefaults())
	served := make(chan error, 1)
	go func() { served <- srv.serve(lis) }()
	stop = func(ctx context.Context) error {
		err := srv.stop(ctx)
		select {
		case serveErr := <-served:
			return errors.Join(err, serveErr)
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
	return lis.Addr().String(), stop, nil
}

// Dial makes a connection to what Serve serves under the same name and
// options. Sockets are opened by dial.
func Dial(ctx context.Context, name, addr string, dial Dialer, o Options) (Conn, error) {
	impl, err := find(name, o)
	if err != nil {
		return nil, err
	}
	return impl.dial(ctx, addr, dial, o.withDefaults())
}

// unary gives a connection the half of grpc.ClientConnInterface that no
// reference needs.
type unary struct{}

func (unary) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "reference implementations have no streams")
}

// unknownMessage is the answer to messages that are neither arith's nor
// echo's.
func unknownMessage(in, out any) error {
	return status.Errorf(codes.Unimplemented, "a reference implementation cannot call with %T and %T", in, out)
}

// failed makes a status of a transport's error.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unavailable, err.Error())
}
