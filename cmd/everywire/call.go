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
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
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
}

// Help is the long help with examples.
func (*callCmd) Help() string {
	return `Examples:

  everywire call rest://localhost:8080 arith.Arith/Sum '{"numbers":[20,21]}'
  everywire call grpc://localhost:9090 io.grpc.KeyValueService/Retrieve '{"key":"a2V5"}'
  everywire call 'jsonrpc+http://localhost:8081/rpc' echo.Echo/Echo '[1,2,3]' -v
  everywire call 'msgpackrpc+tcp://localhost:7071?meta=on' echo.Echo/Echo - -H k:v <order.json

The reply is JSON on standard output; of a method that streams replies each is a line. An error is one line
on standard error: the status code, the message and its details; the exit status is then 1. The types of the
built-in services are known; requests of other services are sent as they are, which protobuf cannot do: use
?codec=json there.`
}

// Run makes the call.
func (c *callCmd) Run(a *app) error {
	service, method, err := everywire.SplitMethod(c.Method)
	if err != nil {
		return usageError{err}
	}
	known := allBuiltins()
	conn, err := wire.Dial(c.Target, wire.WithMethods(known), wire.WithCodecs(codecs()...), wire.WithLimits(everywire.Limits{MaxMessage: int(c.MaxSize)}))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the call's own error is the one to tell
	path := "/" + service + "/" + method
	in, out, err := c.messages(known, path, conn.Target())
	if err != nil {
		return err
	}
	if err := c.readRequest(a, in); err != nil {
		return err
	}
	ctx, err := c.context(a.ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var header, trailer metadata.MD
	opts := []grpc.CallOption{}
	if c.Verbose {
		opts = append(opts, grpc.Header(&header), grpc.Trailer(&trailer))
	}
	if m, ok := known.Lookup(path); ok && m.Kind != everywire.Unary {
		return c.stream(ctx, a, conn, m, in)
	}
	if c.OneWay {
		return callError(conn.Invoke(ctx, path, in, nil, append(opts, everywire.OneWayCallOption{})...))
	}
	err = conn.Invoke(ctx, path, in, out, opts...)
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
func (c *callCmd) stream(ctx context.Context, a *app, conn *wire.Conn, m *everywire.Method, in any) error {
	if m.Kind != everywire.ServerStream || c.OneWay {
		return usagef("%s is %s: the command can call methods with one request, and wait for the replies", c.Method, m.Kind)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, m.Path())
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
		out := m.Output.New()
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

// messages makes the request and the reply. Those of a method that the command
// does not know are documents: whatever JSON says.
func (c *callCmd) messages(known *everywire.Registry, path string, t wire.Target) (in, out any, err error) {
	if m, ok := known.Lookup(path); ok {
		return m.Input.New(), m.Output.New(), nil
	}
	if codec := t.Options["codec"]; t.Wire == "grpc" && (codec == "" || codec == "protobuf") {
		return nil, nil, usagef("the method %s is not one of the built-in services (%s), and protobuf needs its types: use ?codec=json if the server has it",
			c.Method, builtinNames())
	}
	return new(everywire.Document), new(everywire.Document), nil
}

func (c *callCmd) readRequest(a *app, in any) error {
	text, name := []byte(c.Request), "the request"
	switch c.Request {
	case "":
		text = []byte("{}")
	case "-":
		var err error
		if text, err = io.ReadAll(a.stdin); err != nil {
			return err
		}
		name = "standard input"
	}
	if err := (json.Codec{}).Decode(text, in); err != nil {
		return usagef("%s does not fit %s: %w", name, c.Method, err)
	}
	return c.checkFields(text, in)
}

// checkFields refuses fields that the request does not have. Codecs ignore
// them, for newer peers; here they are mistyped.
func (c *callCmd) checkFields(text []byte, in any) error {
	m, err := schema.For(in)
	if err != nil || m.Document {
		return err
	}
	var doc everywire.Document
	if err := (json.Codec{}).Decode(text, &doc); err != nil {
		return err
	}
	given, ok := doc.Value.(map[string]any)
	if !ok {
		return nil
	}
	known := make([]string, 0, len(m.Fields))
	for _, f := range m.Fields {
		known = append(known, f.JSONName)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if m.ByName(name) == nil {
			return usagef("the request of %s has no field %q: it has %s", c.Method, name, strings.Join(known, ", "))
		}
	}
	return nil
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

// callError tells a status in one line: code, message, details.
func callError(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s", s.Code(), s.Message())
	for _, d := range s.Details() {
		fmt.Fprintf(&text, " [%v]", d)
	}
	return errors.New(text.String())
}
