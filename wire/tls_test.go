package wire_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

// A ca issues certificates.
type ca struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) *ca {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &ca{t, cert, key}
}

// issue returns a certificate for "server" whose common name is name, and its key.
func (c *ca) issue(name string) (cert, key []byte) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"server"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, c.cert, &own.PublicKey, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		c.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func (c *ca) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})
}

func (c *ca) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.cert)
	return pool
}

// end is the files of one end, and the options of a target that name them.
type end struct {
	t               *testing.T
	cert, key, auth string
}

func newEnd(t *testing.T, issuer, trusted *ca, name string) *end {
	dir := t.TempDir()
	e := &end{t, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")}
	e.replace(issuer, name)
	e.trust(trusted)
	return e
}

// replace writes another pair. Its files look older than they are, so that nothing
// but the difference in their time tells of it.
func (e *end) replace(issuer *ca, name string) {
	cert, key := issuer.issue(name)
	e.write(e.cert, cert)
	e.write(e.key, key)
}

func (e *end) trust(c *ca) { e.write(e.auth, c.pem()) }

var writes int

func (e *end) write(file string, data []byte) {
	e.t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		e.t.Fatal(err)
	}
	writes++
	past := time.Now().Add(-time.Hour + time.Duration(writes)*time.Second)
	if err := os.Chtimes(file, past, past); err != nil {
		e.t.Fatal(err)
	}
}

func (e *end) options() string {
	return "cert=" + url.QueryEscape(e.cert) + "&key=" + url.QueryEscape(e.key) + "&ca=" + url.QueryEscape(e.auth)
}

// whoCalls is a service that answers with the common name of its client.
func whoCalls() *everywire.Registry {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "x.X/Who", func(ctx context.Context, _ *everywire.Document) (*everywire.Document, error) {
		p, _ := peer.FromContext(ctx)
		info, ok := p.AuthInfo.(credentials.TLSInfo)
		if !ok || len(info.State.VerifiedChains) == 0 {
			return nil, status.Error(codes.Unauthenticated, "the client has not shown who it is")
		}
		return &everywire.Document{Value: info.State.VerifiedChains[0][0].Subject.CommonName}, nil
	})
	return reg
}

// who calls once over a new connection. It returns the common names of both ends.
func who(t *testing.T, target string) (server, client string, err error) {
	t.Helper()
	conn := dial(t, target)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var p peer.Peer
	out, err := everywire.Call[everywire.Document](ctx, conn, "x.X/Who", &everywire.Document{}, grpc.Peer(&p))
	if err != nil {
		return "", "", err
	}
	return p.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].Subject.CommonName, out.Value.(string), nil
}

// On every wire both ends show the certificates that are in their files now, and
// believe the authorities that are in their files now.
func TestCertificatesAreReadAgain(t *testing.T) {
	for _, shape := range []string{"rest+tls", "rest+h3", "jsonrpc+tcp+tls", "jsonrpc+http+tls", "jsonrpc+ws+tls", "msgpackrpc+tcp+tls", "grpc+tls", "connect+tls", "any+tls"} {
		t.Run(shape, func(t *testing.T) {
			first, second := newCA(t), newCA(t)
			server, client := newEnd(t, first, first, "server 1"), newEnd(t, first, first, "client 1")
			srv := serveAny(t, whoCalls(), shape+"://127.0.0.1:0?"+server.options())
			shapes := []string{shape}
			if shape == "any+tls" {
				shapes = []string{"rest+tls", "jsonrpc+tcp+tls", "msgpackrpc+tcp+tls", "grpc+tls", "connect+tls"}
			}
			check := func(what, wantServer, wantClient string) {
				t.Helper()
				for _, shape := range shapes {
					target := shape + "://" + srv.Targets()[0].Addrs[0] + "?servername=server&" + client.options()
					s, c, err := who(t, target)
					if wantServer == "" {
						if status.Code(err) != codes.Unavailable {
							t.Errorf("%s, %s: got %v, want Unavailable", shape, what, err)
						}
						continue
					}
					if err != nil || s != wantServer || c != wantClient {
						t.Errorf("%s, %s: %q called %q, %v", shape, what, c, s, err)
					}
				}
			}
			check("first", "server 1", "client 1")
			server.replace(first, "server 2")
			client.replace(first, "client 2")
			check("other pairs", "server 2", "client 2")
			server.write(server.key, []byte("half of a k"))
			client.replace(first, "client 3")
			check("a broken pair", "server 2", "client 3")
			server.replace(second, "server 4")
			check("a server that the client does not believe", "", "")
			client.trust(second)
			check("another authority", "server 4", "client 3")
			server.trust(second)
			check("a client that the server does not believe", "", "")
			client.replace(second, "client 5")
			check("another authority of clients", "server 4", "client 5")
			server.write(server.auth, []byte("no certificate"))
			if err := os.Remove(server.cert); err != nil {
				t.Fatal(err)
			}
			check("broken authorities and no certificate", "server 4", "client 5")
		})
	}
}

// Connections of one client that are made later show what is in its files then.
func TestClientsFilesAreReadAgain(t *testing.T) {
	for _, shape := range []string{"rest+tls", "jsonrpc+tcp+tls", "msgpackrpc+tcp+tls"} {
		first, second := newCA(t), newCA(t)
		server, client := newEnd(t, first, first, "server 1"), newEnd(t, first, first, "client 1")
		srv := serveAny(t, whoCalls(), shape+"://127.0.0.1:0?"+server.options())
		conn := dial(t, shape+"://"+srv.Targets()[0].Addrs[0]+"?reconnect&servername=server&"+client.options(), quiet)
		call := func(want string) {
			t.Helper()
			out, err := everywire.Call[everywire.Document](t.Context(), conn, "x.X/Who", &everywire.Document{})
			if err != nil || out.Value != want {
				t.Errorf("%s: %v, %v, want %s", shape, out, err, want)
			}
		}
		call("client 1")
		client.replace(first, "client 2")
		call("client 2")
		server.replace(second, "server 2")
		client.trust(second)
		call("client 2")
		client.write(client.auth, []byte("no certificate"))
		client.write(client.key, []byte("no key"))
		call("client 2")
	}
}

// lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// What is wrong with a new file is logged once, not at every handshake.
func TestBrokenFilesAreLogged(t *testing.T) {
	authority := newCA(t)
	server, client := newEnd(t, authority, authority, "server"), newEnd(t, authority, authority, "client")
	var log lockedBuffer
	srv, err := wire.Serve(t.Context(), whoCalls(), []string{"grpc+tls://127.0.0.1:0?" + server.options()}, wire.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Shutdown(t.Context()) }) // t.Context has ended
	target := "grpc+tls://" + srv.Targets()[0].Addrs[0] + "?servername=server&" + client.options()
	for _, text := range []string{"", "-----BEGIN PRIVATE KEY-----\n"} {
		server.write(server.key, []byte(text))
		for range 3 {
			if _, _, err := who(t, target); err != nil {
				t.Error(err)
			}
		}
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), server.key) || !strings.Contains(log.String(), "target=\"grpc+tls") {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}

func TestTLSOptionErrors(t *testing.T) {
	authority := newCA(t)
	e := newEnd(t, authority, authority, "server")
	for query, want := range map[string]string{
		"":                                  "a TLS server needs a certificate",
		"cert=" + e.cert:                    "the options cert and key go together",
		"cert=" + e.cert + "&key=/nowhere":  "no such file",
		"cert=" + e.cert + "&key=" + e.cert: "options cert and key",
		"cert=" + e.cert + "&key=" + e.key + "&ca=" + e.key: "holds no PEM certificate",
	} {
		_, err := wire.Serve(t.Context(), whoCalls(), []string{"grpc+tls://127.0.0.1:0?" + query})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", query, err, want)
		}
	}
}
