package rest

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire"
)

func TestVerbs(t *testing.T) {
	addr := serve(t, serverConfig(itemRegistry()))
	for _, c := range []struct {
		line   string
		status int
		allow  string
	}{
		{"GET /nowhere", 404, ""},
		{"POST /test.Items/Nothing", 404, ""},
		{"POST /other.Service/Plain", 404, ""},
		{"GET /items/", 404, ""},
		{"GET //items", 404, ""},
		{"GET /items//tags", 404, ""},
		{"POST /test.Items/Plain/", 404, ""},
		{"GET /Items", 404, ""},
		{"OPTIONS /nowhere", 404, ""},
		{"GET /test.Items/Plain", 405, "OPTIONS, POST"},
		{"HEAD /test.Items/Plain", 405, "OPTIONS, POST"},
		{"PATCH /items/a", 405, "GET, HEAD, OPTIONS, PUT"},
		{"TRACE /items", 405, "GET, HEAD, OPTIONS, POST"},
		{"FROB /items", 405, "GET, HEAD, OPTIONS, POST"},
	} {
		r := do(t, addr, c.line, "")
		if r.status != c.status || r.header.Get("Allow") != c.allow {
			t.Errorf("%s: got %d, Allow %q; want %d, %q", c.line, r.status, r.header.Get("Allow"), c.status, c.allow)
		}
		if strings.HasPrefix(c.line, "HEAD") {
			continue
		}
		if p := checkProblem(t, r); p.Code != "UNIMPLEMENTED" {
			t.Errorf("%s: code %s", c.line, p.Code)
		}
	}
	if r := do(t, addr, "OPTIONS /items/a", ""); r.status != 204 || r.header.Get("Allow") != "GET, HEAD, OPTIONS, PUT" || r.body != "" {
		t.Errorf("OPTIONS: %+v", r)
	}
	if r := do(t, addr, "OPTIONS *", ""); r.status != 200 || r.body != "" { // by the server: RFC 9110, section 9.3.7
		t.Errorf("OPTIONS *: %+v", r)
	}
	get, head := do(t, addr, "GET /items/a", ""), do(t, addr, "HEAD /items/a", "")
	if head.status != 200 || head.body != "" || head.header.Get("Content-Length") != get.header.Get("Content-Length") {
		t.Errorf("HEAD: %+v, GET: %+v", head, get)
	}
}

func TestContent(t *testing.T) {
	addr := serve(t, serverConfig(itemRegistry()))
	const post = "POST /test.Items/Plain"
	for _, c := range []struct {
		line, body string
		head       []string
		status     int
	}{
		{post, `{}`, []string{"Content-Type: application/json"}, 200},
		{post, `{}`, []string{"content-type: Application/JSON; charset=UTF-8"}, 200},
		{post, `{}`, []string{`Content-Type: application/json;charset="utf-8";v=1`}, 200},
		{post, `{}`, []string{"Content-Type: application/json; charset=latin1"}, 415},
		{post, `{}`, []string{"Content-Type: application/x-www-form-urlencoded"}, 415},
		{post, `{}`, []string{"Content-Type: application/jsonp"}, 415},
		{post, `{}`, []string{"Content-Type: text/plain, application/json"}, 415},
		{post, `{}`, []string{"Content-Type: application/json", "Content-Type: text/plain"}, 415},
		{post, `{}`, []string{"Content-Type: "}, 415},
		{post, `{}`, []string{"Content-Encoding: deflate"}, 415},
		{post, `{}`, []string{"Content-Encoding: gzip, gzip"}, 415},
		{post, `{}`, []string{"Content-Encoding: gzip"}, 400}, // but it is not
		{post, `{}`, []string{"Content-Encoding: identity"}, 200},
		{post, "", []string{"Content-Type: text/plain"}, 200}, // of no body
		{post, "", []string{"Content-Length: 0"}, 200},

		{post, `{}`, []string{"Accept: */*"}, 200},
		{post, `{}`, []string{"Accept: application/*;q=0.1"}, 200},
		{post, `{}`, []string{"Accept: text/html, Application/JSON; q=0.5"}, 200},
		{post, `{}`, []string{"Accept: text/html", "Accept: application/json"}, 200},
		{post, `{}`, []string{"Accept: "}, 200},
		{post, `{}`, []string{"Accept: text/html"}, 406},
		{post, `{}`, []string{"Accept: application/json;q=0"}, 406},
		{post, `{}`, []string{"Accept: application/json;q=0.0, */*"}, 200}, // MessagePack
		{post, `{}`, []string{"Accept: application/json;q=0, application/*;q=0"}, 406},
		{post, `{}`, []string{"Accept: */*;q=0, application/json"}, 200},
		{post, `{}`, []string{"Accept: application/problem+json"}, 406},

		{post, `{}`, []string{"Grpc-Timeout: 10S"}, 200},
		{post, `{}`, []string{"Grpc-Timeout: 10"}, 400},
		{post, `{}`, []string{"Grpc-Timeout: "}, 400},
		{post, `{}`, []string{"Grpc-Timeout: 1S", "Grpc-Timeout: 2S"}, 400},
		{post, `{}`, []string{"X-Bin: a", "Blob-Bin: ?"}, 400},
	} {
		r := do(t, addr, c.line, c.body, c.head...)
		if r.status != c.status {
			t.Errorf("%s with %q: %d %s, want %d", c.line, c.head, r.status, r.body, c.status)
		} else if c.status != 200 {
			if p := checkProblem(t, r); p.Code != "INVALID_ARGUMENT" {
				t.Errorf("%s with %q: code %s", c.line, c.head, p.Code)
			}
		}
	}
	r := raw(t, addr, "POST", post+" HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	if p := checkProblem(t, r); r.status != 415 || !strings.Contains(p.Detail, "no Content-Type") {
		t.Errorf("a body without a type: %d %s", r.status, r.body)
	}
}

func TestLimits(t *testing.T) {
	cfg := serverConfig(itemRegistry())
	cfg.Limits.MaxMessage = 100
	cfg.Limits.MaxMetadata = 1000
	addr := serve(t, cfg)
	const post = "POST /test.Items/Echo"
	document := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	chunked := func(body string) response {
		return raw(t, addr, "POST", post+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+
			itoa16(len(body))+"\r\n"+body+"\r\n0\r\n\r\n")
	}
	if r := do(t, addr, post, document(100)); r.status != 200 {
		t.Errorf("at the limit: %d %s", r.status, r.body)
	}
	if r := chunked(document(100)); r.status != 200 {
		t.Errorf("chunked, at the limit: %d %s", r.status, r.body)
	}
	// The body is not waited for: it never comes.
	announced := raw(t, addr, "POST", post+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 101\r\n\r\n")
	for name, r := range map[string]response{
		"over it": do(t, addr, post, document(101)), "chunked, over it": chunked(document(101)), "announced": announced,
		"expecting 100": raw(t, addr, "POST", post+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\nExpect: 100-continue\r\n\r\n"),
	} {
		p := checkProblem(t, r)
		if r.status != 413 || p.Code != "RESOURCE_EXHAUSTED" || !strings.Contains(p.Detail, "100 bytes") || !r.close {
			t.Errorf("%s: %d %v %s", name, r.status, r.header, r.body)
		}
	}
	if r := do(t, addr, "GET /items/"+strings.Repeat("x", 101), ""); r.status != 429 || checkProblem(t, r).Code != "RESOURCE_EXHAUSTED" {
		t.Errorf("a long path: %d %s", r.status, r.body)
	}
	if r := do(t, addr, post, "1", "X-Long: "+strings.Repeat("x", 1000)); r.status != 429 || checkProblem(t, r).Code != "RESOURCE_EXHAUSTED" {
		t.Errorf("much metadata: %d %s", r.status, r.body)
	}
	if r := do(t, addr, post, "1", "X-Long: "+strings.Repeat("x", 30000)); r.status != 431 {
		t.Errorf("headers past what is read: %d %s", r.status, r.body)
	}
}

func itoa16(n int) string {
	return string(append([]byte(nil), []byte("0123456789abcdef")[n>>4], []byte("0123456789abcdef")[n&15]))
}

// Requests whose end two readers could see in different places are refused, and
// the connection is closed. Package http1 has more of them.
func TestSmuggling(t *testing.T) {
	addr := serve(t, serverConfig(itemRegistry()))
	const start = "POST /test.Items/Plain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, request := range map[string]string{
		"lines that end in a bare LF": strings.ReplaceAll(start, "\r\n", "\n") + "Content-Length: 2\n\n{}",
		"a length and chunks":         start + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"two lengths":                 start + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
		"a list of lengths":           start + "Content-Length: 2, 3\r\n\r\n{} ",
		"a negative length":           start + "Content-Length: -2\r\n\r\n{}",
		"a length with a sign":        start + "Content-Length: +2\r\n\r\n{}",
		"a bad chunk size":            start + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n",
		"a signed chunk size":         start + "Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n",
		"a chunk longer than said":    start + "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
		"a chunk line with a bare LF": start + "Transfer-Encoding: chunked\r\n\r\n2;x\n{}\r\n0\r\n\r\n",
		"a chunk size with a bare LF": start + "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
		"two codings":                 start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"space before the colon":      start + "Content-Length : 2\r\n\r\n{}",
		"a folded header":             start + "X: a\r\n b\r\nContent-Length\r\n : 2\r\n\r\n{}",
		"NUL in a header":             start + "X: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
		"no host":                     "GET /items HTTP/1.1\r\n\r\n",
		"two hosts":                   "GET /items HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"a bare CR in a header":       start + "X: a\rContent-Length: 3\r\nContent-Length: 2\r\n\r\n{}",
	} {
		if r := raw(t, addr, "POST", request); r.status != 400 || !r.close || r.header.Get("Content-Type") != problemType {
			t.Errorf("%s: %d, close %v, %s", name, r.status, r.close, r.body)
		}
	}
}

// failer fails as the request's key says.
func failer(ctx context.Context, in *item) (*item, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if err := errors.Join(grpc.SetHeader(ctx, metadata.Pairs("x-echo", strings.Join(md["x-in"], "+"), "blob-bin", "\x00\xff", "content-type", "text/html")),
		grpc.SetTrailer(ctx, metadata.Pairs("x-cost", "7"))); err != nil {
		return nil, err
	}
	switch in.Key {
	case "detail":
		s, err := status.New(codes.NotFound, "no <such> “key”\n").WithDetails(&errdetails.ErrorInfo{Reason: "GONE"})
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	case "number":
		return nil, status.Error(4_000_000_000, "far out")
	case "plain":
		return nil, errors.New("plain")
	case "panic":
		panic("secret")
	case "deadline":
		<-ctx.Done()
		return nil, ctx.Err()
	case "bad reply":
		return &item{Ratio: 1, Key: "\xff"}, nil
	case "code":
		return nil, status.Error(codes.Code(in.Size), "as asked")
	}
	return in, nil
}

func TestErrors(t *testing.T) {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	everywire.Handle(reg, "test.Items/Fail", failer)
	addr := serve(t, serverConfig(reg))
	const post = "POST /test.Items/Fail"

	r := do(t, addr, post, `{"key":"detail"}`, "X-In: a", "X-In: b")
	p := checkProblem(t, r)
	if r.status != 404 || p.Code != "NOT_FOUND" || p.Title != "Not Found" || p.Detail != "no <such> “key”\n" || len(p.Details) != 1 {
		t.Errorf("%d %s", r.status, r.body)
	} else {
		var info errdetails.ErrorInfo
		if err := proto.Unmarshal(p.Details[0].Value, &info); err != nil || info.GetReason() != "GONE" || p.Details[0].Type != "google.rpc.ErrorInfo" {
			t.Errorf("details %+v, %v", p.Details, err)
		}
	}
	if h := r.header; h.Get("X-Echo") != "a+b" || h.Get("Blob-Bin") != base64.RawStdEncoding.EncodeToString([]byte("\x00\xff")) || h.Get("Trailer-X-Cost") != "7" {
		t.Errorf("headers of an error reply: %v", h)
	}
	for _, c := range []struct {
		body, code, detail string
		status             int
		head               []string
	}{
		{`{"key":"number"}`, "4000000000", "far out", 500, nil},
		{`{"key":"plain"}`, "UNKNOWN", "plain", 500, nil},
		{`{"key":"panic"}`, "INTERNAL", "panic in the handler", 500, nil},
		{`{"key":"deadline"}`, "DEADLINE_EXCEEDED", "deadline", 504, []string{"Grpc-Timeout: 1m"}},
		{`{"key":"deadline"}`, "DEADLINE_EXCEEDED", "deadline", 504, []string{"Grpc-Timeout: 0n"}},
		{`{"key":"code","size":1}`, "CANCELLED", "as asked", 499, nil},
		{`{"key":"code","size":16}`, "UNAUTHENTICATED", "as asked", 401, nil},
	} {
		r := do(t, addr, post, c.body, c.head...)
		p := checkProblem(t, r)
		if r.status != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.detail) || strings.Contains(r.body, "secret") {
			t.Errorf("%s: %d %s, want %d %s", c.body, r.status, r.body, c.status, c.code)
		}
	}
}

func TestMethodsRegisteredLater(t *testing.T) {
	reg := itemRegistry()
	addr := serve(t, serverConfig(reg))
	if r := do(t, addr, "GET /later/a", ""); r.status != 404 {
		t.Errorf("before: %d", r.status)
	}
	everywire.Handle(reg, "test.Later/Get", echoItem, everywire.WithRoute("GET", "/later/{key}", ""))
	if r := do(t, addr, "GET /later/a", ""); r.status != 200 {
		t.Errorf("its route: %d %s", r.status, r.body)
	}
	// Its mistaken route is left out, and logged; its default route answers.
	everywire.Handle(reg, "test.Later/Bad", echoItem, everywire.WithRoute("GET", "/later/**/x", ""), everywire.WithRoute("PUT", "/later", "*"))
	// In a conflict the route that was there stays, whatever the names' order.
	everywire.Handle(reg, "a.Early/Get", func(context.Context, *item) (*item, error) { return nil, errors.New("not this one") },
		everywire.WithRoute("GET", "/items/{size}", ""))
	for line, want := range map[string]int{
		"POST /test.Later/Bad": 200, "PUT /later": 200, "GET /later/x/y": 404, "GET /later/x": 200, "GET /items/a": 200,
		"POST /a.Early/Get": 500,
	} {
		if r := do(t, addr, line, ""); r.status != want {
			t.Errorf("%s: %d %s, want %d", line, r.status, r.body, want)
		}
	}
}

func TestPathPrefix(t *testing.T) {
	cfg := serverConfig(itemRegistry())
	cfg.Path = "/api/v1/"
	addr := serve(t, cfg)
	for line, want := range map[string]int{
		"GET /api/v1/items/a": 200, "POST /api/v1/test.Items/Plain": 200,
		"GET /items/a": 404, "GET /api/v1": 404, "GET /api/v1items/a": 404, "GET /api/v1/": 404,
	} {
		if r := do(t, addr, line, ""); r.status != want {
			t.Errorf("%s: %d, want %d", line, r.status, want)
		}
	}
}

// The handler's context ends when the client goes away.
func TestClientGoesAway(t *testing.T) {
	running, ended := make(chan struct{}), make(chan error, 1)
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.Items/Wait", func(ctx context.Context, _ *item) (*item, error) {
		close(running)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	addr := serve(t, serverConfig(reg))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("POST /test.Items/Wait HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-running
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("context ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the handler's context did not end")
	}
}

func TestHandlerInAnothersServer(t *testing.T) {
	reg := everywire.NewRegistry()
	var seen *peer.Peer
	everywire.Handle(reg, "test.Items/Peer", func(ctx context.Context, in *item) (*item, error) {
		seen, _ = peer.FromContext(ctx)
		return in, nil
	})
	h, err := NewHandler(serverConfig(reg))
	if err != nil {
		t.Fatal(err)
	}
	for remote, network := range map[string]string{"192.0.2.1:1234": "tcp", "@": "unknown"} {
		r := httptest.NewRequest(http.MethodPost, "/test.Items/Peer", strings.NewReader(`{}`))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = remote
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 || seen == nil || seen.Addr.String() != remote || seen.Addr.Network() != network {
			t.Errorf("%s: %d, peer %v", remote, w.Code, seen)
		}
	}
}

func TestShutdownCutsWhatIsLeft(t *testing.T) {
	running := make(chan struct{})
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.Items/Wait", func(ctx context.Context, _ *item) (*item, error) {
		close(running)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	srv, err := NewServer(serverConfig(reg))
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	conn, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("POST /test.Items/Wait HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-running
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("the connection is still open: read %d bytes", n)
	}
}
