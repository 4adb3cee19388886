package grpcwire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// gate is a service whose calls wait until the test lets them go.
func gate() (reg *everywire.Registry, entered chan struct{}, leave chan struct{}) {
	entered, leave = make(chan struct{}), make(chan struct{})
	reg = everywire.NewRegistry()
	everywire.Handle(reg, "x.Gate/Pass", func(ctx context.Context, in *everywire.Document) (*everywire.Document, error) {
		entered <- struct{}{}
		select {
		case <-leave:
			return in, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return reg, entered, leave
}

func TestShutdownLetsCallsFinish(t *testing.T) {
	reg, entered, leave := gate()
	addr, srv := start(t, reg)
	conn := connect(t, clientConfig(nil, addr))
	call := everywire.Start[everywire.Document](testContext(t), conn, "x.Gate/Pass", &everywire.Document{Value: "in"})
	<-entered
	done := make(chan error, 1)
	go func() { done <- srv.Shutdown(testContext(t)) }()
	// New connections are refused from now on, which shows that it has begun.
	for {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		_ = c.Close()
	}
	close(leave)
	if out, err := call.Wait(testContext(t)); err != nil || out.Value != "in" {
		t.Errorf("the call in flight: %v, %v", out, err)
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	_, err := everywire.Call[everywire.Document](testContext(t), conn, "x.Gate/Pass", &everywire.Document{})
	wantCode(t, err, codes.Unavailable)
}

func TestShutdownIsBounded(t *testing.T) {
	reg, entered, _ := gate()
	addr, srv := start(t, reg)
	call := everywire.Start[everywire.Document](testContext(t), connect(t, clientConfig(nil, addr)), "x.Gate/Pass", &everywire.Document{})
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returned %v", err)
	}
	_, err := call.Wait(testContext(t))
	wantCode(t, err, codes.Unavailable)
	if err := srv.Shutdown(context.Background()); !errors.Is(err, context.Canceled) {
		t.Errorf("the second Shutdown returned %v", err)
	}
}

func TestServeAfterShutdown(t *testing.T) {
	srv, err := NewServer(&rpc.ServerConfig{Registry: testRegistry(), Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Logger: slog.Default()})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(lis); err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if _, err := lis.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is not closed: %v", err)
	}
}

// recorder keeps the types of payloads that a stats.Handler sees.
type recorder struct {
	mu       sync.Mutex
	payloads []string
}

func (*recorder) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*recorder) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*recorder) HandleConn(context.Context, stats.ConnStats)                       {}
func (r *recorder) HandleRPC(_ context.Context, event stats.RPCStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch event := event.(type) {
	case *stats.InPayload:
		r.payloads = append(r.payloads, "in "+reflect.TypeOf(event.Payload).String())
	case *stats.OutPayload:
		r.payloads = append(r.payloads, "out "+reflect.TypeOf(event.Payload).String())
	}
}

func (r *recorder) want(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !reflect.DeepEqual(r.payloads, want) {
		t.Errorf("got %q, want %q", r.payloads, want)
	}
}

func TestStatsHandlersSeeMessages(t *testing.T) {
	var server, second, client recorder
	addr, srv := start(t, testRegistry(), func(c *rpc.ServerConfig) { c.Stats = []stats.Handler{&server, &second} })
	cfg := clientConfig(nil, addr)
	cfg.Stats = []stats.Handler{&client}
	if _, err := everywire.Call[sumReply](testContext(t), connect(t, cfg), sumMethod, &sumRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := srv.Shutdown(testContext(t)); err != nil { // the server's last event has come
		t.Fatal(err)
	}
	client.want(t, "out *grpcwire.sumRequest", "in *grpcwire.sumReply")
	server.want(t, "in *grpcwire.sumRequest", "out *grpcwire.sumReply")
	second.want(t, "in *grpcwire.sumRequest", "out *grpcwire.sumReply")
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestPeerAuthentication(t *testing.T) {
	cert, pool := certificate(t)
	var auth string
	reg := testRegistry(everywire.ChainUnary(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if p, ok := peer.FromContext(ctx); ok && p.AuthInfo != nil {
			auth = p.AuthInfo.AuthType()
		}
		return next(ctx, req)
	}))
	call := func(cfg *rpc.ClientConfig) error {
		auth = ""
		_, err := everywire.Call[sumReply](testContext(t), connect(t, cfg), sumMethod, &sumRequest{})
		return err
	}
	t.Run("cleartext", func(t *testing.T) {
		addr, _ := start(t, reg)
		if err := call(clientConfig(nil, addr)); err != nil || auth != "insecure" {
			t.Errorf("the peer's AuthType is %q, the error %v", auth, err)
		}
	})
	t.Run("TLS", func(t *testing.T) {
		addr, _ := start(t, reg, func(c *rpc.ServerConfig) {
			c.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
		})
		cfg := clientConfig(nil, addr)
		cfg.TLS = &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12}
		if err := call(cfg); err != nil || auth != "tls" {
			t.Errorf("the peer's AuthType is %q, the error %v", auth, err)
		}
		cfg.TLS = &tls.Config{RootCAs: pool, ServerName: "example.com", MinVersion: tls.VersionTLS12}
		wantCode(t, call(cfg), codes.Unavailable)
		wantCode(t, call(clientConfig(nil, addr)), codes.Unavailable) // cleartext to a TLS port
	})
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	lis, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := NewServer(&rpc.ServerConfig{Registry: testRegistry(), Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Logger: slog.Default()})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	cfg := clientConfig(nil, path)
	cfg.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", addr)
	}
	if _, err := everywire.Call[sumReply](testContext(t), connect(t, cfg), sumMethod, &sumRequest{}); err != nil {
		t.Error(err)
	}
	if err := srv.Shutdown(testContext(t)); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestSeveralAddresses(t *testing.T) {
	addr1, _ := start(t, testRegistry())
	addr2, srv2 := start(t, testRegistry())
	call := func(conn rpc.Conn) string {
		var p peer.Peer
		if _, err := probepb.NewProbeClient(conn).Run(testContext(t), &probepb.RunRequest{}, grpc.Peer(&p), grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		return p.Addr.String()
	}
	spread := connect(t, clientConfig(rpc.Options{"lb": "round_robin"}, addr1, addr2))
	for seen := map[string]bool{}; len(seen) < 2; { // the second connection may come up later
		seen[call(spread)] = true
	}
	pinned := connect(t, clientConfig(nil, addr2, addr1))
	for range 4 {
		if got := call(pinned); got != addr2 {
			t.Errorf("called %s, want the first address %s", got, addr2)
		}
	}
	if err := srv2.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got := call(pinned); got != addr1 {
		t.Errorf("called %s after the first server had gone", got)
	}
}

func TestUnreachable(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := lis.Addr().String()
	_ = lis.Close()
	conn := connect(t, clientConfig(nil, addr)) // does not wait for the network
	_, err = everywire.Call[sumReply](testContext(t), conn, sumMethod, &sumRequest{})
	wantCode(t, err, codes.Unavailable)
}
