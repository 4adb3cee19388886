package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/bench/peers/peer"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/arith/arithpb"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/kv/kvpb"
	"github.com/everywire/everywire/wire"
)

// A grpcArm is one way to serve and call gRPC: ours on plain structs or bare
// grpc-go on generated code, with one of grpcOptions.
type grpcArm struct {
	Bare   bool
	Option string
}

func (a grpcArm) String() string {
	if a.Bare {
		return "bare/" + a.Option
	}
	return "grpc/" + a.Option
}

func parseGRPCArm(name string) (grpcArm, *grpcOption, error) {
	kind, option, _ := strings.Cut(name, "/")
	for i := range grpcOptions {
		if o := &grpcOptions[i]; o.name == option {
			return grpcArm{kind == "bare", option}, o, nil
		}
	}
	return grpcArm{}, nil, fmt.Errorf("no options of gRPC are called %q", option)
}

// A grpcOption is a setting of grpc-go's own, at both ends where it has two.
type grpcOption struct {
	name, about string
	server      []grpc.ServerOption
	dial        []grpc.DialOption
}

const defaultOption = "default"

var grpcOptions = []grpcOption{
	{name: defaultOption, about: "what the wire sets: as many stream workers as cores"},
	{"workers-0", "a goroutine for each call", []grpc.ServerOption{grpc.NumStreamWorkers(0)}, nil},
	{"workers-8x", "8 stream workers a core", []grpc.ServerOption{grpc.NumStreamWorkers(uint32(8 * runtime.GOMAXPROCS(0)))}, nil},
	{"shared-write", "write buffers shared by connections", []grpc.ServerOption{grpc.SharedWriteBuffer(true)}, []grpc.DialOption{grpc.WithSharedWriteBuffer(true)}},
	{"write-8K", "write buffers of 8 KiB, not 32", []grpc.ServerOption{grpc.WriteBufferSize(8 << 10)}, []grpc.DialOption{grpc.WithWriteBufferSize(8 << 10)}},
	{"write-128K", "write buffers of 128 KiB", []grpc.ServerOption{grpc.WriteBufferSize(128 << 10)}, []grpc.DialOption{grpc.WithWriteBufferSize(128 << 10)}},
	{"read-8K", "read buffers of 8 KiB, not 32", []grpc.ServerOption{grpc.ReadBufferSize(8 << 10)}, []grpc.DialOption{grpc.WithReadBufferSize(8 << 10)}},
	{"read-128K", "read buffers of 128 KiB", []grpc.ServerOption{grpc.ReadBufferSize(128 << 10)}, []grpc.DialOption{grpc.WithReadBufferSize(128 << 10)}},
	{
		"window-1M", "windows of 1 MiB from the start, grown as need be",
		[]grpc.ServerOption{grpc.InitialWindowSize(1 << 20), grpc.InitialConnWindowSize(1 << 20)},
		[]grpc.DialOption{grpc.WithInitialWindowSize(1 << 20), grpc.WithInitialConnWindowSize(1 << 20)},
	},
	{
		"static-1M", "windows of 1 MiB, never estimated",
		[]grpc.ServerOption{grpc.StaticStreamWindowSize(1 << 20), grpc.StaticConnWindowSize(1 << 20)},
		[]grpc.DialOption{grpc.WithStaticStreamWindowSize(1 << 20), grpc.WithStaticConnWindowSize(1 << 20)},
	},
	{"no-pool", "no pool of received frames", []grpc.ServerOption{experimental.BufferPool(mem.NopBufferPool{})}, []grpc.DialOption{experimental.WithBufferPool(mem.NopBufferPool{})}},
}

// grpcValues are what the key-value service holds.
var grpcValues = map[string][]byte{"64": make([]byte, 64), "64K": make([]byte, 64<<10)}

func valueOf(key []byte) ([]byte, error) {
	v, ok := grpcValues[string(key)]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no key %q", key)
	}
	return v, nil
}

// serveGRPC serves arith and the value of kv on an arm. Handlers of both arms do
// the same; the values are no store's, whose work is not in question.
func (*child) serveGRPC(ctx context.Context, name string) (string, error) {
	arm, o, err := parseGRPCArm(name)
	if err != nil {
		return "", err
	}
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	var wait func() error
	if arm.Bare {
		wait = func() error { return bareServer(o).Serve(lis) }
	} else {
		reg := everywire.NewRegistry()
		arith.Register(reg)
		everywire.Handle(reg, kv.Retrieve, func(_ context.Context, in *kv.RetrieveRequest) (*kv.RetrieveResponse, error) {
			v, err := valueOf(in.Key)
			return &kv.RetrieveResponse{Value: v}, err
		})
		srv, err := peer.ServeOurs(grpcName, lis, reg, wire.WithGRPCServerOptions(o.server...))
		if err != nil {
			return "", err
		}
		wait = srv.Wait
	}
	go func() {
		fmt.Fprintln(os.Stderr, "the server ended:", wait()) // the parent tells it on
		os.Exit(1)
	}()
	return lis.Addr().String(), nil
}

// bareServer has the options that our wire sets.
func bareServer(o *grpcOption) *grpc.Server {
	s := grpc.NewServer(append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(everywire.DefaultMaxMessage), grpc.MaxSendMsgSize(everywire.DefaultMaxMessage),
		grpc.ConnectionTimeout(10 * time.Second), grpc.MaxHeaderListSize(bareMetadata), grpc.MaxConcurrentStreams(1000),
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))),
	}, o.server...)...)
	arithpb.RegisterArithServer(s, bareArith{})
	kvpb.RegisterKeyValueServiceServer(s, bareKV{})
	return s
}

// bareMetadata is what our wire announces as its limit.
const bareMetadata = 64<<10 + 64<<10/3 + 16<<10

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

type bareKV struct {
	kvpb.UnimplementedKeyValueServiceServer
}

func (bareKV) Retrieve(_ context.Context, in *kvpb.RetrieveRequest) (*kvpb.RetrieveResponse, error) {
	v, err := valueOf(in.GetKey())
	return &kvpb.RetrieveResponse{Value: v}, err
}

// A grpcClient calls an arm on one connection.
type grpcClient struct {
	sum      func(ctx context.Context, numbers []int64) (int64, error)
	retrieve func(ctx context.Context, key []byte) ([]byte, error)
}

func (c *child) dialGRPC(_ context.Context, a dialArg) (none struct{}, err error) {
	arm, o, err := parseGRPCArm(a.Wire)
	if err != nil {
		return none, err
	}
	if arm.Bare {
		c.grpc, err = dialBare(a.Addr, o)
	} else {
		c.grpc, err = dialOurGRPC(a.Addr, o)
	}
	return none, err
}

func dialOurGRPC(addr string, o *grpcOption) (*grpcClient, error) {
	conn, err := wire.Dial(grpcName+"://"+addr, wire.WithGRPCDialOptions(o.dial...))
	if err != nil {
		return nil, err
	}
	return &grpcClient{
		func(ctx context.Context, numbers []int64) (int64, error) {
			out, err := everywire.Call[arith.SumReply](ctx, conn, arith.Sum, &arith.SumRequest{Numbers: numbers})
			if err != nil {
				return 0, err
			}
			return out.Sum, nil
		},
		func(ctx context.Context, key []byte) ([]byte, error) {
			out, err := everywire.Call[kv.RetrieveResponse](ctx, conn, kv.Retrieve, &kv.RetrieveRequest{Key: key})
			if err != nil {
				return nil, err
			}
			return out.Value, nil
		},
	}, nil
}

func dialBare(addr string, o *grpcOption) (*grpcClient, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithMaxHeaderListSize(bareMetadata),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(everywire.DefaultMaxMessage), grpc.MaxCallSendMsgSize(everywire.DefaultMaxMessage)),
	}, o.dial...)...)
	if err != nil {
		return nil, err
	}
	sums, values := arithpb.NewArithClient(conn), kvpb.NewKeyValueServiceClient(conn)
	return &grpcClient{
		func(ctx context.Context, numbers []int64) (int64, error) {
			out, err := sums.Sum(ctx, &arithpb.SumRequest{Numbers: numbers})
			return out.GetSum(), err
		},
		func(ctx context.Context, key []byte) ([]byte, error) {
			out, err := values.Retrieve(ctx, &kvpb.RetrieveRequest{Key: key})
			return out.GetValue(), err
		},
	}, nil
}

type grpcRunArg struct {
	Load   grpcLoad
	Window time.Duration
}

// runGRPC calls in a closed loop.
func (c *child) runGRPC(_ context.Context, a grpcRunArg) (w window, err error) {
	if c.grpc == nil {
		return w, errors.New("nothing is dialled")
	}
	before, err := readCounters()
	if err != nil {
		return w, err
	}
	if w.Calls, w.Took, err = c.grpc.run(a.Load, a.Window); err != nil {
		return w, err
	}
	after, err := readCounters()
	w.Used = after.minus(before)
	return w, err
}

func (c *grpcClient) run(l grpcLoad, window time.Duration) (int64, time.Duration, error) {
	var (
		wg    sync.WaitGroup
		total atomic.Int64
		errs  = make([]error, l.Callers)
	)
	begin := time.Now()
	for i := range l.Callers {
		wg.Go(func() {
			n := int64(0)
			for errs[i] == nil && time.Since(begin) < window {
				if errs[i] = c.call(l.Method); errs[i] == nil {
					n++
				}
			}
			total.Add(n)
		})
	}
	wg.Wait()
	return total.Load(), time.Since(begin), errors.Join(errs...)
}

// call makes one call and checks its reply.
func (c *grpcClient) call(method string) error {
	if method == "arith" {
		sum, err := c.sum(context.Background(), []int64{1, 2, 300, 70000, 5, 6, 7, 8})
		if err == nil && sum != 70329 {
			err = fmt.Errorf("the sum is %d", sum)
		}
		return err
	}
	value, err := c.retrieve(context.Background(), []byte(method))
	if err == nil && len(value) != len(grpcValues[method]) {
		err = fmt.Errorf("a value of %d bytes", len(value))
	}
	return err
}
