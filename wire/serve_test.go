package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/wire"
)

func kvRegistry() *everywire.Registry {
	reg := everywire.NewRegistry()
	kv.New(kv.Options{}).Register(reg)
	return reg
}

// A key written over one wire is read over each other one, in every pair.
func TestOneStoreOnEveryWire(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	reg := kvRegistry()
	server, err := wire.Serve(t.Context(), reg, []string{
		"rest://127.0.0.1:0", "jsonrpc+http://127.0.0.1:0", "jsonrpc+tcp://127.0.0.1:0",
		"msgpackrpc+tcp://127.0.0.1:0", "grpc://127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	var conns []*wire.Conn
	for _, target := range server.Targets() {
		for _, opts := range [][]wire.DialOption{nil, {wire.WithMethods(reg)}} {
			conn, err := wire.Dial(target.String(), opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conns = append(conns, conn)
		}
	}
	for i, from := range conns {
		key := fmt.Appendf(nil, "key/%d+\xff", i)
		if _, err := everywire.Call[kv.CreateResponse](t.Context(), from, kv.Create, &kv.CreateRequest{Key: key, Value: key}); err != nil {
			t.Fatalf("create over %v: %v", from.Target(), err)
		}
		for _, to := range conns {
			out, err := everywire.Call[kv.RetrieveResponse](t.Context(), to, kv.Retrieve, &kv.RetrieveRequest{Key: key})
			if err != nil || string(out.Value) != string(key) {
				t.Errorf("created over %v, retrieved over %v: %v, %v", from.Target(), to.Target(), out, err)
			}
		}
		if _, err := everywire.Call[kv.DeleteResponse](t.Context(), conns[len(conns)-1-i], kv.Delete, &kv.DeleteRequest{Key: key}); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func TestServeBindsAllOrNone(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	_, err = wire.Serve(t.Context(), kvRegistry(), []string{
		"rest://" + addr, "grpc://127.0.0.1:0", "jsonrpc+tcp://127.0.0.1:0", "jsonrpc+http://127.0.0.1:0", "msgpackrpc+tcp://127.0.0.1:0",
		"grpc://" + taken.Addr().String(),
	})
	if err == nil || !strings.Contains(err.Error(), "in use: choose another port") {
		t.Fatalf("got %v", err)
	}
	again, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("the first target's port is still taken: %v", err)
	}
	again.Close()
}

// A socket that a killed server left behind is replaced; one that is in use,
// or any other file, is not.
func TestStaleSocket(t *testing.T) {
	path := t.TempDir() + "/s"
	lis, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Serve(t.Context(), kvRegistry(), []string{"rest+unix://" + path}); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("on a socket in use: %v", err)
	}
	lis.SetUnlinkOnClose(false) // as if the process had been killed
	lis.Close()
	server, err := wire.Serve(t.Context(), kvRegistry(), []string{"rest+unix://" + path})
	if err != nil {
		t.Fatalf("on a socket that nobody listens on: %v", err)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Serve(t.Context(), kvRegistry(), []string{"rest+unix://" + path}); err == nil {
		t.Error("served on a file that is no socket")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

func TestServeErrors(t *testing.T) {
	for target, want := range map[string]string{
		"grpc://127.0.0.1:0?codec=json":     "for the client, not the server",
		"rest://127.0.0.1:0,127.0.0.1:1":    "one address",
		"rest+tls://127.0.0.1:0":            "needs a certificate",
		"rest+tls://127.0.0.1:0?cert=x":     "go together",
		"rest+tls://127.0.0.1:0?ca=/none/x": "option ca",
		"nothing":                           "no scheme",
	} {
		_, err := wire.Serve(t.Context(), kvRegistry(), []string{target})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Serve(%q): %v, want %q", target, err, want)
		}
	}
	if _, err := wire.Serve(t.Context(), kvRegistry(), nil); err == nil {
		t.Error("a server without targets started")
	}
}

// When Serve's context ends, also before Serve returns, everything stops.
func TestServeEndsWithItsContext(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 { // the second time ctx has ended already
		server, err := wire.Serve(ctx, kvRegistry(), []string{"jsonrpc+tcp://127.0.0.1:0", "grpc://127.0.0.1:0", "rest://127.0.0.1:0"})
		cancel()
		if err != nil {
			continue // binding with a context that has ended may fail
		}
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func TestDialErrors(t *testing.T) {
	for target, want := range map[string]string{
		"soap://h:1":             "no wire",
		"grpc+tls://h:1?ca=/nil": "option ca",
		"grpc+tls://h:1?key=k":   "go together",
	} {
		_, err := wire.Dial(target)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Dial(%q): %v, want %q", target, err, want)
		}
	}
}

// The short JSON-RPC form travels only between peers that declare it, and any
// peer may use it.
func TestShortFormBothWays(t *testing.T) {
	reg := everywire.NewRegistry()
	arith.Register(reg)
	server, err := wire.Serve(t.Context(), reg, []string{"jsonrpc+tcp://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range [][]wire.DialOption{nil, {wire.WithMethods(reg)}} {
		conn, err := wire.Dial(server.Targets()[0].String(), opts...)
		if err != nil {
			t.Fatal(err)
		}
		out, err := everywire.Call[arith.SumReply](t.Context(), conn, arith.Sum, &arith.SumRequest{Numbers: []int64{20, 21}})
		if err != nil || out.Sum != 41 {
			t.Errorf("got %v, %v", out, err)
		}
		conn.Close()
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A failedListener has a port and no connections.
type failedListener struct{ net.Listener }

func (failedListener) Accept() (net.Conn, error) { return nil, errors.New("no more connections") }

// Listeners that fail at once, perhaps before Serve has returned, end the
// server, and Wait says why.
func TestListenerFails(t *testing.T) {
	targets := []string{"jsonrpc+tcp://127.0.0.1:0", "grpc://127.0.0.1:0", "rest://127.0.0.1:0", "msgpackrpc://127.0.0.1:0"}
	for range 50 {
		server, err := wire.Serve(t.Context(), kvRegistry(), targets, wire.WithListener(
			func(ctx context.Context, network, addr string) (net.Listener, error) {
				lis, err := new(net.ListenConfig).Listen(ctx, network, addr)
				return failedListener{lis}, err
			}))
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Wait(); err == nil || !strings.Contains(err.Error(), "no more connections") {
			t.Errorf("Wait returned %v", err)
		}
	}
}

// Of several calls of Shutdown the least patient one counts.
func TestShutdownTwice(t *testing.T) {
	started := make(chan struct{})
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "x.X/Wait", func(ctx context.Context, _ *everywire.Document) (*everywire.Document, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	server, err := wire.Serve(t.Context(), reg, []string{"jsonrpc+tcp://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := wire.Dial(server.Targets()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	call := everywire.Start[everywire.Document](t.Context(), conn, "x.X/Wait", &everywire.Document{})
	<-started
	first := make(chan error, 1)
	go func() { first <- server.Shutdown(context.WithoutCancel(t.Context())) }()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Shutdown(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the second call returned %v", err)
	}
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first call returned %v", err)
	}
	if _, err := call.Wait(t.Context()); err == nil {
		t.Error("the call in flight went well")
	}
}
