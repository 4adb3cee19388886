package grpcwire

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith/arithpb"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

type bareArith struct {
	arithpb.UnimplementedArithServer
}

func (bareArith) Sum(_ context.Context, in *arithpb.SumRequest) (*arithpb.SumReply, error) {
	out := new(arithpb.SumReply)
	for _, n := range in.GetNumbers() {
		out.Sum += n
	}
	return out, nil
}

// bare is grpc-go alone: what this wire is measured against.
func bare(b *testing.B) grpc.ClientConnInterface {
	srv := grpc.NewServer()
	arithpb.RegisterArithServer(srv, bareArith{})
	probepb.RegisterProbeServer(srv, probe{})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = srv.Serve(lis) }()
	b.Cleanup(srv.Stop)
	cc, err := grpc.NewClient("passthrough:///"+lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cc.Close() })
	return cc
}

func BenchmarkSum(b *testing.B) {
	in := &arithpb.SumRequest{Numbers: []int64{1, 2, 3, 4, 5, 6, 7, 8}}
	generated := func(conn grpc.ClientConnInterface) func(context.Context) error {
		client := arithpb.NewArithClient(conn)
		return func(ctx context.Context) error { _, err := client.Sum(ctx, in); return err }
	}
	run := func(name string, call func(context.Context) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	ours := everywire.NewRegistry()
	arithpb.RegisterArithServer(ours, bareArith{})
	addr, _ := start(b, ours)
	plainAddr, _ := start(b, testRegistry())
	run("bare", generated(bare(b)))
	run("generated", generated(connect(b, clientConfig(nil, addr))))
	for _, codec := range codecNames {
		conn := connect(b, clientConfig(rpc.Options{"codec": codec}, plainAddr))
		run("plain/"+codec, func(ctx context.Context) error {
			_, err := everywire.Call[sumReply](ctx, conn, sumMethod, &sumRequest{Numbers: in.GetNumbers()})
			return err
		})
	}
}

func BenchmarkLarge(b *testing.B) {
	in := &probepb.RunRequest{Payload: []byte(strings.Repeat("x", 512<<10))}
	addr, _ := start(b, testRegistry())
	for name, conn := range map[string]grpc.ClientConnInterface{"bare": bare(b), "ours": connect(b, clientConfig(nil, addr))} {
		b.Run(name, func(b *testing.B) {
			client := probepb.NewProbeClient(conn)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Run(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
