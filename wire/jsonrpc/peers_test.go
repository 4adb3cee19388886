package jsonrpc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	jrpc2handler "github.com/creachadair/jrpc2/handler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/web"
)

// TestClientOfJRPC2 calls our server by another implementation.
func TestClientOfJRPC2(t *testing.T) {
	f := newFixture()
	raw, err := net.Dial("tcp", serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	if err != nil {
		t.Fatal(err)
	}
	client := jrpc2.NewClient(channel.Line(raw, raw), nil)
	defer client.Close()
	ctx := t.Context()
	var sum int
	if err := client.CallResult(ctx, "sum", []int{20, 21}, &sum); err != nil || sum != 41 {
		t.Errorf("%d, %v", sum, err)
	}
	var reply sumReply
	if err := client.CallResult(ctx, "arith.Arith/Sum", map[string][]int{"numbers": {1}}, &reply); err != nil || reply.Sum != 1 {
		t.Errorf("%v, %v", reply, err)
	}
	if _, err := client.Call(ctx, "nope", nil); jrpc2.ErrorCode(err) != jrpc2.MethodNotFound {
		t.Error(err)
	}
	if err := client.Notify(ctx, "t.Text/Note", map[string]string{"text": "note"}); err != nil || <-f.noted != "note" {
		t.Error(err)
	}
	replies, err := client.Batch(ctx, []jrpc2.Spec{
		{Method: "sum", Params: []int{1, 2}}, {Method: "t.Text/Note", Params: map[string]string{"text": "in a batch"}, Notify: true}, {Method: "fail", Params: []string{"no"}},
	})
	if err != nil || len(replies) != 2 {
		t.Fatalf("%v, %v", replies, err)
	}
	if err := replies[0].UnmarshalResult(&sum); err != nil || sum != 3 {
		t.Errorf("%d, %v", sum, err)
	}
	if e := replies[1].Error(); e == nil || e.Code != -32009 {
		t.Errorf("%v", e)
	}
	if got := <-f.noted; got != "in a batch" {
		t.Errorf("noted %q", got)
	}
}

// TestServerOfJRPC2 calls another implementation by our client.
func TestServerOfJRPC2(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() // one connection is all it is for
	served := make(chan error, 1)
	go func() {
		conn, err := lis.Accept()
		if err != nil {
			served <- err
			return
		}
		srv := jrpc2.NewServer(jrpc2handler.Map{
			"sum": jrpc2handler.New(func(_ context.Context, numbers []int) int {
				total := 0
				for _, n := range numbers {
					total += n
				}
				return total
			}),
			"upper": jrpc2handler.New(func(context.Context, []string) (string, error) { return "", jrpc2.Errorf(77, "own code") }),
		}, nil).Start(channel.Line(conn, conn))
		served <- srv.Wait()
	}()
	conn := dial(t, NewConn, clientConfig(lis.Addr().String(), newFixture().reg))
	sum, err := everywire.Call[sumReply](t.Context(), conn, "arith.Arith/Sum", &sumRequest{[]int64{20, 21}})
	if err != nil || sum.Sum != 41 {
		t.Errorf("%v, %v", sum, err)
	}
	_, err = everywire.Call[textMessage](t.Context(), conn, "t.Text/Upper", &textMessage{"x"})
	if s := status.Convert(err); s.Code() != codes.Unknown || s.Message() != "own code (code 77)" {
		t.Error(err)
	}
	_, err = everywire.Call[empty](t.Context(), conn, "t.Text/Note", &textMessage{"x"})
	if status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Errorf("the server: %v", err)
	}
}

// TestTLS: every transport over TLS, with the handshake's state at both ends.
func TestTLS(t *testing.T) {
	cert, pool := selfSigned(t)
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			reg := everywire.NewRegistry()
			everywire.Handle(reg, "t.Peer/Secure", func(ctx context.Context, _ *empty) (*textMessage, error) {
				p, _ := peer.FromContext(ctx)
				info, ok := p.AuthInfo.(credentials.TLSInfo)
				if !ok || !info.State.HandshakeComplete {
					return &textMessage{"not secure"}, nil
				}
				return &textMessage{info.State.NegotiatedProtocol}, nil
			})
			srv := serverConfig(reg, everywire.Limits{})
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
			cfg := clientConfig(serve(t, tr.server, srv), nil)
			cfg.TLS = &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS13}
			conn := dial(t, tr.conn, cfg)
			var p peer.Peer
			out, err := everywire.Call[textMessage](t.Context(), conn, "t.Peer/Secure", &empty{}, grpc.Peer(&p))
			want := map[string]string{"tcp": ALPN, "http": web.HTTP11, "ws": web.HTTP11}[tr.name]
			if err != nil || out.Text != want {
				t.Errorf("%v, %v, want %s", out, err, want)
			}
			if _, ok := p.AuthInfo.(credentials.TLSInfo); !ok {
				t.Errorf("the client's peer: %v", p)
			}
		})
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestUnixSockets(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			lis, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			srv, err := tr.server(serverConfig(newFixture().reg, everywire.Limits{}))
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- srv.Serve(lis) }()
			cfg := clientConfig(path, nil)
			cfg.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", addr)
			}
			conn := dial(t, tr.conn, cfg)
			if out, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{"x"}); err != nil || out.Text != "x" {
				t.Errorf("%v, %v", out, err)
			}
			if err := srv.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}
