package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/everywire/everywire/bench/conformance/suite"
)

// service answers as its requests tell it to, and says what it saw of them.
type service struct {
	suite.UnimplementedConformanceServiceServer
}

func (service) Unary(ctx context.Context, in *suite.UnaryRequest) (*suite.UnaryResponse, error) {
	p, err := unary(ctx, in.GetResponseDefinition(), in)
	return &suite.UnaryResponse{Payload: p}, err
}

func (service) IdempotentUnary(ctx context.Context, in *suite.IdempotentUnaryRequest) (*suite.IdempotentUnaryResponse, error) {
	p, err := unary(ctx, in.GetResponseDefinition(), in)
	return &suite.IdempotentUnaryResponse{Payload: p}, err
}

func (service) ClientStream(stream grpc.ClientStreamingServer[suite.ClientStreamRequest, suite.ClientStreamResponse]) error {
	var all []proto.Message
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		all = append(all, in)
	}
	var def *suite.UnaryResponseDefinition
	if len(all) > 0 {
		def = all[0].(*suite.ClientStreamRequest).GetResponseDefinition()
	}
	p, err := unary(stream.Context(), def, all...)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&suite.ClientStreamResponse{Payload: p})
}

// unary is the answer to calls with one reply.
func unary(ctx context.Context, def *suite.UnaryResponseDefinition, requests ...proto.Message) (*suite.ConformancePayload, error) {
	info, err := seen(ctx, requests)
	if err != nil {
		return nil, err
	}
	if def == nil {
		return &suite.ConformancePayload{RequestInfo: info}, nil
	}
	if err := grpc.SetHeader(ctx, mdOf(def.GetResponseHeaders())); err != nil {
		return nil, err
	}
	if err := grpc.SetTrailer(ctx, mdOf(def.GetResponseTrailers())); err != nil {
		return nil, err
	}
	delay(def.GetResponseDelayMs())
	if e := def.GetError(); e != nil {
		return nil, failure(e, info)
	}
	return &suite.ConformancePayload{RequestInfo: info, Data: def.GetResponseData()}, nil
}

func (service) ServerStream(in *suite.ServerStreamRequest, stream grpc.ServerStreamingServer[suite.ServerStreamResponse]) error {
	def := in.GetResponseDefinition()
	info, err := seen(stream.Context(), []proto.Message{in})
	if err != nil || def == nil {
		return err
	}
	if err := begin(stream, def, len(def.GetResponseData()) > 0); err != nil {
		return err
	}
	for i, data := range def.GetResponseData() {
		delay(def.GetResponseDelayMs())
		p := &suite.ConformancePayload{Data: data}
		if i == 0 {
			p.RequestInfo, info = info, nil
		}
		if err := stream.Send(&suite.ServerStreamResponse{Payload: p}); err != nil {
			return err
		}
	}
	return failure(def.GetError(), info)
}

// begin sets what a stream of replies has beside them. Headers go out at once
// if that may be: a client may wait for them.
func begin(stream grpc.ServerStream, def *suite.StreamResponseDefinition, now bool) error {
	stream.SetTrailer(mdOf(def.GetResponseTrailers()))
	if now {
		return stream.SendHeader(mdOf(def.GetResponseHeaders()))
	}
	return stream.SetHeader(mdOf(def.GetResponseHeaders()))
}

func (service) BidiStream(stream grpc.BidiStreamingServer[suite.BidiStreamRequest, suite.BidiStreamResponse]) error {
	b := bidi{stream: stream}
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return b.end()
		}
		if err != nil {
			return err
		}
		if over, err := b.request(in); over || err != nil {
			return err
		}
	}
}

// A bidi is a stream both ways: in full duplex each request has its reply, else
// all replies come behind the last request.
type bidi struct {
	stream     grpc.BidiStreamingServer[suite.BidiStreamRequest, suite.BidiStreamResponse]
	began      bool
	fullDuplex bool
	def        *suite.StreamResponseDefinition
	pending    []proto.Message // requests that no reply has told of
	sent       int
}

func (b *bidi) request(in *suite.BidiStreamRequest) (over bool, err error) {
	b.pending = append(b.pending, in)
	if !b.began {
		b.began, b.def, b.fullDuplex = true, in.GetResponseDefinition(), in.GetFullDuplex()
		if b.def != nil {
			if err := begin(b.stream, b.def, b.fullDuplex && len(b.def.GetResponseData()) > 0); err != nil {
				return true, err
			}
		}
	}
	switch {
	case !b.fullDuplex:
		return false, nil
	case b.sent >= len(b.def.GetResponseData()):
		return true, b.end()
	}
	return false, b.reply()
}

func (b *bidi) reply() error {
	delay(b.def.GetResponseDelayMs())
	p := &suite.ConformancePayload{Data: b.def.GetResponseData()[b.sent]}
	var err error
	switch {
	case b.sent == 0:
		p.RequestInfo, err = seen(b.stream.Context(), b.pending)
	case b.fullDuplex:
		p.RequestInfo = new(suite.ConformancePayload_RequestInfo)
		p.RequestInfo.Requests, err = anys(b.pending)
	}
	if err != nil {
		return err
	}
	b.sent++
	b.pending = nil
	return b.stream.Send(&suite.BidiStreamResponse{Payload: p})
}

func (b *bidi) end() error {
	for b.sent < len(b.def.GetResponseData()) {
		if err := b.reply(); err != nil {
			return err
		}
	}
	if b.sent > 0 {
		return failure(b.def.GetError(), nil)
	}
	info, err := seen(b.stream.Context(), b.pending)
	if err != nil {
		return err
	}
	return failure(b.def.GetError(), info)
}

// seen is what the service saw of a call.
func seen(ctx context.Context, requests []proto.Message) (*suite.ConformancePayload_RequestInfo, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	info := &suite.ConformancePayload_RequestInfo{RequestHeaders: headersOf(md)}
	if deadline, ok := ctx.Deadline(); ok {
		info.TimeoutMs = proto.Int64(max(time.Until(deadline), 0).Milliseconds())
	}
	var err error
	info.Requests, err = anys(requests)
	return info, err
}

func anys(messages []proto.Message) ([]*anypb.Any, error) {
	all := make([]*anypb.Any, len(messages))
	for i, m := range messages {
		var err error
		if all[i], err = anypb.New(m); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// failure is the error that a request asks for, which tells what was seen
// unless a reply has.
func failure(e *suite.Error, info *suite.ConformancePayload_RequestInfo) error {
	if e == nil {
		return nil
	}
	s := &spb.Status{Code: int32(e.GetCode()), Message: e.GetMessage(), Details: e.GetDetails()}
	if info != nil {
		detail, err := anypb.New(info)
		if err != nil {
			return err
		}
		s.Details = append(s.Details, detail)
	}
	return status.FromProto(s).Err()
}

// delay sleeps on when the call has ended, as the runner's own server does: it
// expects that its client is the first to notice.
func delay(ms uint32) { time.Sleep(time.Duration(ms) * time.Millisecond) }

// mdOf and headersOf turn headers, whose binary values are base64, into
// metadata and back.
func mdOf(headers []*suite.Header) metadata.MD {
	md := metadata.MD{}
	for _, h := range headers {
		for _, v := range h.GetValue() {
			if strings.HasSuffix(strings.ToLower(h.GetName()), "-bin") {
				if raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "=")); err == nil {
					v = string(raw)
				}
			}
			md.Append(h.GetName(), v)
		}
	}
	return md
}

func headersOf(md metadata.MD) []*suite.Header {
	var headers []*suite.Header
	for name, values := range md {
		h := &suite.Header{Name: name}
		for _, v := range values {
			if strings.HasSuffix(name, "-bin") {
				v = base64.RawStdEncoding.EncodeToString([]byte(v))
			}
			h.Value = append(h.Value, v)
		}
		headers = append(headers, h)
	}
	return headers
}

// codeOf is an error's code as the suite writes it.
func codeOf(err error) *suite.Error {
	s := status.Convert(err)
	if s.Code() == codes.OK {
		return nil
	}
	return &suite.Error{Code: suite.Code(s.Code()), Message: proto.String(s.Message()), Details: s.Proto().GetDetails()}
}
