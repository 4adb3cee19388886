package rpc

import (
	"context"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"

	"github.com/everywire/everywire"
)

// The events of stats.Handler, as grpc-go sends them. A nil *serverStats or
// *clientStats does nothing, which is the common case.

type serverStats struct {
	ctx      context.Context //nolint:containedctx // lives as long as the call whose context it is
	handlers []stats.Handler
	begin    time.Time
	ended    bool
}

func (c *ServerConfig) beginStats(ctx context.Context, m *everywire.Method, md metadata.MD, from *peer.Peer) *serverStats {
	if len(c.Stats) == 0 {
		return nil
	}
	s := &serverStats{handlers: c.Stats, begin: time.Now()}
	path := m.Path()
	for _, h := range s.handlers {
		ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: path})
	}
	s.ctx = ctx
	header := &stats.InHeader{FullMethod: path, Header: md}
	if from != nil {
		header.RemoteAddr, header.LocalAddr = from.Addr, from.LocalAddr
	}
	s.handle(header)
	s.handle(&stats.Begin{
		BeginTime:      s.begin,
		IsClientStream: m.Kind == everywire.ClientStream || m.Kind == everywire.BidiStream,
		IsServerStream: m.Kind == everywire.ServerStream || m.Kind == everywire.BidiStream,
	})
	return s
}

func (s *serverStats) handle(ev stats.RPCStats) {
	for _, h := range s.handlers {
		h.HandleRPC(s.ctx, ev)
	}
}

func (s *serverStats) received(v any, n int, at time.Time) {
	if s != nil {
		s.handle(&stats.InPayload{Payload: v, Length: n, CompressedLength: n, WireLength: n, RecvTime: at})
	}
}

func (s *serverStats) sentHeader(md metadata.MD) {
	if s != nil {
		s.handle(&stats.OutHeader{Header: md})
	}
}

func (s *serverStats) sent(v any, n int) {
	if s != nil {
		s.handle(&stats.OutPayload{Payload: v, Length: n, CompressedLength: n, WireLength: n, SentTime: time.Now()})
	}
}

func (s *serverStats) sentTrailer(md metadata.MD) {
	if s != nil {
		s.handle(&stats.OutTrailer{Trailer: md})
	}
}

func (s *serverStats) end(out *Outcome, err error) {
	if s == nil {
		return
	}
	s.ended = true
	if err != nil {
		err = out.Status.Err()
	}
	s.handle(&stats.End{BeginTime: s.begin, EndTime: time.Now(), Error: err})
}

// lost is deferred: it ends the call of a handler that ended its goroutine, which
// would be in flight for ever.
func (s *serverStats) lost() {
	if s != nil && !s.ended {
		s.end(&Outcome{Status: DidNotReturn}, DidNotReturn.Err())
	}
}

type clientStats struct {
	ctx      context.Context //nolint:containedctx // lives as long as the call whose context it is
	handlers []stats.Handler
	begin    time.Time
}

func (c *ClientConfig) beginStats(ctx context.Context, call *Outgoing) *clientStats {
	if len(c.Stats) == 0 {
		return nil
	}
	s := &clientStats{handlers: c.Stats, begin: time.Now()}
	before, _ := metadata.FromOutgoingContext(ctx)
	for _, h := range s.handlers {
		ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: call.Path, FailFast: !call.WaitForReady})
	}
	// A handler may have set metadata, such as a trace's, also in place of what a
	// program hands on from its own caller. What credentials added stays behind it.
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		for k, vs := range md {
			if slices.Equal(vs, before[k]) {
				continue
			}
			if call.Metadata == nil {
				call.Metadata = metadata.MD{}
			}
			call.Metadata[k] = append(vs, call.Metadata[k][len(before[k]):]...)
		}
	}
	s.ctx = ctx
	s.handle(&stats.Begin{
		Client: true, BeginTime: s.begin, FailFast: !call.WaitForReady,
		IsClientStream: call.clientStreams, IsServerStream: call.serverStreams,
	})
	return s
}

func (s *clientStats) handle(ev stats.RPCStats) {
	for _, h := range s.handlers {
		h.HandleRPC(s.ctx, ev)
	}
}

func (s *clientStats) sentHeader(call *Outgoing) {
	if s != nil {
		s.handle(&stats.OutHeader{Client: true, FullMethod: call.Path, Header: call.Metadata})
	}
}

func (s *clientStats) sent(v any, n int) {
	if s != nil {
		s.handle(&stats.OutPayload{Client: true, Payload: v, Length: n, CompressedLength: n, WireLength: n, SentTime: time.Now()})
	}
}

func (s *clientStats) received(v any, n int) {
	if s != nil {
		s.handle(&stats.InPayload{Client: true, Payload: v, Length: n, CompressedLength: n, WireLength: n, RecvTime: time.Now()})
	}
}

func (s *clientStats) receivedHeader(call *Outgoing) {
	if s != nil {
		s.handle(&stats.InHeader{Client: true, FullMethod: call.Path, Header: call.Header, RemoteAddr: addrOf(call.Peer)})
	}
}

func (s *clientStats) receivedTrailer(call *Outgoing) {
	if s != nil {
		s.handle(&stats.InTrailer{Client: true, Trailer: call.Trailer})
	}
}

func (s *clientStats) end(call *Outgoing, err error) {
	if s != nil {
		s.handle(&stats.End{Client: true, BeginTime: s.begin, EndTime: time.Now(), Trailer: call.Trailer, Error: err})
	}
}

func addrOf(p *peer.Peer) net.Addr {
	if p == nil {
		return nil
	}
	return p.Addr
}
