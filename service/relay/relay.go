// Package relay is a service that answers with what another service says: the
// first of the two services in the "relay" article. Which wire it calls that one
// by is the connection's business, and so are retries and balancing.
//
// What a caller learns of a call that failed further on, and what is passed on of
// its metadata, is in docs/spec/relay.md.
package relay

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/sample"
)

// Get is the method's full name.
const Get = "relay.Relay/Get"

// Request asks for what the upstream has.
type Request struct {
	_ struct{} `wire:"name=relay.GetRequest"`
}

// forwarded are the keys of metadata that a call of the upstream takes over from
// the call that it is made for: those by which traces are joined (W3C Trace
// Context) and requests are found in logs. Nothing else is passed on: who may call
// this service need not be known to the next one, nor may its secrets be.
var forwarded = []string{"traceparent", "tracestate", "x-request-id"}

// Options set up the service.
type Options struct {
	// FanOut asks the upstream for the parts, all at once, and merges the replies;
	// otherwise it is asked once for the whole.
	FanOut bool
	// Logger is told why the upstream failed, at most once a second; callers are not
	// told all of it. The default is slog.Default().
	Logger *slog.Logger
}

// Register adds the service to reg. It calls the service sample by upstream, which
// may be nil if the service is described and not called.
func Register(reg *everywire.Registry, upstream grpc.ClientConnInterface, o Options) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	r := &relay{upstream: upstream, failures: failures{logger: o.Logger}}
	get := r.whole
	if o.FanOut {
		get = r.parts
	}
	everywire.Handle(reg, Get, get,
		everywire.WithDoc("Gives what the upstream service gives."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", "/", ""))
}

type relay struct {
	upstream grpc.ClientConnInterface
	failures failures
}

// whole asks once. The context is the caller's, and with it are its deadline and
// the news that it has gone.
func (r *relay) whole(ctx context.Context, _ *Request) (*sample.SampleData, error) {
	all, err := everywire.Call[sample.SampleData](outgoing(ctx), r.upstream, sample.GetSampleData, &sample.Empty{})
	if err != nil {
		return nil, r.failed(ctx, sample.GetSampleData, err)
	}
	return all, nil
}

// outgoing is the context of calls that are made for the call of ctx.
func outgoing(ctx context.Context) context.Context {
	var pairs []string
	for _, key := range forwarded {
		for _, value := range metadata.ValueFromIncomingContext(ctx, key) {
			pairs = append(pairs, key, value)
		}
	}
	if pairs == nil {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}
