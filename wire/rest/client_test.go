package rest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

func clientConfig(addr string) *rpc.ClientConfig {
	var d net.Dialer
	return &rpc.ClientConfig{
		Target: "rest://" + addr, Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Addrs: []string{addr},
		DialAddr: func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) },
	}
}

func dial(t testing.TB, cfg *rpc.ClientConfig) rpc.Conn {
	t.Helper()
	c, err := NewConn(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestClientRoundTrip(t *testing.T) {
	reg := itemRegistry()
	everywire.Handle(reg, "test.Items/Fail", failer)
	addr := serve(t, serverConfig(reg))
	plain := clientConfig(addr)
	routed := clientConfig(addr)
	routed.Methods = reg
	limit := int32(0)
	in := &item{
		Key: "a/b c?%é", Size: math.MaxInt64, Tags: []string{"x", "", "y&z"}, On: true, Ratio: 0.5, Data: []byte{0, 0xff},
		At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), PageSize: 7, Limit: &limit, Numbers: []int64{-1, 0}, Wait: time.Second,
		Sub: &sub{Name: "n"}, Labels: map[string]string{"k": "v"},
	}
	for name, cfg := range map[string]*rpc.ClientConfig{"default routes": plain, "declared routes": routed} {
		conn := dial(t, cfg)
		for _, m := range []string{"Plain", "Get", "List", "Create", "Put", "Fail"} {
			out, err := everywire.Call[item](t.Context(), conn, "test.Items/"+m, in)
			if err != nil {
				t.Errorf("%s, %s: %v", name, m, err)
			} else if d := cmp.Diff(in, out); d != "" {
				t.Errorf("%s, %s (-sent +got):\n%s", name, m, d)
			}
		}
		doc, err := everywire.Call[everywire.Document](t.Context(), conn, "test.Items/Echo", &everywire.Document{Value: []any{int64(1), "x", nil}})
		if err != nil || !cmp.Equal(doc.Value, []any{int64(1), "x", nil}) {
			t.Errorf("%s: document %v, %v", name, doc, err)
		}
	}
}

// The routes that a client takes are those that the server's methods declare.
func TestClientRoutes(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		seen = append(seen, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(body)))
		mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/tags") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `["a"]`)
		}
	}))
	defer srv.Close()
	type request struct {
		Key  string   `wire:"1"`
		Size int64    `wire:"2"`
		Tags []string `wire:"3"`
		Data []byte   `wire:"4"`
	}
	reg := everywire.NewRegistry()
	fn := func(_ context.Context, in *request) (*request, error) { return in, nil }
	everywire.Handle(reg, "t.T/Get", fn, everywire.WithRoute("GET", "/t/{key}", ""))
	everywire.Handle(reg, "t.T/Data", fn, everywire.WithRoute("DELETE", "/data/{data}", ""))
	everywire.Handle(reg, "t.T/Put", fn, everywire.WithRoute("PUT", "/t/{key}/{size}", "*"))
	everywire.Handle(reg, "t.T/Tags", fn, withRoute(everywire.Route{Verb: "PATCH", Pattern: "/t/{key}/tags", Body: "tags", ResponseBody: "tags"}))
	cfg := clientConfig(srv.Listener.Addr().String())
	cfg.Methods, cfg.Path = reg, "/base/"
	conn := dial(t, cfg)
	for _, c := range []struct {
		method, want string
		in           request
	}{
		{"Get", "GET /base/t/a%2Fb%20c?size=3&tags=x&tags=y+%26", request{Key: "a/b c", Size: 3, Tags: []string{"x", "y &"}}},
		{"Get", "GET /base/t/a", request{Key: "a"}},
		{"Get", "GET /base/t/%2E%2E", request{Key: ".."}},
		{"Data", "DELETE /base/data/%2B%2F8%3D", request{Data: []byte{0xfb, 0xff}}},
		{"Put", `PUT /base/t/k/0 {"tags":[],"data":""}`, request{Key: "k"}},
		{"Tags", `PATCH /base/t/k/tags ["x"]`, request{Key: "k", Tags: []string{"x"}}},
		{"Other", `POST /base/t.T/Other {"key":"k","size":0,"tags":[],"data":""}`, request{Key: "k"}},
	} {
		seen = nil
		out, err := everywire.Call[request](t.Context(), conn, "t.T/"+c.method, &c.in)
		if err != nil || len(seen) != 1 || seen[0] != c.want {
			t.Errorf("%s: sent %q, %v; want %s", c.method, seen, err, c.want)
		}
		if c.method == "Tags" && (out == nil || !cmp.Equal(out.Tags, []string{"a"})) {
			t.Errorf("%s: got %v", c.method, out)
		}
	}
	if _, err := everywire.Call[request](t.Context(), conn, "t.T/Get", &request{}); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "key") {
		t.Errorf("an empty path parameter: %v", err)
	}
}

func TestClientStatusAndMetadata(t *testing.T) {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	everywire.Handle(reg, "test.Items/Fail", failer)
	conn := dial(t, clientConfig(serve(t, serverConfig(reg))))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-in", "a", "x-in", "b", "blob-bin", "\x00\x01")
	call := func(in *item) (*status.Status, metadata.MD, metadata.MD) {
		var header, trailer metadata.MD
		_, err := everywire.Call[item](ctx, conn, "test.Items/Fail", in, grpc.Header(&header), grpc.Trailer(&trailer))
		return status.Convert(err), header, trailer
	}
	for _, c := range []codes.Code{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, math.MaxInt32, math.MaxUint32} {
		s, header, trailer := call(&item{Key: "code", Size: int64(c)})
		if s.Code() != c || s.Message() != "as asked" {
			t.Errorf("code %d came as %v", c, s)
		}
		want := metadata.MD{"x-echo": {"a+b"}, "blob-bin": {"\x00\xff"}}
		if d := cmp.Diff(want, header); d != "" {
			t.Errorf("code %d: header (-want +got):\n%s", c, d)
		}
		if d := cmp.Diff(metadata.MD{"x-cost": {"7"}}, trailer); d != "" {
			t.Errorf("code %d: trailer (-want +got):\n%s", c, d)
		}
	}
	s, _, _ := call(&item{Key: "detail"})
	if s.Code() != codes.NotFound || s.Message() != "no <such> “key”\n" || len(s.Details()) != 1 ||
		!proto.Equal(s.Details()[0].(proto.Message), &errdetails.ErrorInfo{Reason: "GONE"}) {
		t.Errorf("details: %v %v", s, s.Details())
	}
}

// Answers that no everywire server gives.
func TestForeignAnswers(t *testing.T) {
	long := strings.Repeat("é", 300)
	for _, c := range []struct {
		name, response string
		code           codes.Code
		says           string
	}{
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", codes.OK, ""},
		{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", codes.OK, ""},
		{"chunked", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", codes.OK, ""},
		{"until it closes", "HTTP/1.0 201 Created\r\nContent-Type: Application/JSON; charset=utf-8\r\n\r\n{}", codes.OK, ""},
		{"HTML", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>\nHello", codes.Internal, `"text/html" is not one of application/json`},
		{"not JSON", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{", codes.Internal, "reply of /t.T/M"},
		{"redirect", "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", codes.Unknown, "302 Found"},
		{"bad gateway", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 600\r\n\r\n" + long, codes.Unavailable, "502 Bad Gateway: " + long[:200] + "…"},
		{"unauthorized", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", codes.Unauthenticated, "401 Unauthorized"},
		{"another's problem", "HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\nContent-Length: 19\r\n\r\n{\"title\":\"No such\"}", codes.NotFound, "No such"},
		{"problem with another's code", "HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nContent-Length: 13\r\n\r\n{\"code\":\"E1\"}", codes.Aborted, "E1"},
		{"problem that says OK", "HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nContent-Length: 13\r\n\r\n{\"code\":\"OK\"}", codes.Unknown, ""},
		{"too large", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 101\r\n\r\n", codes.ResourceExhausted, "(101 vs. 100)"},
		{"too large, chunked", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n" + strings.Repeat(" ", 128) + "\r\n", codes.ResourceExhausted, "(101 vs. 100)"},
		{"cut in the body", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{", codes.Unavailable, "may have run"},
		{"cut in the head", "HTTP/1.1 200 OK\r\nContent-", codes.Unavailable, "may have run"},
		{"nothing", "", codes.Unavailable, "may have run"},
		{"not HTTP", "SSH-2.0-x\r\n", codes.Unavailable, "may have run"},
		{"bad metadata", "HTTP/1.1 200 OK\r\nX-Bin: ?\r\nContent-Length: 0\r\n\r\n", codes.Internal, "X-Bin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr, requests := scripted(t, c.response)
			conn := dial(t, clientConfig(addr))
			var out item
			err := conn.Invoke(t.Context(), "/t.T/M", &item{}, &out, grpc.MaxCallRecvMsgSize(100))
			if status.Code(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v\nwant %v with %q", err, c.code, c.says)
			}
			if n := requests.Load(); n != 1 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// scripted answers each request with the same bytes and closes.
func scripted(t *testing.T, response string) (addr string, requests *atomic.Int32) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	requests = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				requests.Add(1)
				_, _ = io.WriteString(conn, response)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = lis.Close(); <-done })
	return lis.Addr().String(), requests
}

// A call whose connection breaks after others used it may have run: it is not
// sent again, unless its route is a GET.
func TestNoSilentSecondTry(t *testing.T) {
	var requests atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1)%2 == 1 {
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	defer srv.Close()
	cfg := clientConfig(srv.Listener.Addr().String())
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "t.T/Remove", func(_ context.Context, in *sub) (*sub, error) { return in, nil }, everywire.WithRoute("DELETE", "/t/{name}", ""))
	cfg.Methods = reg
	conn := dial(t, cfg)
	for i, method := range []string{"Post", "Remove"} {
		if _, err := everywire.Call[sub](t.Context(), conn, "t.T/"+method, &sub{Name: "n"}); err != nil {
			t.Fatal(err)
		}
		_, err := everywire.Call[sub](t.Context(), conn, "t.T/"+method, &sub{Name: "n"})
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "may have run") {
			t.Errorf("%s: %v", method, err)
		}
		if n := requests.Load(); n != int32(2*i+2) {
			t.Errorf("%s: the server got %d requests", method, n)
		}
	}
}

func TestUnreachable(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := lis.Addr().String()
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := clientConfig(addr)
	conn := dial(t, cfg)
	_, err = everywire.Call[sub](t.Context(), conn, "t.T/M", &sub{})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "cannot reach rest://"+addr) || strings.Contains(err.Error(), "may have run") {
		t.Errorf("error %v", err)
	}
}

// A call that waits for ready tries again until a server is there.
func TestWaitForReady(t *testing.T) {
	reg := itemRegistry()
	addr := serve(t, serverConfig(reg))
	cfg := clientConfig(addr)
	open := cfg.DialAddr
	var tries atomic.Int32
	cfg.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
		if tries.Add(1) < 4 {
			return nil, errors.New("not yet")
		}
		return open(ctx, addr)
	}
	conn := dial(t, cfg)
	if _, err := everywire.Call[item](t.Context(), conn, "test.Items/Plain", &item{}, grpc.WaitForReady(true)); err != nil {
		t.Errorf("error %v after %d tries", err, tries.Load())
	}
}

func TestReconnect(t *testing.T) {
	for _, reconnect := range []bool{false, true} {
		cfg := clientConfig(serve(t, serverConfig(itemRegistry())))
		open := cfg.DialAddr
		var dials int32
		cfg.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
			atomic.AddInt32(&dials, 1)
			return open(ctx, addr)
		}
		want := int32(1)
		if reconnect {
			cfg.Options = rpc.Options{"reconnect": ""}
			want = 5
		}
		conn := dial(t, cfg)
		for range 5 {
			if _, err := everywire.Call[item](t.Context(), conn, "test.Items/Plain", &item{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := atomic.LoadInt32(&dials); n != want {
			t.Errorf("reconnect %v: %d connections for 5 calls", reconnect, n)
		}
	}
}

// waiter serves a method that waits for its context, and tells when it runs.
func waiter(t *testing.T) (addr string, running chan struct{}) {
	running = make(chan struct{}, 1)
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "t.T/Wait", func(ctx context.Context, _ *sub) (*sub, error) {
		running <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	return serve(t, serverConfig(reg)), running
}

func TestCancelAndDeadline(t *testing.T) {
	addr, running := waiter(t)
	conn := dial(t, clientConfig(addr))
	ctx, cancel := context.WithCancel(t.Context())
	call := everywire.Start[sub](ctx, conn, "t.T/Wait", &sub{})
	<-running
	cancel()
	if _, err := call.Wait(t.Context()); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := everywire.Call[sub](ctx, conn, "t.T/Wait", &sub{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("deadline: %v", err)
	}
}

func TestClose(t *testing.T) {
	addr, running := waiter(t)
	conn := dial(t, clientConfig(addr))
	call := everywire.Start[sub](t.Context(), conn, "t.T/Wait", &sub{})
	<-running
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := call.Wait(t.Context()); status.Code(err) != codes.Canceled {
		t.Errorf("in flight: %v", err)
	}
	if _, err := everywire.Call[sub](t.Context(), conn, "t.T/Wait", &sub{}); status.Code(err) != codes.Canceled {
		t.Errorf("after Close: %v", err)
	}
}

func TestCloseWhileDialling(t *testing.T) {
	cfg := clientConfig("192.0.2.1:1")
	dialling := make(chan struct{})
	cfg.DialAddr = func(ctx context.Context, _ string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	conn := dial(t, cfg)
	call := everywire.Start[sub](t.Context(), conn, "t.T/Wait", &sub{})
	<-dialling
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := call.Wait(t.Context()); status.Code(err) != codes.Canceled {
		t.Errorf("error %v", err)
	}
}

func TestUnsupportedCalls(t *testing.T) {
	conn := dial(t, clientConfig("192.0.2.1:1"))
	if err := everywire.Notify(t.Context(), conn, "t.T/M", &sub{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("one-way: %v", err)
	}
	for _, path := range []string{"", "t.T", "/t.T", ".", "t.T/M", "//", "/a/b/c"} {
		if _, err := conn.NewStream(t.Context(), &grpc.StreamDesc{}, path); status.Code(err) != codes.Unimplemented {
			t.Errorf("stream, path %q: %v", path, err)
		}
		if err := conn.Invoke(t.Context(), path, &sub{}, &sub{}); status.Code(err) != codes.Unimplemented {
			t.Errorf("path %q: %v", path, err)
		}
	}
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "t.T/M", func(_ context.Context, in *sub) (*sub, error) { return in, nil }, everywire.WithRoute("GET", "/**/x", ""))
	cfg := clientConfig("192.0.2.1:1")
	cfg.Methods = reg
	if _, err := NewConn(cfg); err == nil || !strings.Contains(err.Error(), "/**/x") {
		t.Errorf("a malformed route: %v", err)
	}
}

// A generated-looking name with odd characters finds its method.
func TestOddNames(t *testing.T) {
	reg := everywire.NewRegistry()
	fn := func(_ context.Context, in *sub) (*sub, error) { return in, nil }
	names := []string{"rpc.a b%/é?#", "../..", "./.", "a;b=c&d/x+y:z", "toString/__proto__"}
	for _, n := range names {
		everywire.Handle(reg, n, fn)
	}
	conn := dial(t, clientConfig(serve(t, serverConfig(reg))))
	for _, n := range names {
		if out, err := everywire.Call[sub](t.Context(), conn, n, &sub{Name: n}); err != nil || out.Name != n {
			t.Errorf("%s: %v, %v", n, out, err)
		}
	}
}

func TestTLSAndPeer(t *testing.T) {
	// httptest has a certificate for example.com.
	borrowed := httptest.NewUnstartedServer(nil)
	borrowed.StartTLS()
	defer borrowed.Close()
	pool := x509.NewCertPool()
	pool.AddCert(borrowed.Certificate())

	var server *peer.Peer
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "t.T/M", func(ctx context.Context, in *sub) (*sub, error) {
		server, _ = peer.FromContext(ctx)
		return in, nil
	})
	scfg := serverConfig(reg)
	scfg.TLS = &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12}
	ccfg := clientConfig(serve(t, scfg))
	ccfg.TLS = &tls.Config{RootCAs: pool, ServerName: "example.com", MinVersion: tls.VersionTLS12}
	conn := dial(t, ccfg)
	var client peer.Peer
	for range 2 {
		if _, err := everywire.Call[sub](t.Context(), conn, "t.T/M", &sub{}, grpc.Peer(&client)); err != nil {
			t.Fatal(err)
		}
	}
	for who, p := range map[string]*peer.Peer{"server": server, "client": &client} {
		info, ok := p.AuthInfo.(credentials.TLSInfo)
		if !ok || !info.State.HandshakeComplete || info.State.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%s's peer: %+v", who, p)
		}
	}
	if server.Addr.String() != client.LocalAddr.String() || server.LocalAddr.String() != client.Addr.String() {
		t.Errorf("the peers' addresses: server %v, client %v", server, client)
	}

	ccfg = clientConfig(ccfg.Addrs[0])
	ccfg.TLS = &tls.Config{ServerName: "example.com", MinVersion: tls.VersionTLS12}
	_, err := everywire.Call[sub](t.Context(), dial(t, ccfg), "t.T/M", &sub{})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
}

// What a plain call puts on the wire.
func TestRequestBytes(t *testing.T) {
	client, server := net.Pipe()
	cfg := clientConfig("h:80")
	cfg.UserAgent = "everywire"
	cfg.DialAddr = func(context.Context, string) (net.Conn, error) { return client, nil }
	conn := dial(t, cfg)
	call := everywire.Start[sub](t.Context(), conn, "arith.Arith/Sum", &sub{Name: "n"})
	buf := make([]byte, 4096)
	n, err := server.Read(buf) // head and body come as one write
	if err != nil {
		t.Fatal(err)
	}
	want := "POST /arith.Arith/Sum HTTP/1.1\r\nHost: h:80\r\nContent-Length: 12\r\nContent-Type: application/json\r\nUser-Agent: everywire\r\n\r\n" + `{"name":"n"}`
	if got := string(buf[:n]); got != want {
		t.Errorf("sent %q\nwant %q", got, want)
	}
	if _, err := io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	if _, err := call.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
