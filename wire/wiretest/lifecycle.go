package wiretest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// waitingCall starts a call whose handler waits, and returns when it does.
func waitingCall(t *testing.T, p *pair, conn grpc.ClientConnInterface, wait time.Duration) (<-chan error, *waiter) {
	t.Helper()
	w := p.expect(t.Name())
	ctx := within(t)
	done := make(chan error, 1)
	go func() {
		_, err := callers[0].run(ctx, conn, &probepb.RunRequest{Name: t.Name(), Wait: durationpb.New(wait)})
		done <- err
	}()
	await(t, "the handler's start", w.started)
	return done, w
}

// drain: a call in flight finishes, a new one is refused.
func drain(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	done, _ := waitingCall(t, p, p.conn, 200*time.Millisecond)
	ctx := within(t)
	if err := p.server.Shutdown(ctx); err != nil {
		t.Errorf("shutdown with one short call in flight: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	_, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{})
	wantCode(t, "a call after the shutdown", err, codes.Unavailable)
}

// serverDies: a drain that runs out of time cuts calls off, and they fail
// instead of hanging.
func serverDies(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	done, w := waitingCall(t, p, p.conn, time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.server.Shutdown(ctx); err == nil {
		t.Error("shutdown with an endless call in flight says that all went well")
	}
	err := <-done
	wantCode(t, "the call that was cut off", err, codes.Unavailable)
	if !s.is("grpc") && !strings.Contains(err.Error(), "may have run") { // grpc-go does not say
		t.Errorf("the call that was cut off does not say that it may have run: %v", err)
	}
	await(t, "the end of the handler's context", w.ended)
}

func closing(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	done, w := waitingCall(t, p, p.conn, time.Hour)
	if err := p.conn.Close(); err != nil {
		t.Error(err)
	}
	wantCode(t, "a call whose connection was closed", <-done, codes.Canceled)
	await(t, "the end of the handler's context", w.ended)
	_, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{})
	wantCode(t, "a call on a closed connection", err, codes.Canceled)
}

// unserved is a target without a server. Its address is free for one when leave
// has been called.
func unserved(t *testing.T, s *suite) (target wire.Target, leave func()) {
	t.Helper()
	target, err := wire.ParseTarget(s.serveTarget(t, s.shape))
	if err != nil {
		t.Fatal(err)
	}
	if target.Transport == "unix" {
		return target, func() {}
	}
	addr, leave := unheard(t)
	return target.At(addr), leave
}

// unheard is an address at which nobody listens. Until leave it is the own end of
// a connection, so that no other test is given it.
func unheard(t *testing.T) (addr string, leave func()) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() }) // it has done its work
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	leave = sync.OnceFunc(func() {
		_ = conn.(*net.TCPConn).SetLinger(0) // nothing of it stays; on one that is open it succeeds
		_ = conn.Close()                     // nothing was sent on it
	})
	t.Cleanup(leave)
	return conn.LocalAddr().String(), leave
}

// waitForReady: without a server a call fails at once, or waits if told to.
func waitForReady(t *testing.T, s *suite) {
	target, leave := unserved(t, s)
	conn := s.dial(t, s.shape.At(target.Addrs...))
	_, err := callers[0].run(within(t), conn, &probepb.RunRequest{})
	wantCode(t, "a call without a server", err, codes.Unavailable)

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = callers[0].run(short, conn, &probepb.RunRequest{}, grpc.WaitForReady(true))
	wantCode(t, "a call that waited in vain", err, codes.DeadlineExceeded)

	done := make(chan error, 1)
	ctx := within(t)
	go func() {
		_, err := callers[0].run(ctx, conn, &probepb.RunRequest{}, grpc.WaitForReady(true))
		done <- err
	}()
	leave()
	server, err := wire.Serve(context.WithoutCancel(t.Context()), newProbe().plain(), []string{target.String()}, s.certified(t, wire.WithLogger(quiet))...)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{server: server}
	t.Cleanup(func() { p.shutdown(t) })
	if err := <-done; err != nil {
		t.Errorf("a call that waited for the server: %v", err)
	}
}

// tlsBothWays: with certificates at both ends, each sees the other's.
func tlsBothWays(t *testing.T, s *suite) {
	ca := newAuthority(t)
	server := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "server")}, ClientCAs: ca.pool, ClientAuth: tls.RequireAndVerifyClientCert}
	client := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "client")}, RootCAs: ca.pool, ServerName: "server"}
	p := s.start(t, (*probe).plain, options{
		tls:   true,
		serve: []wire.ServeOption{wire.WithTLSConfig(server)},
		dial:  []wire.DialOption{wire.WithTLSConfig(client)},
	})
	var seen peer.Peer
	out, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}, grpc.PerRPCCredentials(secret{}), grpc.Peer(&seen))
	if err != nil {
		t.Fatal(err)
	}
	if out.GetPeerAuth() != "tls" {
		t.Errorf("the handler's peer is %q", out.GetPeerAuth())
	}
	info, ok := seen.AuthInfo.(credentials.TLSInfo)
	if !ok || info.State.PeerCertificates[0].Subject.CommonName != "server" {
		t.Errorf("the client's peer is %v", seen.AuthInfo)
	}

	shape := s.shape
	shape.TLS = true
	stranger := s.dial(t, shape.At(p.server.Targets()[0].Addrs...),
		wire.WithTLSConfig(&tls.Config{RootCAs: ca.pool, ServerName: "server"}))
	if _, err := callers[0].run(within(t), stranger, &probepb.RunRequest{}); err == nil {
		t.Error("a client without a certificate was served")
	}
	doubter := s.dial(t, shape.At(p.server.Targets()[0].Addrs...), wire.WithTLSConfig(&tls.Config{
		Certificates: client.Certificates, RootCAs: newAuthority(t).pool, ServerName: "server",
	}))
	_, err = callers[0].run(within(t), doubter, &probepb.RunRequest{})
	wantCode(t, "a server whose certificate is not trusted", err, codes.Unavailable)
}

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	template := template("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	var der []byte
	der, a.key = sign(t, template, template, nil)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert = cert
	a.pool.AddCert(cert)
	return a
}

func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	der, key := sign(t, template(name), a.cert, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func template(name string) *x509.Certificate {
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		cert.DNSNames, cert.IPAddresses = nil, []net.IP{ip}
	}
	return cert
}

// sign makes a key and a certificate for it; without a parent's key it signs
// itself.
func sign(t *testing.T, template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}
