package peer

import (
	"context"
	"encoding/json"
	"errors"
	"net"

	"github.com/sourcegraph/jsonrpc2"
)

// sourcegraphPeer runs the handler on the connection's reading goroutine, which
// is its default, and sends plain objects, the shortest of its framings.
var sourcegraphPeer = Peer{
	Name: "sourcegraph", Kind: Framework, Form: "JSON-RPC 2.0, bare objects", Module: "github.com/sourcegraph/jsonrpc2", Shared: true,
	Serve: func(lis net.Listener) error {
		h := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
			var m Message
			if req.Params == nil {
				return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "no params"}
			}
			if err := json.Unmarshal(*req.Params, &m); err != nil {
				return nil, err
			}
			return &m, nil
		})
		return accept(lis, func(nc net.Conn) {
			<-jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(nc), h).DisconnectNotify()
		})
	},
	Dial: func(ctx context.Context, addr string) (Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		none := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
			return nil, errors.New("the client has no methods")
		})
		// The context is the connection's, not that of its making.
		return sourcegraphConn{jsonrpc2.NewConn(context.WithoutCancel(ctx), jsonrpc2.NewPlainObjectStream(nc), none)}, nil
	},
}

type sourcegraphConn struct{ *jsonrpc2.Conn }

func (c sourcegraphConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	var out Message
	err := c.Conn.Call(ctx, "echo", &Message{Seq: seq, Text: text}, &out)
	return out.Seq, out.Text, err
}
