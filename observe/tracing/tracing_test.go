package tracing_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/observe/tracing"
	"github.com/everywire/everywire/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type message struct {
	Text string `wire:"1"`
}

// link serves a service that calls the next one, or answers itself if there is none,
// and returns a connection to it.
func link(t *testing.T, tr *tracing.Tracing, name, on string, next grpc.ClientConnInterface) *wire.Conn {
	t.Helper()
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test."+name+"/Say", func(ctx context.Context, in *message) (*message, error) {
		if next == nil {
			return &message{in.Text + name}, nil
		}
		out, err := everywire.Call[message](ctx, next, "test."+string(name[0]+1)+"/Say", in)
		if err != nil {
			return nil, err
		}
		return &message{out.Text + name}, nil
	})
	on, options, _ := strings.Cut(on, "?") // the client's
	server, err := wire.Serve(t.Context(), reg, []string{on}, wire.WithStats(tr.Handler), wire.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := wire.Dial(server.Targets()[0].String()+"?"+options, wire.WithStats(tr.Handler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's context has ended
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// chain is REST, then JSON-RPC, then gRPC, then Connect.
func chain(t *testing.T, tr *tracing.Tracing) *wire.Conn {
	t.Helper()
	d := link(t, tr, "D", "connect://127.0.0.1:0", nil)
	c := link(t, tr, "C", "grpc://127.0.0.1:0", d)
	b := link(t, tr, "B", "jsonrpc+tcp://127.0.0.1:0", c)
	return link(t, tr, "A", "rest://127.0.0.1:0", b)
}

// recorded takes the spans that have ended: a server's may end after its caller has
// the reply.
type recorded chan sdktrace.ReadOnlySpan

func (recorded) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (r recorded) OnEnd(s sdktrace.ReadOnlySpan)                 { r <- s }
func (recorded) Shutdown(context.Context) error                  { return nil }
func (recorded) ForceFlush(context.Context) error                { return nil }

// take waits for n spans.
func (r recorded) take(t *testing.T, n int) []sdktrace.ReadOnlySpan {
	t.Helper()
	var all []sdktrace.ReadOnlySpan
	for range n {
		select {
		case s := <-r:
			all = append(all, s)
		case <-time.After(20 * time.Second):
			t.Fatalf("%d spans, want %d", len(all), n)
		}
	}
	if len(r) > 0 {
		t.Errorf("%d spans more than %d", len(r), n)
	}
	return all
}

// One trace goes through the wires: each server's span is the child of the span of
// the client that called it, and each client's of the server that it is in.
func TestAcrossWires(t *testing.T) {
	spans := make(recorded, 100)
	a := chain(t, tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
	out, err := everywire.Call[message](t.Context(), a, "test.A/Say", &message{})
	if err != nil || out.Text != "DCBA" {
		t.Fatal(out, err)
	}
	checkChain(t, spans.take(t, 8), trace.SpanContext{})
}

// A foreign client of REST begins the trace by the header of the W3C.
func TestTraceparent(t *testing.T) {
	spans := make(recorded, 100)
	a := chain(t, tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Target().Addrs[0]+"/test.A/Say", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	id, err := trace.TraceIDFromHex("0af7651916cd43dd8448eb211c80319c")
	if err != nil {
		t.Fatal(err)
	}
	caller, err := trace.SpanIDFromHex("b7ad6b7169203331")
	if err != nil {
		t.Fatal(err)
	}
	checkChain(t, spans.take(t, 7), trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: caller}))
}

// checkChain follows the parents from the innermost span to the outermost, whose
// parent is the caller's if it is valid, else a client's span that has none.
func checkChain(t *testing.T, spans []sdktrace.ReadOnlySpan, caller trace.SpanContext) {
	t.Helper()
	byID := map[trace.SpanID]sdktrace.ReadOnlySpan{}
	var span sdktrace.ReadOnlySpan
	for _, s := range spans {
		byID[s.SpanContext().SpanID()] = s
		if s.Name() == "test.D/Say" && s.SpanKind() == trace.SpanKindServer {
			span = s
		}
	}
	want := []struct {
		method, wire, system string
		kind                 trace.SpanKind
	}{
		{"test.D/Say", "connect", "connectrpc", trace.SpanKindServer}, {"test.D/Say", "connect", "connectrpc", trace.SpanKindClient},
		{"test.C/Say", "grpc", "grpc", trace.SpanKindServer}, {"test.C/Say", "grpc", "grpc", trace.SpanKindClient},
		{"test.B/Say", "jsonrpc", "jsonrpc", trace.SpanKindServer}, {"test.B/Say", "jsonrpc", "jsonrpc", trace.SpanKindClient},
		{"test.A/Say", "rest", "rest", trace.SpanKindServer}, {"test.A/Say", "rest", "rest", trace.SpanKindClient},
	}
	if caller.IsValid() {
		want = want[:len(want)-1]
	}
	for i, w := range want {
		if span == nil {
			t.Fatalf("the trace ends before the %s's span of %s", w.kind, w.method)
		}
		attrs := map[attribute.Key]string{}
		for _, a := range span.Attributes() {
			attrs[a.Key] = a.Value.String()
		}
		if span.SpanKind() != w.kind || attrs["rpc.method"] != w.method || attrs["everywire.wire"] != w.wire || attrs["rpc.system.name"] != w.system ||
			attrs["rpc.response.status_code"] != "OK" {
			t.Errorf("span %d is %v %v, want %+v", i, span.SpanKind(), attrs, w)
		}
		parent := span.Parent()
		if i == len(want)-1 {
			if caller.IsValid() && (parent.TraceID() != caller.TraceID() || parent.SpanID() != caller.SpanID()) || !caller.IsValid() && parent.IsValid() {
				t.Errorf("the outermost span's parent is %v of %v", parent.SpanID(), parent.TraceID())
			}
			return
		}
		span = byID[parent.SpanID()]
	}
}

// A program that hands on its caller's metadata hands on the header of its caller's
// span too. The span of the call takes its place, on every wire.
func TestHandedOn(t *testing.T) {
	const stale = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, on := range []string{
		"rest://127.0.0.1:0", "jsonrpc+http://127.0.0.1:0", "jsonrpc+tcp://127.0.0.1:0", "jsonrpc+ws://127.0.0.1:0",
		"msgpackrpc+tcp://127.0.0.1:0?meta=on", "grpc://127.0.0.1:0", "connect://127.0.0.1:0",
	} {
		t.Run(on, func(t *testing.T) {
			spans := make(recorded, 100)
			conn := link(t, tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))), "A", on, nil)
			ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", stale)
			if _, err := everywire.Call[message](ctx, conn, "test.A/Say", &message{}); err != nil {
				t.Fatal(err)
			}
			both := spans.take(t, 2)
			client, server := both[0], both[1]
			if client.SpanKind() != trace.SpanKindClient {
				client, server = server, client
			}
			if got, want := server.Parent().SpanID(), client.SpanContext().SpanID(); got != want {
				t.Errorf("the server's span has the parent %v, want the client's span %v", got, want)
			}
		})
	}
}
