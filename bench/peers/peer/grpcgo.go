package peer

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire/bench/peers/peer/echopb"
)

var grpcGo = Peer{
	Name: "grpc-go", Kind: Framework, Form: "protobuf, gRPC", Module: "google.golang.org/grpc", Shared: true,
	Serve: func(lis net.Listener) error {
		srv := grpc.NewServer()
		echopb.RegisterPeerServer(srv, pbEcho{})
		return srv.Serve(lis)
	},
	Dial: func(_ context.Context, addr string) (Conn, error) {
		cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		return grpcConn{cc, echopb.NewPeerClient(cc)}, nil
	},
}

// pbEcho is the handler of every peer that takes generated messages.
type pbEcho struct{ echopb.UnimplementedPeerServer }

func (pbEcho) Echo(_ context.Context, in *echopb.Message) (*echopb.Message, error) { return in, nil }

func (pbEcho) Document(_ context.Context, in *structpb.Value) (*structpb.Value, error) {
	return in, nil
}

type grpcConn struct {
	*grpc.ClientConn
	client echopb.PeerClient
}

func (c grpcConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	out, err := c.client.Echo(ctx, &echopb.Message{Seq: seq, Text: text})
	return out.GetSeq(), out.GetText(), err
}
