package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/credentials"

	"github.com/everywire/everywire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// certificate is one for 127.0.0.1 that roots trusts.
func certificate() (cert tls.Certificate, roots *x509.CertPool) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.TLS.Certificates[0], roots
}

type fixture struct {
	*Server
	t    *testing.T
	addr string
	done chan error
}

func start(t *testing.T, cfg Config) *fixture {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, cfg, lis)
}

func startOn(t *testing.T, cfg Config, lis net.Listener) *fixture {
	cfg.Limits = cfg.Limits.WithDefaults()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := &fixture{NewServer(cfg), t, lis.Addr().String(), make(chan error, 1)}
	go func() { f.done <- f.Serve(lis) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := f.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-f.done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return f
}

// client is net/http's, with one version of HTTP.
func client(t *testing.T, version int, roots *x509.CertPool) *http.Client {
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: new(http.Protocols)}
	switch {
	case version == 1:
		tr.Protocols.SetHTTP1(true)
	case roots == nil:
		tr.Protocols.SetUnencryptedHTTP2(true)
	default:
		tr.Protocols.SetHTTP2(true)
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// Both versions, with and without TLS, say of their connection what it is.
func TestVersions(t *testing.T) {
	cert, roots := certificate()
	type key struct{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := Peer(r)
		if p != Peer(r) {
			t.Error("two requests of a connection have two peers")
		}
		level := credentials.NoSecurity
		if r.TLS != nil {
			level = credentials.PrivacyAndIntegrity
		}
		if p.Addr.String() != r.RemoteAddr || p.LocalAddr == nil || p.AuthInfo == nil ||
			credentials.CheckSecurityLevel(p.AuthInfo, level) != nil || p.AuthInfo.AuthType() == "tls" != (r.TLS != nil) {
			t.Errorf("peer %+v of a request from %s", p, r.RemoteAddr)
		}
		body, err := io.ReadAll(r.Body)
		fmt.Fprintln(w, r.Proto, r.TLS != nil, r.Context().Value(key{}), string(body), err)
	})
	for _, version := range []int{1, 2} {
		for _, secure := range []bool{false, true} {
			cfg := Config{Handler: handler, ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
				return context.WithValue(ctx, key{}, conn.RemoteAddr().Network())
			}}
			url, trusted := "http://", (*x509.CertPool)(nil)
			if secure {
				url, trusted = "https://", roots
				cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
			}
			f := start(t, cfg)
			c := client(t, version, trusted)
			for range 2 {
				res, err := c.Post(url+f.addr, "text/plain", strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				if want := fmt.Sprintf("HTTP/%d.%d %v tcp body <nil>\n", version, 2-version, secure); string(got) != want || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		}
	}
}

// On another's server the peer is what net/http knows.
func TestPeerElsewhere(t *testing.T) {
	var handler http.HandlerFunc = func(_ http.ResponseWriter, r *http.Request) {
		p := Peer(r)
		if p.Addr.String() != r.RemoteAddr || p.Addr.Network() != "tcp" || p.LocalAddr == nil || p.AuthInfo.AuthType() != "tls" == (r.TLS != nil) {
			t.Errorf("%+v", p)
		}
	}
	for _, s := range []*httptest.Server{httptest.NewServer(handler), httptest.NewTLSServer(handler)} {
		if res, err := s.Client().Get(s.URL); err != nil {
			t.Error(err)
		} else {
			res.Body.Close()
		}
		s.Close()
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "@"
	if p := Peer(r); p.Addr.String() != "@" || p.Addr.Network() != "unknown" {
		t.Errorf("%+v", p)
	}
}

func TestPlainOnTLS(t *testing.T) {
	cert, _ := certificate()
	f := start(t, Config{Handler: http.NotFoundHandler(), TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusBadRequest {
		t.Fatal(res, err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), "https") {
		t.Errorf("%q, %v", body, err)
	}
}

// Requests in flight finish, of both versions; then ctx ends what is left.
func TestShutdown(t *testing.T) {
	for _, version := range []int{1, 2} {
		begun, finish := make(chan struct{}), make(chan struct{})
		f := start(t, Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			select {
			case <-finish:
				fmt.Fprint(w, "finished")
			case <-r.Context().Done():
			}
		})})
		answers := make(chan string, 2)
		get := func() {
			res, err := client(t, version, nil).Get("http://" + f.addr)
			if err != nil {
				answers <- "an error"
				return
			}
			body, err := io.ReadAll(res.Body)
			answers <- fmt.Sprint(string(body), err)
		}
		go get()
		<-begun
		down := make(chan error)
		go func() { down <- f.Shutdown(t.Context()) }()
		<-f.stopping.Done()
		close(finish)
		if got := <-answers; got != "finished<nil>" {
			t.Errorf("HTTP/%d: %s", version, got)
		}
		if err := <-down; err != nil {
			t.Error(err)
		}

		finish = make(chan struct{})
		cut := start(t, f.cfg)
		f.addr = cut.addr
		go get()
		<-begun
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := cut.Shutdown(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("HTTP/%d: %v", version, err)
		}
		if got := <-answers; got != "an error" {
			t.Errorf("HTTP/%d: %s", version, got)
		}
	}
}

func TestHTTP2Limits(t *testing.T) {
	f := start(t, Config{Handler: http.NotFoundHandler(), Limits: everywire.Limits{MaxMetadata: 1000}})
	r, err := http.NewRequest(http.MethodGet, "http://"+f.addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		r.Header.Add("Long", strings.Repeat("x", 1000))
	}
	res, err := client(t, 2, nil).Do(r)
	if err == nil {
		res.Body.Close()
		if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a header of 40,000 bytes: %d", res.StatusCode)
		}
	}
}

// A failing listener fails a few times, as one that has run out of files does.
type failing struct {
	net.Listener
	mu    sync.Mutex
	times int
}

func (l *failing) Accept() (net.Conn, error) {
	l.mu.Lock()
	l.times--
	fail := l.times >= 0
	l.mu.Unlock()
	if fail {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAcceptingGoesOn(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := startOn(t, Config{Handler: http.NotFoundHandler()}, &failing{Listener: lis, times: 3})
	res, err := client(t, 1, nil).Get("http://" + f.addr)
	if err != nil || res.StatusCode != http.StatusNotFound {
		t.Fatal(res, err)
	}
	res.Body.Close()
}

// A connection that was accepted elsewhere, TLS done, is served as it has agreed.
func TestServeConn(t *testing.T) {
	cert, roots := certificate()
	s := NewServer(Config{Limits: everywire.Limits{}.WithDefaults(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, r.TLS != nil)
	})})
	for version, want := range map[int]string{1: "HTTP/1.1true", 2: "HTTP/2.0true"} {
		c := client(t, version, roots)
		c.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
			one, other := net.Pipe()
			go func() {
				conn := tls.Server(one, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{HTTP2, HTTP11}})
				if err := conn.Handshake(); err != nil {
					t.Error(err)
				}
				s.ServeConn(wrapped{conn, conn})
			}()
			return other, nil
		}
		res, err := c.Get("https://127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(res.Body); err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
		c.CloseIdleConnections()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// wrapped is a connection on TLS that is no *tls.Conn.
type wrapped struct {
	net.Conn
	tls *tls.Conn
}

func (w wrapped) ConnectionState() tls.ConnectionState { return w.tls.ConnectionState() }
