package peer

import (
	"context"
	"net"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire/bench/peers/peer/echopb"
)

var (
	// connectGo speaks the Connect protocol over cleartext HTTP/2, which lets
	// callers share a connection. Handler and client are made with the functions
	// that its generated code calls. Replies are not compressed, which they would
	// be by default: no other peer does that.
	connectGo = Peer{
		Name: "connect", Kind: Framework, Form: "protobuf, Connect on HTTP/2", Module: "connectrpc.com/connect", Shared: true, Documents: true,
		Serve: func(lis net.Listener) error { return serveHTTP(lis, connectEchoes(), true) },
		Dial:  dialConnect(true),
	}
	// connectJSON is the same with JSON over HTTP/1.1.
	connectJSON = Peer{
		Name: "connect-json", Kind: API, Form: "JSON, Connect on HTTP/1.1", Module: "connectrpc.com/connect", Documents: true,
		Serve: func(lis net.Listener) error { return serveHTTP(lis, connectEchoes(), false) },
		Dial:  dialConnect(false, connect.WithProtoJSON()),
	}
)

func connectEchoes() http.Handler {
	opts := []connect.HandlerOption{connect.WithReadMaxBytes(MaxMessage), connect.WithCompression("gzip", nil, nil)}
	mux := http.NewServeMux()
	mux.Handle(echopb.Peer_Echo_FullMethodName, connect.NewUnaryHandler(echopb.Peer_Echo_FullMethodName, connectEcho[echopb.Message], opts...))
	mux.Handle(echopb.Peer_Document_FullMethodName, connect.NewUnaryHandler(echopb.Peer_Document_FullMethodName, connectEcho[structpb.Value], opts...))
	return mux
}

func connectEcho[T any](_ context.Context, req *connect.Request[T]) (*connect.Response[T], error) {
	return connect.NewResponse(req.Msg), nil
}

func dialConnect(http2 bool, opts ...connect.ClientOption) func(context.Context, string) (Conn, error) {
	opts = append(opts, connect.WithReadMaxBytes(MaxMessage), connect.WithAcceptCompression("gzip", nil, nil))
	return func(_ context.Context, addr string) (Conn, error) {
		c := connectConn{transport: newTransport(http2)}
		client := &http.Client{Transport: c.transport}
		c.echo = connect.NewClient[echopb.Message, echopb.Message](client, "http://"+addr+echopb.Peer_Echo_FullMethodName, opts...)
		c.document = connect.NewClient[structpb.Value, structpb.Value](client, "http://"+addr+echopb.Peer_Document_FullMethodName, opts...)
		return c, nil
	}
}

type connectConn struct {
	transport *http.Transport
	echo      *connect.Client[echopb.Message, echopb.Message]
	document  *connect.Client[structpb.Value, structpb.Value]
}

func (c connectConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	out, err := c.echo.CallUnary(ctx, connect.NewRequest(&echopb.Message{Seq: seq, Text: text}))
	if err != nil {
		return 0, "", err
	}
	return out.Msg.GetSeq(), out.Msg.GetText(), nil
}

// Document is [Documenter]'s.
func (c connectConn) Document(text []byte) (func(context.Context) error, error) {
	in := new(structpb.Value)
	if err := protojson.Unmarshal(text, in); err != nil {
		return nil, err
	}
	var check checker
	return func(ctx context.Context) error {
		out, err := c.document.CallUnary(ctx, connect.NewRequest(in))
		if err != nil {
			return err
		}
		fields := out.Msg.GetStructValue().GetFields()
		return check.document(len(fields) == len(in.GetStructValue().GetFields()), func() bool { return proto.Equal(in, out.Msg) })
	}, nil
}

func (c connectConn) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}
