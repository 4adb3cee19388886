package peer

import (
	"context"
	"net"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
	"github.com/creachadair/jrpc2/server"
)

var jrpc2Peer = Peer{
	Name: "jrpc2", Kind: Framework, Form: "JSON-RPC 2.0, a line each", Module: "github.com/creachadair/jrpc2", Shared: true,
	Serve: func(lis net.Listener) error {
		methods := handler.Map{"echo": handler.New(func(_ context.Context, in *Message) (*Message, error) { return in, nil })}
		return server.Loop(context.Background(), server.NetAccepter(lis, channel.Line), server.Static(methods), nil)
	},
	Dial: func(ctx context.Context, addr string) (Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return jrpc2Conn{jrpc2.NewClient(channel.Line(nc, nc), nil)}, nil
	},
}

type jrpc2Conn struct{ *jrpc2.Client }

func (c jrpc2Conn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	var out Message
	err := c.CallResult(ctx, "echo", &Message{Seq: seq, Text: text}, &out)
	return out.Seq, out.Text, err
}
