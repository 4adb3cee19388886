// Package tracing makes OpenTelemetry spans of calls, the same on every wire and at
// both ends, so that a trace goes on from REST to JSON-RPC to gRPC.
//
// The spans are those of otelgrpc, with the attributes of the RPC section of
// OpenTelemetry's semantic conventions and the name of the wire. A trace travels in
// a call's metadata: in HTTP headers, in the member meta of JSON-RPC, in gRPC's
// metadata. docs/spec/observe.md says what each wire carries.
package tracing

import (
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/everywire/everywire/wire"
)

// Tracing makes the spans of any number of servers and connections.
type Tracing struct {
	provider   trace.TracerProvider
	propagator propagation.TextMapPropagator
}

// New makes spans with the given provider. How a trace is told to the other end is
// W3C's traceparent, tracestate and baggage.
func New(provider trace.TracerProvider) *Tracing {
	return &Tracing{provider, propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})}
}

// Handler makes the handler of one end of a wire, for [wire.WithStats].
func (t *Tracing) Handler(e wire.Endpoint) stats.Handler {
	opts := []otelgrpc.Option{
		otelgrpc.WithTracerProvider(t.provider),
		otelgrpc.WithPropagators(t.propagator),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()), // metrics are the package metrics'
		// What is set last counts: otelgrpc takes all calls for gRPC's.
		otelgrpc.WithSpanAttributes(attribute.String("rpc.system.name", System(e.Wire)), attribute.String("everywire.wire", e.Wire)),
	}
	if e.Client {
		return otelgrpc.NewClientHandler(opts...)
	}
	return otelgrpc.NewServerHandler(opts...)
}

// System is what the conventions call a wire, in the attribute rpc.system.name. They
// have no name for rest and msgpackrpc, which have their own here.
func System(wireName string) string {
	if wireName == "connect" {
		return "connectrpc"
	}
	return wireName
}
