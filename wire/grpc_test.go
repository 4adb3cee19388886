package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	channelz "google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// talker is the conformance suite's service, as far as these tests need it: it
// answers with what it was told.
type talker struct {
	probepb.UnimplementedProbeServer
}

func (talker) Run(_ context.Context, in *probepb.RunRequest) (*probepb.RunReply, error) {
	return &probepb.RunReply{Name: in.GetName()}, nil
}

func (talker) Download(in *probepb.RunRequest, s grpc.ServerStreamingServer[probepb.RunReply]) error {
	for range 3 {
		if err := s.Send(&probepb.RunReply{Name: in.GetName()}); err != nil {
			return err
		}
	}
	return nil
}

func (talker) Upload(s grpc.ClientStreamingServer[probepb.RunRequest, probepb.RunReply]) error {
	out := new(probepb.RunReply)
	for {
		in, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.SendAndClose(out)
		}
		if err != nil {
			return err
		}
		out.Name += in.GetName()
	}
}

func (talker) Chat(s grpc.BidiStreamingServer[probepb.RunRequest, probepb.RunReply]) error {
	for {
		in, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(&probepb.RunReply{Name: in.GetName()}); err != nil {
			return err
		}
	}
}

// talk makes a call of each kind.
func talk(t *testing.T, conn grpc.ClientConnInterface, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, in := probepb.NewProbeClient(conn), &probepb.RunRequest{Name: text}
	if out, err := client.Run(ctx, in); err != nil || out.GetName() != text {
		t.Errorf("unary: %v", err)
	}
	down, err := client.Download(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if out, err := down.Recv(); err != nil || out.GetName() != text {
			t.Fatalf("server stream: %v", err)
		}
	}
	if _, err := down.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the server stream: %v", err)
	}
	up, err := client.Upload(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := up.Send(in); err != nil {
			t.Fatalf("client stream: %v", err)
		}
	}
	if out, err := up.CloseAndRecv(); err != nil || out.GetName() != text+text {
		t.Errorf("the end of the client stream: %v", err)
	}
	chat, err := client.Chat(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := chat.Send(in); err != nil {
			t.Fatalf("bidirectional stream: %v", err)
		}
		if out, err := chat.Recv(); err != nil || out.GetName() != text {
			t.Fatalf("bidirectional stream: %v", err)
		}
	}
	if err := chat.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := chat.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the bidirectional stream: %v", err)
	}
}

// A plain grpc-go client calls our server, of its own port and of a shared one, and
// our client a plain grpc-go server: in cleartext, with TLS, with certificates on
// both ends, and compressed.
func TestPlainGRPC(t *testing.T) {
	authority := newCA(t)
	server, client := newEnd(t, authority, authority, "server"), newEnd(t, authority, authority, "client")
	load := func(e *end) tls.Certificate {
		cert, err := tls.LoadX509KeyPair(e.cert, e.key)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	pool := authority.pool()
	serverPair, clientPair := load(server), load(client)
	text := strings.Repeat("all the same ", 500)
	for _, security := range []struct {
		name                    string
		tls                     string // of the target
		serverQuery             string
		clientQuery             string
		serverCreds, clientCred credentials.TransportCredentials
	}{
		{"cleartext", "", "", "", insecure.NewCredentials(), insecure.NewCredentials()},
		{
			"TLS", "+tls", "cert=" + server.cert + "&key=" + server.key, "servername=server&ca=" + client.auth,
			credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{serverPair}}),
			credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "server"}),
		},
		{
			"mTLS", "+tls", server.options(), "servername=server&" + client.options(),
			credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{serverPair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}),
			credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{clientPair}, RootCAs: pool, ServerName: "server"}),
		},
	} {
		t.Run(security.name, func(t *testing.T) {
			for _, w := range []string{"grpc", "any"} {
				reg := everywire.NewRegistry()
				probepb.RegisterProbeServer(reg, talker{})
				srv := serveAny(t, reg, w+security.tls+"://127.0.0.1:0?"+security.serverQuery)
				for _, compression := range []string{"", "gzip", "zstd"} {
					opts := []grpc.DialOption{grpc.WithTransportCredentials(security.clientCred)}
					if compression != "" {
						opts = append(opts, grpc.WithDefaultCallOptions(grpc.UseCompressor(compression)))
					}
					cc, err := grpc.NewClient("passthrough:///"+srv.Targets()[0].Addrs[0], opts...)
					if err != nil {
						t.Fatal(err)
					}
					talk(t, cc, text)
					if err := cc.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			plain := grpc.NewServer(grpc.Creds(security.serverCreds))
			probepb.RegisterProbeServer(plain, talker{})
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- plain.Serve(lis) }()
			defer func() {
				plain.Stop()
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()
			for _, compression := range []string{"", "&compression=gzip", "&compression=zstd"} {
				talk(t, dial(t, "grpc"+security.tls+"://"+lis.Addr().String()+"?lb=round_robin&keepalive=10s&"+security.clientQuery+compression), text)
			}
		})
	}
}

// grpc-go's own options are for the gRPC wire; others refuse them and do not ignore
// them.
func TestGRPCOptions(t *testing.T) {
	var called, served atomic.Int32
	dialOption := wire.WithGRPCDialOptions(grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		called.Add(1)
		return invoke(ctx, method, req, reply, cc, opts...)
	}))
	serveOption := wire.WithGRPCServerOptions(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if in, ok := req.(*probepb.RunRequest); ok && in.GetName() == "one" && info.FullMethod == probepb.Probe_Run_FullMethodName {
				served.Add(1)
			}
			return next(ctx, req)
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Hour}),
	)
	reg := everywire.NewRegistry()
	probepb.RegisterProbeServer(reg, talker{})
	for _, w := range []string{"grpc", "any"} {
		srv := serveAny(t, reg, w+"://127.0.0.1:0", serveOption)
		conn := dial(t, "grpc://"+srv.Targets()[0].Addrs[0], dialOption)
		if _, err := probepb.NewProbeClient(conn).Run(t.Context(), &probepb.RunRequest{Name: "one"}); err != nil {
			t.Error(err)
		}
	}
	if c, s := called.Load(), served.Load(); c != 2 || s != 2 {
		t.Errorf("the client's interceptor ran %d times, the server's %d, want 2", c, s)
	}
	var wrong *wire.TargetError
	for _, w := range []string{"rest", "jsonrpc+tcp", "msgpackrpc+tcp", "connect"} {
		if _, err := wire.Dial(w+"://127.0.0.1:1", dialOption); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "WithGRPCDialOptions") {
			t.Errorf("Dial: %s: %v", w, err)
		}
		if _, err := wire.Serve(t.Context(), reg, []string{w + "://127.0.0.1:0"}, serveOption); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "WithGRPCServerOptions") {
			t.Errorf("Serve: %s: %v", w, err)
		}
	}
	if _, err := wire.NewHandler(reg, "rest", serveOption); !errors.As(err, &wrong) {
		t.Errorf("NewHandler: %v", err)
	}
	if _, err := wire.NewHandler(reg, "any?maxage=1m"); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "maxage") {
		t.Errorf("NewHandler: %v", err)
	}
	if _, err := wire.Serve(t.Context(), reg, []string{"any://127.0.0.1:0?maxage=soon"}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "maxage") {
		t.Errorf("Serve: %v", err)
	}
}

// channelz is a service like any other: who registers it has it, on every wire.
func TestChannelz(t *testing.T) {
	reg := everywire.NewRegistry()
	channelz.RegisterChannelzServiceToServer(reg)
	srv := serveAny(t, reg, "any://127.0.0.1:0")
	for _, w := range []string{"grpc", "connect", "jsonrpc+tcp"} {
		conn := dial(t, w+"://"+srv.Targets()[0].Addrs[0])
		out, err := channelzpb.NewChannelzClient(conn).GetServers(t.Context(), &channelzpb.GetServersRequest{})
		if err != nil || len(out.GetServer()) == 0 {
			t.Errorf("%s: %v, %v", w, out, err)
		}
	}
}

// The addresses of a name come from the system's resolver, which in Go is
// net.DefaultResolver, and calls go to all of them.
func TestRoundRobinOverDNS(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}
	for _, host := range hosts {
		lis := first
		if host != hosts[0] {
			if lis, err = net.Listen("tcp", net.JoinHostPort(host, port)); err != nil {
				needs.Missing(t, fmt.Sprintf("another address of the loopback cannot be listened on: %v", err))
			}
		}
		reg := everywire.NewRegistry()
		probepb.RegisterProbeServer(reg, talker{})
		serveAny(t, reg, "grpc://"+lis.Addr().String(), wire.WithListener(func(context.Context, string, string) (net.Listener, error) { return lis, nil }))
	}
	resolveBy(t, hosts)
	conn := dial(t, "grpc://backends.test:"+port+"?lb=round_robin")
	seen := map[string]bool{}
	for len(seen) < len(hosts) {
		var p peer.Peer
		_, err := probepb.NewProbeClient(conn).Run(t.Context(), &probepb.RunRequest{}, grpc.Peer(&p))
		if err != nil {
			t.Fatal(err)
		}
		seen[p.Addr.String()] = true
	}
	_, err = probepb.NewProbeClient(dial(t, "grpc://nobody.test:"+port)).Run(t.Context(), &probepb.RunRequest{})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "nobody.test") {
		t.Errorf("a name that there is not: %v", err)
	}
}

// resolveBy answers the process's questions for backends.test with addresses, until
// the test ends.
func resolveBy(t *testing.T, ips []string) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	was := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	done := make(chan struct{})
	t.Cleanup(func() {
		net.DefaultResolver = was
		_ = conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			q := m.Questions[0]
			switch {
			case q.Name.String() != "backends.test.":
				m.RCode = dnsmessage.RCodeNameError
			case q.Type == dnsmessage.TypeA:
				for _, ip := range ips {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1},
						Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(ip).To4())},
					})
				}
			}
			if reply, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
}
