package peer

import (
	"context"
	"io"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
)

var (
	netRPC = Peer{
		Name: "net/rpc", Kind: Framework, Form: "gob", Shared: true,
		Serve: serveNetRPC((*rpc.Server).ServeConn),
		Dial:  dialNetRPC(rpc.NewClient),
	}
	netRPCJSON = Peer{
		Name: "net/rpc/jsonrpc", Kind: Framework, Form: "JSON-RPC 1.0", Shared: true,
		Serve: serveNetRPC(func(srv *rpc.Server, c io.ReadWriteCloser) { srv.ServeCodec(jsonrpc.NewServerCodec(c)) }),
		Dial:  dialNetRPC(jsonrpc.NewClient),
	}
)

// NetRPCEcho is the service; net/rpc wants its type and methods exported.
type NetRPCEcho struct{}

// Echo answers with the message that it gets.
func (NetRPCEcho) Echo(in *Message, out *Message) error {
	*out = *in
	return nil
}

func serveNetRPC(serve func(*rpc.Server, io.ReadWriteCloser)) func(net.Listener) error {
	return func(lis net.Listener) error {
		srv := rpc.NewServer()
		if err := srv.RegisterName("Peer", NetRPCEcho{}); err != nil {
			return err
		}
		return accept(lis, func(nc net.Conn) { serve(srv, nc) })
	}
}

// accept serves each connection on a goroutine of its own.
func accept(lis net.Listener, serve func(net.Conn)) error {
	for {
		nc, err := lis.Accept()
		if err != nil {
			return err
		}
		go serve(nc)
	}
}

func dialNetRPC(newClient func(io.ReadWriteCloser) *rpc.Client) func(context.Context, string) (Conn, error) {
	return func(ctx context.Context, addr string) (Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return netRPCConn{newClient(nc)}, nil
	}
}

type netRPCConn struct{ *rpc.Client }

func (c netRPCConn) Call(_ context.Context, seq int64, text string) (int64, string, error) {
	var out Message
	err := c.Client.Call("Peer.Echo", &Message{Seq: seq, Text: text}, &out)
	return out.Seq, out.Text, err
}
