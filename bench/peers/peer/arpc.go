package peer

import (
	"context"
	"net"
	"time"

	"github.com/lesismal/arpc"
	"github.com/lesismal/arpc/log"
)

// arpcPeer runs the handler on the connection's reading goroutine, which is
// arpc's default.
var arpcPeer = Peer{
	Name: "arpc", Kind: Framework, Form: "encoding/json", Module: "github.com/lesismal/arpc", Shared: true,
	Serve: func(lis net.Listener) error {
		log.SetLevel(log.LevelNone) // it reports every connection, and its end
		srv := arpc.NewServer()
		srv.Handler.SetMaxBodyLen(MaxMessage)
		srv.Handler.Handle("/echo", func(ctx *arpc.Context) {
			var m Message
			if err := ctx.Bind(&m); err != nil {
				_ = ctx.Error(err.Error()) // the client has gone; there is nobody to tell
				return
			}
			_ = ctx.Write(&m) // likewise
		})
		return srv.Serve(lis)
	},
	Dial: func(ctx context.Context, addr string) (Conn, error) {
		log.SetLevel(log.LevelNone)
		client, err := arpc.NewClient(func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) })
		if err != nil {
			return nil, err
		}
		client.Handler.SetMaxBodyLen(MaxMessage)
		return arpcConn{client}, nil
	},
}

type arpcConn struct{ client *arpc.Client }

func (c arpcConn) Call(_ context.Context, seq int64, text string) (int64, string, error) {
	var out Message
	err := c.client.Call("/echo", &Message{Seq: seq, Text: text}, &out, time.Minute) // it insists on a timeout
	return out.Seq, out.Text, err
}

func (c arpcConn) Close() error {
	c.client.Stop()
	return nil
}
