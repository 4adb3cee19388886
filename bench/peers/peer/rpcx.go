package peer

import (
	"context"
	"net"

	"github.com/smallnest/rpcx/client"
	"github.com/smallnest/rpcx/protocol"
	"github.com/smallnest/rpcx/server"
)

// rpcxPeer has rpcx's default codec for plain structs. The client is the one
// beneath its XClient: no discovery, no fail-over.
var rpcxPeer = Peer{
	Name: "rpcx", Kind: Framework, Form: "MessagePack", Module: "github.com/smallnest/rpcx", Shared: true,
	Serve: func(lis net.Listener) error {
		protocol.MaxMessageLength = MaxMessage
		srv := server.NewServer()
		if err := srv.RegisterName("Peer", RPCXEcho{}, ""); err != nil {
			return err
		}
		return srv.ServeListener("tcp", lis)
	},
	Dial: func(_ context.Context, addr string) (Conn, error) {
		protocol.MaxMessageLength = MaxMessage
		c := client.NewClient(client.DefaultOption)
		if err := c.Connect("tcp", addr); err != nil {
			return nil, err
		}
		return rpcxConn{c}, nil
	},
}

// RPCXEcho is the service; rpcx wants its type and methods exported.
type RPCXEcho struct{}

// Echo answers with the message that it gets.
func (RPCXEcho) Echo(_ context.Context, in *Message, out *Message) error {
	*out = *in
	return nil
}

type rpcxConn struct{ *client.Client }

func (c rpcxConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	var out Message
	err := c.Client.Call(ctx, "Peer", "Echo", &Message{Seq: seq, Text: text}, &out)
	return out.Seq, out.Text, err
}
