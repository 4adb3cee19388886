package peer

import (
	"context"
	"net"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"github.com/everywire/everywire/bench/peers/peer/echopb"
)

// drpcPeer allows one call at a time on a connection; more callers wait for
// each other inside it. It is compared as it is: sharing a connection is what
// the load asks for.
var drpcPeer = Peer{
	Name: "drpc", Kind: Framework, Form: "protobuf, one call at a time", Module: "storj.io/drpc", Shared: true,
	Serve: func(lis net.Listener) error {
		mux := drpcmux.New()
		if err := mux.Register(pbEcho{}, drpcEcho{}); err != nil {
			return err
		}
		return drpcserver.New(mux).Serve(context.Background(), lis)
	},
	Dial: func(ctx context.Context, addr string) (Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return drpcConn{drpcconn.New(nc)}, nil
	},
}

// drpcEcho describes the service, as the generated code would.
type drpcEcho struct{}

func (drpcEcho) NumMethods() int { return 1 }

func (drpcEcho) Method(n int) (rpc string, enc drpc.Encoding, receiver drpc.Receiver, method any, ok bool) {
	if n != 0 {
		return "", nil, nil, nil, false
	}
	receiver = func(srv any, ctx context.Context, in, _ any) (drpc.Message, error) {
		return srv.(pbEcho).Echo(ctx, in.(*echopb.Message))
	}
	return echopb.Peer_Echo_FullMethodName, drpcProto{}, receiver, pbEcho.Echo, true
}

// drpcProto is drpc's encoding of protobuf messages.
type drpcProto struct{}

func (drpcProto) Marshal(m drpc.Message) ([]byte, error) { return proto.Marshal(m.(proto.Message)) }

// MarshalAppend is found by drpc and saves it a buffer.
func (drpcProto) MarshalAppend(buf []byte, m drpc.Message) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(buf, m.(proto.Message))
}

func (drpcProto) Unmarshal(buf []byte, m drpc.Message) error {
	return proto.Unmarshal(buf, m.(proto.Message))
}

type drpcConn struct{ *drpcconn.Conn }

func (c drpcConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	var out echopb.Message
	err := c.Invoke(ctx, echopb.Peer_Echo_FullMethodName, drpcProto{}, &echopb.Message{Seq: seq, Text: text}, &out)
	return out.GetSeq(), out.GetText(), err
}
