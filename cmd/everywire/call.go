package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/lab/target"
	"github.com/everywire/everywire/wire"
)

type callCmd struct {
	Target  string        `arg:"" help:"Where the service is, such as grpc://localhost:9090."`
	Method  string        `arg:"" help:"The method's full name, such as arith.Arith/Sum."`
	Request string        `arg:"" optional:"" help:"The request as JSON; - reads it from standard input (default {})."`
	Header  []string      `short:"H" placeholder:"KEY:VALUE" sep:"none" help:"Metadata to send. Repeat it for more."`
	Timeout time.Duration `default:"10s" help:"How long the call may take; the server is told."`
	Verbose bool          `short:"v" help:"Print the reply's headers and trailers on standard error."`
	OneWay  bool          `help:"Send the call without asking for a reply."`
	MaxSize byteSize      `name:"max-message" placeholder:"4MiB" help:"The largest message taken or sent (default 4MiB)."`

	typeFlags `embed:""`
}

// Help is the long help with examples.
func (*callCmd) Help() string {
	return `Examples:

  everywire call rest://localhost:8080 arith.Arith/Sum '{"numbers":[20,21]}'
  everywire call grpc://localhost:9090 io.grpc.KeyValueService/Retrieve '{"key":"a2V5"}'
  everywire call 'jsonrpc+http://localhost:8081/rpc' echo.Echo/Echo '[1,2,3]' -v
  everywire call 'msgpackrpc+tcp://localhost:7071?meta=on' echo.Echo/Echo - -H k:v <order.json
  everywire call grpc://localhost:50051 helloworld.Greeter/SayHello '{"name":"x"}'  any server
  everywire call jsonrpc+http://localhost:3000/ sum '[20,21]'

The reply is JSON on standard output; of a method that streams replies each is a line. An error is one line
on standard error: the status code, the message and its details; the exit status is then 1. The types of the
built-in services are known; those of other gRPC services come from the server's reflection, from --proto or
from --descriptor-set. Requests of other wires are sent as they are; an array is all the params of a JSON-RPC or
MessagePack-RPC method, unless it is built in.`
}

// Run makes the call.
func (c *callCmd) Run(a *app) error {
	f, err := newFinder(c.Target, c.typeFlags)
	if err != nil {
		return err
	}
	text, name, err := c.request(a)
	if err != nil {
		return err
	}
	ctx, err := c.context(a.ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	m, err := f.find(ctx, c.Method, string(text))
	if err != nil {
		return err
	}
	conn, err := wire.Dial(c.Target, wire.WithMethods(f.known), wire.WithCodecs(codecs()...), wire.WithLimits(everywire.Limits{MaxMessage: int(c.MaxSize)}))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the call's own error is the one to tell
	in := m.NewIn()
	if err := m.Read(text, in); err != nil {
		return usagef("%s does not fit %s: %w", name, c.Method, err)
	}
	var header, trailer metadata.MD
	opts := []grpc.CallOption{}
	if c.Verbose {
		opts = append(opts, grpc.Header(&header), grpc.Trailer(&trailer))
	}
	if m.Kind != everywire.Unary {
		return c.stream(ctx, a, conn, m, in)
	}
	if c.OneWay {
		return callError(conn.Invoke(ctx, m.Path, in, nil, append(opts, everywire.OneWayCallOption{})...))
	}
	out := m.NewOut()
	err = conn.Invoke(ctx, m.Path, in, out, opts...)
	printMetadata(a.stderr, "header", header)
	printMetadata(a.stderr, "trailer", trailer)
	if err != nil {
		return callError(err)
	}
	return printReply(a.stdout, out)
}

func printReply(w io.Writer, out any) error {
	text, err := json.Codec{}.Append(nil, out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// stream makes a call whose replies are a stream: each is a line.
func (c *callCmd) stream(ctx context.Context, a *app, conn *wire.Conn, m *target.Method, in any) error {
	if m.Kind != everywire.ServerStream || c.OneWay {
		return usagef("%s is %s: the command can call methods with one request, and wait for the replies", c.Method, m.Kind)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, m.Path)
	if err != nil {
		return callError(err)
	}
	if err := stream.SendMsg(in); err != nil && !errors.Is(err, io.EOF) { // of which RecvMsg knows the reason
		return callError(err)
	}
	if err := stream.CloseSend(); err != nil {
		return callError(err)
	}
	for {
		out := m.NewOut()
		if err := stream.RecvMsg(out); err != nil {
			if c.Verbose {
				header, headerErr := stream.Header()
				if headerErr == nil {
					printMetadata(a.stderr, "header", header)
				}
				printMetadata(a.stderr, "trailer", stream.Trailer())
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return callError(err)
		}
		if err := printReply(a.stdout, out); err != nil {
			return err
		}
	}
}

// request is the request's text, and what it is called in an error.
func (c *callCmd) request(a *app) (text []byte, name string, err error) {
	switch c.Request {
	case "":
		return []byte("{}"), "the request", nil
	case "-":
		text, err = io.ReadAll(a.stdin)
		return text, "standard input", err
	}
	return []byte(c.Request), "the request", nil
}

// context carries the metadata of the flags.
func (c *callCmd) context(ctx context.Context) (context.Context, error) {
	for _, h := range c.Header {
		key, value, ok := strings.Cut(h, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok || key == "":
			return nil, usagef("the header %q is not KEY:VALUE", h)
		case strings.ContainsFunc(key, notInKeys):
			return nil, usagef("the header %q: a key consists of letters, digits, '-', '_' and '.'", h)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	return ctx, nil
}

// notInKeys reports whether metadata keys cannot have r.
func notInKeys(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

func printMetadata(w io.Writer, what string, md metadata.MD) {
	for _, key := range slices.Sorted(maps.Keys(md)) {
		for _, v := range md[key] {
			if strings.HasSuffix(key, "-bin") {
				fmt.Fprintf(w, "%s %s: %x\n", what, key, v)
				continue
			}
			fmt.Fprintf(w, "%s %s: %s\n", what, key, v)
		}
	}
}
