package interop

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

// cases are those of grpc-go's client that need no cloud account. They end the
// process if they fail.
var cases = []struct {
	name string
	do   func(context.Context, testpb.TestServiceClient, ...grpc.CallOption)
}{
	{"empty_unary", interop.DoEmptyUnaryCall},
	{"large_unary", interop.DoLargeUnaryCall},
	{"client_streaming", interop.DoClientStreaming},
	{"server_streaming", interop.DoServerStreaming},
	{"ping_pong", interop.DoPingPong},
	{"empty_stream", interop.DoEmptyStream},
	{"timeout_on_sleeping_server", interop.DoTimeoutOnSleepingServer},
	{"cancel_after_begin", interop.DoCancelAfterBegin},
	{"cancel_after_first_response", interop.DoCancelAfterFirstResponse},
	{"custom_metadata", interop.DoCustomMetadata},
	{"status_code_and_message", interop.DoStatusCodeAndMessage},
	{"special_status_message", interop.DoSpecialStatusMessage},
}

// Servers and clients are ours, or grpc-go's own; no pair is of grpc-go alone.
func TestCases(t *testing.T) {
	servers := map[string]string{"grpc": serveOurs(t, "grpc"), "any": serveOurs(t, "any"), "grpc-go": serveTheirs(t)}
	for name, addr := range servers {
		conns := map[string]grpc.ClientConnInterface{"everywire": dialOurs(t, addr)}
		if name != "grpc-go" {
			conns["grpc-go"] = dialTheirs(t, addr)
		}
		for client, conn := range conns {
			t.Run(client+" to "+name, func(t *testing.T) {
				tc := testpb.NewTestServiceClient(conn)
				for _, c := range cases {
					t.Run(c.name, func(t *testing.T) { c.do(within(t), tc) })
					t.Run(c.name+", gzip", func(t *testing.T) { c.do(within(t), tc, grpc.UseCompressor(gzip.Name)) })
				}
				t.Run("unimplemented_service", func(t *testing.T) {
					interop.DoUnimplementedService(within(t), testpb.NewUnimplementedServiceClient(conn))
				})
				// grpc-go's function takes no other connection than its own.
				t.Run("unimplemented_method", func(t *testing.T) {
					err := conn.Invoke(within(t), "/grpc.testing.TestService/UnimplementedCall", &testpb.Empty{}, &testpb.Empty{})
					if status.Code(err) != codes.Unimplemented {
						t.Error(err)
					}
				})
				t.Run("large_unary, many", func(t *testing.T) {
					errs := make(chan error, 50)
					for i := range cap(errs) {
						go func() { errs <- large(within(t), tc, 1000*i) }()
					}
					for range cap(errs) {
						if err := <-errs; err != nil {
							t.Error(err)
						}
					}
				})
			})
		}
	}
}

// large is large_unary of another size.
func large(ctx context.Context, tc testpb.TestServiceClient, size int) error {
	out, err := tc.UnaryCall(ctx, &testpb.SimpleRequest{ResponseSize: int32(size), Payload: &testpb.Payload{Body: make([]byte, size)}})
	if err == nil && len(out.GetPayload().GetBody()) != size {
		err = fmt.Errorf("%d bytes came back of %d", len(out.GetPayload().GetBody()), size)
	}
	return err
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func serveOurs(t *testing.T, name string) string {
	t.Helper()
	reg := everywire.NewRegistry()
	testpb.RegisterTestServiceServer(reg, interop.NewTestServer())
	server, err := wire.Serve(t.Context(), reg, []string{name + "://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return server.Targets()[0].Addrs[0]
}

func serveTheirs(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	testpb.RegisterTestServiceServer(server, interop.NewTestServer())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(lis) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return lis.Addr().String()
}

func dialOurs(t *testing.T, addr string) grpc.ClientConnInterface {
	t.Helper()
	conn, err := wire.Dial("grpc://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func dialTheirs(t *testing.T, addr string) grpc.ClientConnInterface {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// Compressed calls are so on the wire, both ways: what the cases
// client_compressed_* and server_compressed_* of other languages look for, which
// grpc-go's client does not have.
func TestCompressed(t *testing.T) {
	addr := serveOurs(t, "grpc")
	ours, err := wire.Dial("grpc://"+addr, wire.WithDialer(counted))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return counted(ctx, "tcp", addr) }))
	if err != nil {
		t.Fatal(err)
	}
	const size = 100_000
	for name, conn := range map[string]interface {
		grpc.ClientConnInterface
		Close() error
	}{"everywire": ours, "grpc-go": theirs} {
		before := bytes.Load()
		in := &testpb.SimpleRequest{ResponseSize: size, Payload: &testpb.Payload{Body: make([]byte, size)}}
		out, err := testpb.NewTestServiceClient(conn).UnaryCall(within(t), in, grpc.UseCompressor(gzip.Name))
		if err != nil || len(out.GetPayload().GetBody()) != size {
			t.Errorf("%s: %v", name, err)
		}
		if n := bytes.Load() - before; n > size/10 {
			t.Errorf("%s: %d bytes of zeros travelled as %d", name, 2*size, n)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// bytes are those that counted connections have sent and received.
var bytes atomic.Int64

type countedConn struct{ net.Conn }

func counted(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return countedConn{conn}, err
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	bytes.Add(int64(n))
	return n, err
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	bytes.Add(int64(n))
	return n, err
}
