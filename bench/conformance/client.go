package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/bench/conformance/suite"
	"github.com/everywire/everywire/wire"
)

// atOnce bounds the calls that run at the same time.
const atOnce = 4

// call is the client under test: it makes the calls that the runner asks for,
// and tells how they went.
func call(ctx context.Context, in io.Reader, out io.Writer) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	slots := make(chan struct{}, atOnce)
	for {
		req := new(suite.ClientCompatRequest)
		if err := readFrame(in, req); err != nil {
			wg.Wait()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, failed)
		}
		slots <- struct{}{}
		wg.Go(func() {
			res := &suite.ClientCompatResponse{TestName: req.GetTestName()}
			if result, err := perform(ctx, req); err != nil {
				res.Result = &suite.ClientCompatResponse_Error{Error: &suite.ClientErrorResult{Message: err.Error()}}
			} else {
				res.Result = &suite.ClientCompatResponse_Response{Response: result}
			}
			<-slots
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, writeFrame(out, res))
		})
	}
}

// dial makes a connection of the kind that a request asks for.
func dial(req *suite.ClientCompatRequest) (*wire.Conn, error) {
	options := map[string]string{}
	if req.GetProtocol() == suite.Protocol_PROTOCOL_GRPC_WEB {
		options["protocol"] = "grpc-web"
	}
	if req.GetCodec() == suite.Codec_CODEC_JSON {
		options["codec"] = "json"
	}
	if req.GetHttpVersion() == suite.HTTPVersion_HTTP_VERSION_1 {
		options["http"] = "1.1"
	}
	switch req.GetCompression() {
	case suite.Compression_COMPRESSION_GZIP:
		options["compression"] = "gzip"
	case suite.Compression_COMPRESSION_BR:
		options["compression"] = "br"
	case suite.Compression_COMPRESSION_ZSTD:
		options["compression"] = "zstd"
	}
	target := wire.Target{
		Wire: "connect", Transport: "http", Options: options, TLS: len(req.GetServerTlsCert()) > 0,
		Addrs: []string{net.JoinHostPort(req.GetHost(), strconv.Itoa(int(req.GetPort())))},
	}
	if req.GetProtocol() == suite.Protocol_PROTOCOL_GRPC {
		target.Wire, target.Transport = "grpc", "tcp"
		delete(options, "http")
	} else if options["compression"] != "" {
		options["compressmin"] = "0" // the suite's messages are small
	}
	if req.GetUseGetHttpMethod() {
		options["get"] = ""
	}
	methods := everywire.NewRegistry() // for which methods have no side effects
	suite.RegisterConformanceServiceServer(methods, service{})
	opts := []wire.DialOption{
		wire.WithLimits(everywire.Limits{MaxMessage: int(req.GetMessageReceiveLimit())}),
		wire.WithMethods(methods),
	}
	if target.TLS {
		cfg, err := clientTLS(req)
		if err != nil {
			return nil, err
		}
		opts = append(opts, wire.WithTLSConfig(cfg))
	}
	return wire.Dial(target.String(), opts...)
}

func clientTLS(req *suite.ClientCompatRequest) (*tls.Config, error) {
	roots, err := pool(req.GetServerTlsCert())
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	if creds := req.GetClientTlsCreds(); creds != nil {
		cert, err := tls.X509KeyPair(creds.GetCert(), creds.GetKey())
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}

// An attempt is one call and what comes of it.
type attempt struct {
	req    *suite.ClientCompatRequest
	conn   *wire.Conn
	cancel context.CancelFunc
	result *suite.ClientResponseResult
}

func perform(ctx context.Context, req *suite.ClientCompatRequest) (*suite.ClientResponseResult, error) {
	conn, err := dial(req)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx = metadata.NewOutgoingContext(ctx, mdOf(req.GetRequestHeaders()))
	if req.TimeoutMs != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(req.GetTimeoutMs())*time.Millisecond)
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &attempt{req: req, conn: conn, cancel: cancel, result: new(suite.ClientResponseResult)}
	method := "/" + req.GetService() + "/" + req.GetMethod()
	switch req.GetMethod() {
	case "Unary":
		return a.result, a.unary(ctx, method, new(suite.UnaryResponse))
	case "IdempotentUnary":
		return a.result, a.unary(ctx, method, new(suite.IdempotentUnaryResponse))
	case "Unimplemented":
		return a.result, a.unary(ctx, method, new(suite.UnimplementedResponse))
	case "ClientStream":
		return a.result, a.stream(ctx, method, &grpc.StreamDesc{ClientStreams: true}, new(suite.ClientStreamResponse))
	case "ServerStream":
		return a.result, a.stream(ctx, method, &grpc.StreamDesc{ServerStreams: true}, new(suite.ServerStreamResponse))
	case "BidiStream":
		return a.result, a.stream(ctx, method, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, new(suite.BidiStreamResponse))
	}
	return nil, fmt.Errorf("unknown method %q", req.GetMethod())
}

// hasPayload are the replies that tell what their server saw.
type hasPayload interface {
	GetPayload() *suite.ConformancePayload
}

func (a *attempt) unary(ctx context.Context, method string, reply proto.Message) error {
	messages := a.req.GetRequestMessages()
	if len(messages) != 1 {
		return fmt.Errorf("%d requests of a unary call", len(messages))
	}
	in, err := messages[0].UnmarshalNew()
	if err != nil {
		return err
	}
	if ms, ok := a.req.GetCancel().GetCancelTiming().(*suite.ClientCompatRequest_Cancel_AfterCloseSendMs); ok {
		defer time.AfterFunc(time.Duration(ms.AfterCloseSendMs)*time.Millisecond, a.cancel).Stop()
	}
	var header, trailer metadata.MD
	err = a.conn.Invoke(ctx, method, in, reply, grpc.Header(&header), grpc.Trailer(&trailer))
	a.result.ResponseHeaders, a.result.ResponseTrailers = headersOf(header), headersOf(trailer)
	a.result.Error = codeOf(err)
	if r, ok := reply.(hasPayload); ok && err == nil {
		a.result.Payloads = append(a.result.Payloads, r.GetPayload())
	}
	return nil
}

func (a *attempt) stream(ctx context.Context, method string, desc *grpc.StreamDesc, reply proto.Message) error {
	stream, err := a.conn.NewStream(ctx, desc, method)
	if err != nil {
		a.result.Error = codeOf(err)
		return nil
	}
	end, err := a.talk(stream, reply)
	if err != nil {
		return err
	}
	if !errors.Is(end, io.EOF) {
		a.result.Error = codeOf(end)
	}
	if md, err := stream.Header(); err == nil {
		a.result.ResponseHeaders = headersOf(md)
	}
	a.result.ResponseTrailers = headersOf(stream.Trailer())
	if !desc.ServerStreams && a.result.Error != nil {
		a.result.Payloads = nil
	}
	return nil
}

// talk sends and receives, and returns how the stream ended.
func (a *attempt) talk(stream grpc.ClientStream, reply proto.Message) (end, err error) {
	each := a.req.GetStreamType() == suite.StreamType_STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM
	messages := a.req.GetRequestMessages()
	for i, message := range messages {
		in, err := message.UnmarshalNew()
		if err != nil {
			return nil, err
		}
		time.Sleep(time.Duration(a.req.GetRequestDelayMs()) * time.Millisecond)
		if err := stream.SendMsg(in); err != nil {
			a.result.NumUnsentRequests = int32(len(messages) - i)
			break
		}
		if each {
			if end := a.receive(stream, reply); end != nil {
				return end, nil
			}
		}
	}
	timing := a.req.GetCancel().GetCancelTiming()
	if _, ok := timing.(*suite.ClientCompatRequest_Cancel_BeforeCloseSend); ok {
		a.cancel()
	}
	if err := stream.CloseSend(); err != nil {
		return err, nil
	}
	if ms, ok := timing.(*suite.ClientCompatRequest_Cancel_AfterCloseSendMs); ok {
		defer time.AfterFunc(time.Duration(ms.AfterCloseSendMs)*time.Millisecond, a.cancel).Stop()
	}
	for {
		end := a.receive(stream, reply)
		if end != nil {
			return end, nil
		}
		if a.req.GetMethod() == "ClientStream" { // RecvMsg has waited for the end
			return io.EOF, nil
		}
	}
}

func (a *attempt) receive(stream grpc.ClientStream, reply proto.Message) error {
	out := reply.ProtoReflect().New().Interface()
	if err := stream.RecvMsg(out); err != nil {
		return err
	}
	r, ok := out.(hasPayload)
	if !ok {
		return status.Errorf(codes.Internal, "%T has no payload", out)
	}
	a.result.Payloads = append(a.result.Payloads, r.GetPayload())
	n, ok := a.req.GetCancel().GetCancelTiming().(*suite.ClientCompatRequest_Cancel_AfterNumResponses)
	if ok && len(a.result.Payloads) >= int(n.AfterNumResponses) {
		a.cancel()
	}
	return nil
}
