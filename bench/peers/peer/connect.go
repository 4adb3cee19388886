package peer

import (
	"context"
	"net"
	"net/http"

	"connectrpc.com/connect"

	"github.com/everywire/everywire/bench/peers/peer/echopb"
)

// connectGo speaks the Connect protocol over cleartext HTTP/2, which lets
// callers share a connection. Handler and client are made with the functions
// that its generated code calls. Replies are not compressed, which they would
// be by default: no other peer does that.
var connectGo = Peer{
	Name: "connect", Kind: Framework, Form: "protobuf, Connect on HTTP/2", Module: "connectrpc.com/connect", Shared: true,
	Serve: func(lis net.Listener) error {
		mux := http.NewServeMux()
		mux.Handle(echopb.Peer_Echo_FullMethodName, connect.NewUnaryHandler(echopb.Peer_Echo_FullMethodName,
			func(_ context.Context, req *connect.Request[echopb.Message]) (*connect.Response[echopb.Message], error) {
				return connect.NewResponse(req.Msg), nil
			}, connect.WithReadMaxBytes(MaxMessage), connect.WithCompression("gzip", nil, nil)))
		return serveHTTP(lis, mux, true)
	},
	Dial: func(_ context.Context, addr string) (Conn, error) {
		transport := newTransport(true)
		client := connect.NewClient[echopb.Message, echopb.Message](&http.Client{Transport: transport},
			"http://"+addr+echopb.Peer_Echo_FullMethodName, connect.WithReadMaxBytes(MaxMessage), connect.WithAcceptCompression("gzip", nil, nil))
		return connectConn{transport, client}, nil
	},
}

type connectConn struct {
	transport *http.Transport
	client    *connect.Client[echopb.Message, echopb.Message]
}

func (c connectConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	out, err := c.client.CallUnary(ctx, connect.NewRequest(&echopb.Message{Seq: seq, Text: text}))
	if err != nil {
		return 0, "", err
	}
	return out.Msg.GetSeq(), out.Msg.GetText(), nil
}

func (c connectConn) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}
