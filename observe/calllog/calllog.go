// Package calllog logs calls when they have ended, the same on every wire and at
// both ends. Attributes are called as in the RPC section of OpenTelemetry's semantic
// conventions.
package calllog

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire"
)

// A Log writes a record for each call.
type Log struct{ logger *slog.Logger }

// New makes a log that writes to logger. See [Level] for the levels.
func New(logger *slog.Logger) *Log { return &Log{logger} }

// Level is the level of a call that ended with a code: Error for what is a server's
// own fault, Warn for what a server or a network could not do now, Info for the rest,
// which is between the service and its caller.
func Level(c codes.Code) slog.Level {
	switch c {
	case codes.Unknown, codes.Internal, codes.DataLoss:
		return slog.LevelError
	case codes.DeadlineExceeded, codes.Unimplemented, codes.Unavailable, codes.ResourceExhausted:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// Handler makes the handler of one end of a wire, for [wire.WithStats].
func (l *Log) Handler(e wire.Endpoint) stats.Handler {
	message := "served"
	if e.Client {
		message = "called"
	}
	return &handler{l.logger.With(slog.String("wire", e.Wire)), message}
}

type handler struct {
	logger  *slog.Logger
	message string
}

// A call is what is known of one that runs. Messages of a stream come from two
// goroutines.
type call struct {
	method         string
	received, sent atomic.Int64
	peer           atomic.Pointer[net.Addr]
}

// A key finds a call in its context.
type key struct{ *handler }

// TagRPC is [stats.Handler]'s.
func (h *handler) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, key{h}, &call{method: info.FullMethodName})
}

// HandleRPC is [stats.Handler]'s.
func (h *handler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	c, ok := ctx.Value(key{h}).(*call)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.InHeader:
		c.from(event.RemoteAddr)
	case *stats.OutHeader:
		c.from(event.RemoteAddr)
	case *stats.InPayload:
		c.received.Add(int64(event.Length))
	case *stats.OutPayload:
		c.sent.Add(int64(event.Length))
	case *stats.End:
		h.ended(ctx, c, event)
	}
}

func (c *call) from(addr net.Addr) {
	if addr != nil {
		c.peer.CompareAndSwap(nil, &addr)
	}
}

func (h *handler) ended(ctx context.Context, c *call, event *stats.End) {
	s := status.Convert(event.Error)
	level := Level(s.Code())
	if !h.logger.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 8),
		slog.String("rpc.method", strings.TrimPrefix(c.method, "/")),
		slog.String("rpc.response.status_code", codeName(s.Code())),
		slog.Duration("duration", event.EndTime.Sub(event.BeginTime).Round(time.Microsecond)),
		slog.Int64("received", c.received.Load()),
		slog.Int64("sent", c.sent.Load()))
	if addr := c.peer.Load(); addr != nil {
		attrs = append(attrs, slog.String("network.peer.address", (*addr).String()))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		attrs = append(attrs, slog.String("trace_id", span.TraceID().String()))
	}
	if event.Error != nil {
		attrs = append(attrs, slog.String("error", s.Message()))
	}
	h.logger.LogAttrs(ctx, level, h.message, attrs...)
}

// codeName is a code as the conventions write it: DEADLINE_EXCEEDED.
func codeName(c codes.Code) string {
	if name, ok := code.Code_name[int32(c)]; ok {
		return name
	}
	return c.String()
}

// TagConn is [stats.Handler]'s.
func (*handler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn is [stats.Handler]'s.
func (*handler) HandleConn(context.Context, stats.ConnStats) {}
