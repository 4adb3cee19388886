package peer

import (
	"context"
	"net"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/server"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/bench/peers/peer/echopb"
)

// kitexPeer is Kitex's own protocol with protobuf, on netpoll, with the
// multiplexing that lets callers share a connection.
var kitexPeer = Peer{
	Name: "kitex", Kind: Framework, Form: "protobuf, multiplexed", Module: "github.com/cloudwego/kitex", Shared: true,
	Serve: func(lis net.Listener) error {
		klog.SetLevel(klog.LevelError) // it reports every start
		srv := server.NewServer(server.WithListener(lis), server.WithMuxTransport())
		if err := srv.RegisterService(kitexInfo, &pbEcho{}); err != nil {
			return err
		}
		return srv.Run()
	},
	Dial: func(_ context.Context, addr string) (Conn, error) {
		klog.SetLevel(klog.LevelError)
		c, err := client.NewClient(kitexInfo, client.WithDestService("Peer"), client.WithHostPorts(addr), client.WithMuxConnection(1))
		if err != nil {
			return nil, err
		}
		return kitexConn{c}, nil
	},
}

// kitexInfo describes the service, as Kitex's generated code would.
var kitexInfo = &serviceinfo.ServiceInfo{
	ServiceName:  "Peer",
	HandlerType:  (*echopb.PeerServer)(nil),
	PayloadCodec: serviceinfo.Protobuf,
	Methods: map[string]serviceinfo.MethodInfo{
		"Echo": serviceinfo.NewMethodInfo(
			func(ctx context.Context, handler, args, result any) (err error) {
				result.(*kitexMessage).msg, err = handler.(echopb.PeerServer).Echo(ctx, args.(*kitexMessage).msg)
				return err
			},
			func() any { return new(kitexMessage) },
			func() any { return new(kitexMessage) },
			false,
		),
	},
	Extra: map[string]any{serviceinfo.PackageName: "everywire.bench"},
}

// kitexMessage holds the one argument, and the result, of a method.
type kitexMessage struct{ msg *echopb.Message }

func (m *kitexMessage) Marshal(out []byte) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(out, m.msg)
}

func (m *kitexMessage) Unmarshal(in []byte) error {
	m.msg = new(echopb.Message)
	return proto.Unmarshal(in, m.msg)
}

type kitexConn struct{ client client.Client }

func (c kitexConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	var out kitexMessage
	err := c.client.Call(ctx, "Echo", &kitexMessage{&echopb.Message{Seq: seq, Text: text}}, &out)
	return out.msg.GetSeq(), out.msg.GetText(), err
}

func (c kitexConn) Close() error {
	if closer, ok := c.client.(interface{ Close() error }); ok {
		return closer.Close()
	}
	return nil
}
