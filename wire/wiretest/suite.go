package wiretest

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// Run runs the suite on the wire that shape names: a target without its
// address, such as "grpc?codec=json".
func Run(t *testing.T, shape string) { run(t, shape, false) }

// RunShared is Run with servers that serve every wire on one port.
func RunShared(t *testing.T, shape string) { run(t, shape, true) }

func run(t *testing.T, shape string, shared bool) {
	target, err := wire.ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{shape: target, shared: shared}
	if shared && s.is("jsonrpc+ws") {
		s.shape.Path = "/rpc"
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, g := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"same as gRPC", compareAll},
		{"unknown methods", unknownMethods},
		{"deadlines", deadlines},
		{"cancellation", cancellation},
		{"call options", callOptions},
		{"limits", limits},
		{"interceptors and stats", interceptors},
		{"concurrency", concurrency},
		{"drain", drain},
		{"server dies", serverDies},
		{"close", closing},
		{"wait for ready", waitForReady},
		{"one-way calls", oneWay},
		{"streams as in gRPC", compareStreams},
		{"streams", streams},
		{"mistakes of programs", programMistakes},
		{"silent clients", silentClients},
		{"close while connecting", closeWhileConnecting},
		{"restart", restart},
		{"no limits", noLimits},
		{"odd metadata", oddMetadata},
		{"names of addresses", namesOfAddresses},
		{"tls", tlsBothWays},
	} {
		t.Run(g.name, func(t *testing.T) { g.run(t, s) })
	}
}

type suite struct {
	shape  wire.Target
	shared bool // servers are any://
	ca     *authority
}

// patience bounds every wait of the suite: long enough for a slow machine,
// short enough that a hang is seen.
const patience = 20 * time.Second

// within returns a context that bounds one step of a test.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// await waits for a channel to close, or fails.
func await(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s did not happen within %v", what, patience)
	}
}

// options set up both ends of a pair.
type options struct {
	registry []everywire.RegistryOption
	serve    []wire.ServeOption
	dial     []wire.DialOption
	tls      bool
}

// A pair is a server and a connection to it.
type pair struct {
	*probe
	server *wire.Server
	conn   *wire.Conn
}

// services are the two descriptions of the probe.
var services = []struct {
	name     string
	register func(*probe, ...everywire.RegistryOption) *everywire.Registry
}{
	{"generated service", (*probe).generated},
	{"plain service", (*probe).plain},
}

// quiet keeps the log of expected panics and closed connections out of the
// tests' output.
var quiet = slog.New(slog.DiscardHandler)

// start serves the probe and dials it; both end with the test.
func (s *suite) start(t *testing.T, register func(*probe, ...everywire.RegistryOption) *everywire.Registry, o options) *pair {
	t.Helper()
	p := &pair{probe: newProbe()}
	reg := register(p.probe, append(o.registry, everywire.WithLogger(quiet))...)
	shape := s.shape
	if !o.tls {
		o.serve = s.certified(t, o.serve...)
	}
	shape.TLS = shape.TLS || o.tls
	server, err := wire.Serve(context.WithoutCancel(t.Context()), reg, []string{s.serveTarget(t, shape)}, append(o.serve, wire.WithLogger(quiet))...)
	if err != nil {
		t.Fatal(err)
	}
	p.server = server
	t.Cleanup(func() { p.shutdown(t) })
	p.conn = s.dial(t, shape.At(server.Targets()[0].Addrs...), o.dial...)
	return p
}

// shutdown ends the server; calls still open are cut off, and so is the farewell of
// HTTP/2, which takes a second wherever a client stays connected.
func (p *pair) shutdown(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 50*time.Millisecond)
	defer cancel()
	_ = p.server.Shutdown(ctx) // a test that cares about its result calls it itself
}

func (s *suite) dial(t *testing.T, target wire.Target, opts ...wire.DialOption) *wire.Conn {
	t.Helper()
	if s.shape.TLS {
		opts = append([]wire.DialOption{wire.WithTLSConfig(&tls.Config{RootCAs: s.certifier(t).pool, ServerName: "server"})}, opts...)
	}
	conn, err := wire.Dial(target.String(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // some tests have closed it
	return conn
}

// certified adds a certificate to the options of a server whose wire is always
// over TLS.
func (s *suite) certified(t *testing.T, opts ...wire.ServeOption) []wire.ServeOption {
	if s.shape.TLS {
		cert := s.certifier(t).issue(t, "server")
		opts = append(opts, wire.WithTLSConfig(&tls.Config{Certificates: []tls.Certificate{cert}}))
	}
	return opts
}

// certifier is the authority that such servers and their clients share.
func (s *suite) certifier(t *testing.T) *authority {
	if s.ca == nil {
		s.ca = newAuthority(t)
	}
	return s.ca
}

// serveTarget is where a server of the given shape listens: a free port, or a
// socket in a folder of the test's. Options for the client are left out.
func (s *suite) serveTarget(t *testing.T, shape wire.Target) string {
	bytes, ofServers := shape.Options["bytes"]
	shape.Options = nil
	if ofServers {
		shape.Options = map[string]string{"bytes": bytes}
	}
	if s.shared {
		shape.Wire, shape.Path = "any", ""
		if shape.Transport != "unix" {
			shape.Transport = "tcp"
		}
	}
	if shape.Transport == "unix" {
		return shape.At(filepath.Join(t.TempDir(), "s")).String()
	}
	return shape.At("127.0.0.1:0").String()
}

// oracle is bare grpc-go: its server, its connection, generated code.
func oracle(t *testing.T) grpc.ClientConnInterface {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// With credentials that say so, handlers see a peer with AuthInfo, as ours do.
	server := grpc.NewServer(grpc.Creds(insecure.NewCredentials()))
	probepb.RegisterProbeServer(server, recovering{newProbe()})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(lis) // ends with Stop
	}()
	t.Cleanup(func() { server.Stop(); <-done })
	conn, err := grpc.NewClient("passthrough:///"+lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A caller is one way to call the probe.
type caller struct {
	name string
	run  func(ctx context.Context, conn grpc.ClientConnInterface, in *probepb.RunRequest, opts ...grpc.CallOption) (*probepb.RunReply, error)
	get  func(ctx context.Context, conn grpc.ClientConnInterface, in *probepb.GetRequest, opts ...grpc.CallOption) (*probepb.RunReply, error)
}

var callers = []caller{
	{
		"generated client",
		func(ctx context.Context, conn grpc.ClientConnInterface, in *probepb.RunRequest, opts ...grpc.CallOption) (*probepb.RunReply, error) {
			return probepb.NewProbeClient(conn).Run(ctx, in, opts...)
		},
		func(ctx context.Context, conn grpc.ClientConnInterface, in *probepb.GetRequest, opts ...grpc.CallOption) (*probepb.RunReply, error) {
			return probepb.NewProbeClient(conn).Get(ctx, in, opts...)
		},
	},
	{
		"Call with plain structs",
		func(ctx context.Context, conn grpc.ClientConnInterface, in *probepb.RunRequest, opts ...grpc.CallOption) (*probepb.RunReply, error) {
			out, err := everywire.Call[RunReply](ctx, conn, runMethod, mustConvert(new(RunRequest), in), opts...)
			if err != nil {
				return nil, err
			}
			return mustConvert(new(probepb.RunReply), out), nil
		},
		func(ctx context.Context, conn grpc.ClientConnInterface, in *probepb.GetRequest, opts ...grpc.CallOption) (*probepb.RunReply, error) {
			out, err := everywire.Call[RunReply](ctx, conn, getMethod, mustConvert(new(GetRequest), in), opts...)
			if err != nil {
				return nil, err
			}
			return mustConvert(new(probepb.RunReply), out), nil
		},
	},
	{
		"Call with generated messages",
		func(ctx context.Context, conn grpc.ClientConnInterface, in *probepb.RunRequest, opts ...grpc.CallOption) (*probepb.RunReply, error) {
			return everywire.Call[probepb.RunReply](ctx, conn, runMethod, in, opts...)
		},
		func(ctx context.Context, conn grpc.ClientConnInterface, in *probepb.GetRequest, opts ...grpc.CallOption) (*probepb.RunReply, error) {
			return everywire.Call[probepb.RunReply](ctx, conn, getMethod, in, opts...)
		},
	},
}

// is reports whether the suite runs on one of the given wires or shapes
// ("jsonrpc", "jsonrpc+http").
func (s *suite) is(names ...string) bool {
	for _, n := range names {
		w, transport, _ := strings.Cut(n, "+")
		if s.shape.Wire == w && (transport == "" || s.shape.Transport == transport) {
			return true
		}
	}
	return false
}
