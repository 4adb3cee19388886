package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection"
)

// grpcServerFlag makes this program gRPC's interop server.
const grpcServerFlag = "-serve-grpc"

// addrVariable is the environment variable with its address.
const addrVariable = "EVERYWIRE_BENCH_ADDR"

// serveGRPC serves until it is interrupted.
func serveGRPC() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", os.Getenv(addrVariable))
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	testgrpc.RegisterTestServiceServer(s, interop.NewTestServer())
	reflection.Register(s)
	context.AfterFunc(ctx, s.Stop)
	return s.Serve(lis)
}

func (m *machine) interop(ctx context.Context) (addr string, stop func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	if addr, err = freeAddr(ctx); err != nil {
		return "", nil, err
	}
	cmd := m.command(context.WithoutCancel(ctx), m.servers, exe, grpcServerFlag)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s", addrVariable, addr))
	stop, err = m.serve(ctx, cmd, addr)
	return addr, stop, err
}
