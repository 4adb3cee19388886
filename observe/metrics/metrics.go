// Package metrics counts calls for Prometheus, the same on every wire and at both
// ends.
//
// The names follow the RPC section of OpenTelemetry's semantic conventions, in the
// form that its exporter for Prometheus gives them, with the label wire beside
// them. docs/spec/observe.md has the table.
package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire"
)

// Buckets are the bounds of the duration histograms in seconds. They begin lower
// than the conventions' 5 ms: a call between two processes takes some 50 µs.
var Buckets = []float64{
	0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
}

// Metrics are the metrics of any number of servers and connections.
type Metrics struct{ server, client family }

// A family is the metrics of one end.
type family struct {
	duration       *prometheus.HistogramVec
	received, sent *prometheus.CounterVec
	inFlight       *prometheus.GaugeVec
}

// New makes metrics and registers them with reg. It fails if reg has metrics of
// these names already.
func New(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		server: newFamily("server", "that were answered", "requests", "replies"),
		client: newFamily("client", "that were made; a call that is tried again counts each time", "replies", "requests"),
	}
	for _, f := range []family{m.server, m.client} {
		for _, c := range []prometheus.Collector{f.duration, f.received, f.sent, f.inFlight} {
			if err := reg.Register(c); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func newFamily(end, which, in, out string) family {
	method := []string{"wire", "rpc_method"}
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "rpc", Subsystem: end, Name: name, Help: help}
	}
	return family{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "rpc", Subsystem: end, Name: "call_duration_seconds", Buckets: Buckets,
			Help: "How long calls took, of those " + which + ". Of a stream: from its begin to its end.",
		}, append(method, "rpc_response_status_code")),
		received: prometheus.NewCounterVec(prometheus.CounterOpts(opts("received_bytes_total", "Bytes of "+in+", as they are encoded, before compression.")), method),
		sent:     prometheus.NewCounterVec(prometheus.CounterOpts(opts("sent_bytes_total", "Bytes of "+out+", as they are encoded, before compression.")), method),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("calls_in_flight", "Calls and streams that have begun and not ended.")), method),
	}
}

// Handler makes the handler of one end of a wire, for [wire.WithStats].
//
// The label rpc_method is a method's full name. A client's is taken as it comes: its
// program names methods. A server's is _OTHER for what the registry does not have, so
// that strangers cannot make up series.
func (m *Metrics) Handler(e wire.Endpoint) stats.Handler {
	if e.Client {
		return newHandler(&m.client, e.Wire, nil)
	}
	return newHandler(&m.server, e.Wire, e.Methods)
}

// A key finds a call's series in its context. A server's handler that calls with the
// same context has a client's beside it.
type key struct{ *handler }

// TagRPC is [stats.Handler]'s.
func (h *handler) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, key{h}, h.series(info.FullMethodName))
}

// HandleRPC is [stats.Handler]'s.
func (h *handler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	s, ok := ctx.Value(key{h}).(*series)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.Begin:
		s.inFlight.Inc()
	case *stats.InPayload:
		s.received.Add(float64(event.Length))
	case *stats.OutPayload:
		s.sent.Add(float64(event.Length))
	case *stats.End:
		s.inFlight.Dec()
		s.ended(status.Code(event.Error), event.EndTime.Sub(event.BeginTime))
	}
}

// TagConn is [stats.Handler]'s.
func (*handler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn is [stats.Handler]'s.
func (*handler) HandleConn(context.Context, stats.ConnStats) {}
