package rpc

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
)

// The events of stats.Handler, as grpc-go sends them for a unary call. A nil
// *serverStats or *clientStats does nothing, which is the common case.

type serverStats struct {
	ctx      context.Context //nolint:containedctx // lives as long as the call whose context it is
	handlers []stats.Handler
	begin    time.Time
	size     int
}

func (c *ServerConfig) beginStats(ctx context.Context, in *Incoming) *serverStats {
	if len(c.Stats) == 0 {
		return nil
	}
	s := &serverStats{handlers: c.Stats, begin: time.Now(), size: in.Size}
	path := in.Method.Path()
	for _, h := range s.handlers {
		ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: path})
	}
	s.ctx = ctx
	header := &stats.InHeader{FullMethod: path, Header: in.Metadata}
	if in.Peer != nil {
		header.RemoteAddr, header.LocalAddr = in.Peer.Addr, in.Peer.LocalAddr
	}
	s.handle(header)
	s.handle(&stats.Begin{BeginTime: s.begin})
	return s
}

func (s *serverStats) handle(ev stats.RPCStats) {
	for _, h := range s.handlers {
		h.HandleRPC(s.ctx, ev)
	}
}

func (s *serverStats) received(v any) {
	if s != nil {
		s.handle(&stats.InPayload{Payload: v, Length: s.size, CompressedLength: s.size, WireLength: s.size, RecvTime: s.begin})
	}
}

func (s *serverStats) sent(v any, n int) {
	if s != nil {
		s.handle(&stats.OutPayload{Payload: v, Length: n, CompressedLength: n, WireLength: n, SentTime: time.Now()})
	}
}

func (s *serverStats) end(out *Outcome, err error) {
	if s == nil {
		return
	}
	s.handle(&stats.OutHeader{Header: out.Header})
	s.handle(&stats.OutTrailer{Trailer: out.Trailer})
	if err != nil {
		err = out.Status.Err()
	}
	s.handle(&stats.End{BeginTime: s.begin, EndTime: time.Now(), Error: err})
}

type clientStats struct {
	ctx      context.Context //nolint:containedctx // lives as long as the call whose context it is
	handlers []stats.Handler
	begin    time.Time
	header   *stats.OutHeader
}

func (c *ClientConfig) beginStats(ctx context.Context, call *Outgoing) *clientStats {
	if len(c.Stats) == 0 {
		return nil
	}
	s := &clientStats{handlers: c.Stats, begin: time.Now()}
	for _, h := range s.handlers {
		ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: call.Path, FailFast: !call.WaitForReady})
	}
	// A handler may have added metadata, such as a trace's: send it too.
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		for k, vs := range md {
			if _, have := call.Metadata[k]; !have {
				call.Metadata = metadata.Join(call.Metadata, metadata.MD{k: vs})
			}
		}
	}
	s.ctx = ctx
	s.handle(&stats.Begin{Client: true, BeginTime: s.begin, FailFast: !call.WaitForReady})
	s.header = &stats.OutHeader{Client: true, FullMethod: call.Path, Header: call.Metadata}
	return s
}

func (s *clientStats) handle(ev stats.RPCStats) {
	for _, h := range s.handlers {
		h.HandleRPC(s.ctx, ev)
	}
}

func (s *clientStats) sent(v any, n int) {
	if s == nil {
		return
	}
	s.handle(s.header)
	s.handle(&stats.OutPayload{Client: true, Payload: v, Length: n, CompressedLength: n, WireLength: n, SentTime: time.Now()})
}

func (s *clientStats) received(v any, n int) {
	if s != nil {
		s.handle(&stats.InPayload{Client: true, Payload: v, Length: n, CompressedLength: n, WireLength: n, RecvTime: time.Now()})
	}
}

func (s *clientStats) end(call *Outgoing, err error) {
	if s == nil {
		return
	}
	if call.Header != nil || err == nil {
		s.handle(&stats.InHeader{Client: true, FullMethod: call.Path, Header: call.Header, RemoteAddr: addrOf(call.Peer)})
	}
	s.handle(&stats.InTrailer{Client: true, Trailer: call.Trailer})
	s.handle(&stats.End{Client: true, BeginTime: s.begin, EndTime: time.Now(), Trailer: call.Trailer, Error: err})
}

func addrOf(p *peer.Peer) net.Addr {
	if p == nil {
		return nil
	}
	return p.Addr
}
