package target

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ok = Statuses{{200, 299}}

// httpServer serves and returns where; conns counts the connections it had.
func httpServer(t *testing.T, h http.HandlerFunc, how func(*httptest.Server)) (to *HTTPTarget, conns *atomic.Int64) {
	t.Helper()
	conns = new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	if how == nil {
		s.Start()
	} else {
		how(s)
	}
	t.Cleanup(s.Close)
	to, err := ParseHTTP(s.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	return to, conns
}

func request(method, path, body string) *Request {
	return &Request{Method: method, Path: []byte(path), Body: []byte(body), HasBody: body != "", KeepBody: true, Statuses: ok}
}

// What is sent arrives as it was written, and what is answered is read, on one
// connection for all calls.
func TestHTTP1(t *testing.T) {
	to, conns := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Long", strings.Repeat("x", 3000))
		if r.URL.Query().Get("chunked") != "" {
			w.(http.Flusher).Flush()
		}
		fmt.Fprintf(w, "%s %s %s %q %v %v", r.Method, r.RequestURI, r.Host, body, r.Header["X-Odd"], r.ContentLength)
	}, nil)
	h := NewHTTP1(HTTPConfig{Target: to})
	defer h.Close()
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/a?b=%20c", "", `GET /a?b=%20c HOST "" [v] 0`},
		{"POST", "/a", "text", `POST /a HOST "text" [v] 4`},
		{"QUERY", "/a?chunked=1", "", `QUERY /a?chunked=1 HOST "" [v] 0`},
		{"DELETE", "/", strings.Repeat("y", 70_000), `DELETE / HOST "` + strings.Repeat("y", 70_000) + `" [v] 70000`},
		{"HEAD", "/", "", ""},
		{"GET", "/after/head", "", `GET /after/head HOST "" [v] 0`},
	} {
		in, out := request(c.method, c.path, c.body), new(Response)
		in.Header = []HeaderField{{"X-Odd", []byte("v")}}
		if err := h.Invoke(t.Context(), "", in, out); err != nil {
			t.Fatalf("%s %s: %v", c.method, c.path, err)
		}
		if want := strings.ReplaceAll(c.want, "HOST", to.Authority); string(out.Body) != want || out.Status != 200 {
			t.Errorf("%s %s: %d %.200s\nwant %.200s", c.method, c.path, out.Status, out.Body, want)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A reply with a status that is not expected is an error of its own kind, which has
// the beginning of the body.
func TestBadStatus(t *testing.T) {
	to, _ := httpServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, strings.Repeat("busy ", 100))
	}, nil)
	h := NewHTTP1(HTTPConfig{Target: to})
	defer h.Close()
	in := request("GET", "/", "")
	in.KeepBody = false
	err := h.Invoke(t.Context(), "", in, new(Response))
	var bad *BadStatus
	if !errors.As(err, &bad) || bad.Kind() != "HTTP 503" || err.Error() != `HTTP 503, want 2xx: "`+strings.Repeat("busy ", 40)+`"` {
		t.Errorf("%v", err)
	}
	in.Statuses = Statuses{{404, 404}, {500, 599}}
	if err := h.Invoke(t.Context(), "", in, new(Response)); err != nil {
		t.Errorf("an expected status: %v", err)
	}
	in.Statuses = Statuses{{404, 404}, {400, 499}}
	if err := h.Invoke(t.Context(), "", in, new(Response)); !strings.HasPrefix(fmt.Sprint(err), "HTTP 503, want 404, 4xx:") {
		t.Errorf("%v", err)
	}
}

// With Reconnect every call has a connection of its own.
func TestReconnect(t *testing.T) {
	to, conns := httpServer(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Close) }, nil)
	h := NewHTTP1(HTTPConfig{Target: to, Reconnect: true})
	defer h.Close()
	for range 3 {
		out := new(Response)
		if err := h.Invoke(t.Context(), "", request("POST", "/", "x"), out); err != nil || string(out.Body) != "true" {
			t.Fatalf("%v, closing %s", err, out.Body)
		}
	}
	if n := conns.Load(); n != 3 {
		t.Errorf("%d connections for 3 calls", n)
	}
}

// rawServer answers each connection by a function, which is told how many came
// before it.
func rawServer(t *testing.T, serve func(n int, c net.Conn)) *HTTPTarget {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				serve(n, c)
			})
		}
	})
	t.Cleanup(func() {
		_ = lis.Close()
		wg.Wait()
	})
	to, err := ParseHTTP("http://" + lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// answers reads requests without bodies and answers some of them.
func answers(c net.Conn, some int) {
	br := bufio.NewReader(c)
	for range some {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

// A server may close a connection between two calls. What may be sent twice is sent
// on a new one; what may not fails.
func TestClosedBetweenCalls(t *testing.T) {
	closed := make(chan struct{}, 10)
	to := rawServer(t, func(_ int, c net.Conn) {
		answers(c, 1)
		_ = c.Close()
		closed <- struct{}{}
	})
	for _, tc := range []struct {
		method string
		want   codes.Code
	}{{"GET", codes.OK}, {"PUT", codes.OK}, {"POST", codes.Unavailable}} {
		h := NewHTTP1(HTTPConfig{Target: to})
		if err := h.Invoke(t.Context(), "", request(tc.method, "/", ""), new(Response)); err != nil {
			t.Fatal(err)
		}
		<-closed
		if err := h.Invoke(t.Context(), "", request(tc.method, "/", ""), new(Response)); status.Code(err) != tc.want {
			t.Errorf("%s: %v", tc.method, err)
		}
		_ = h.Close()
	}
}

// What a server does wrong ends the call, not the program, and the next call has a new
// connection.
func TestBadServers(t *testing.T) {
	for name, tc := range map[string]struct {
		reply string
		want  codes.Code
		text  string
	}{
		"nothing":       {"", codes.Unavailable, "closed the connection before its reply was whole"},
		"cut off":       {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", codes.Unavailable, "before its reply was whole"},
		"other":         {"SSH-2.0-OpenSSH_9.2\r\n\r\n", codes.Unavailable, ""},
		"bad length":    {"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", codes.Unavailable, ""},
		"large":         {"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), codes.ResourceExhausted, "larger than 1000 bytes: --max-message raises"},
		"large, chunks": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + strings.Repeat("x", 2000) + "\r\n0\r\n\r\n", codes.ResourceExhausted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			to := rawServer(t, func(n int, c net.Conn) {
				if n > 0 {
					answers(c, 1)
					return
				}
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = io.WriteString(c, tc.reply)
				}
			})
			h := NewHTTP1(HTTPConfig{Target: to, MaxBody: 1000, Timeout: 10 * time.Second})
			defer h.Close()
			err := h.Invoke(t.Context(), "", request("POST", "/", "x"), new(Response))
			if status.Code(err) != tc.want || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%v, want %v: %s", err, tc.want, tc.text)
			}
			if err := h.Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// Calls end when their time is over, when their context ends, and when the connection
// is closed; and nothing waits for a server that does not answer.
func TestHungServer(t *testing.T) {
	hang := func(_ int, c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			to := rawServer(t, hang)
			h := protocol(HTTPConfig{Target: to, Timeout: 30 * time.Millisecond})
			defer h.Close()
			if err := h.Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "no reply within 30ms") {
				t.Errorf("over time: %v", err)
			}
			patient := protocol(HTTPConfig{Target: to})
			defer patient.Close()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			if err := patient.Invoke(ctx, "", request("GET", "/", ""), new(Response)); status.Code(err) != codes.Canceled {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}

// httpConn is what HTTP1 and HTTP2 have in common.
type httpConn interface {
	grpc.ClientConnInterface
	Bytes() (out, in int64)
	Close() error
}

var protocols = map[string]func(HTTPConfig) httpConn{
	"http1": func(c HTTPConfig) httpConn { return NewHTTP1(c) },
	"http2": func(c HTTPConfig) httpConn { return NewHTTP2(c) },
}

// Nobody listens, or does not speak TLS: the call fails at once and says why.
func TestNoServer(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := lis.Addr().String()
	_ = lis.Close()
	for name, protocol := range protocols {
		to, err := ParseHTTP("http://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		h := protocol(HTTPConfig{Target: to})
		if err := h.Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", name, err)
		}
		_ = h.Close()
		plain := rawServer(t, func(_ int, c net.Conn) { answers(c, 1) })
		plain.TLS = true
		secure := protocol(HTTPConfig{Target: plain})
		if err := secure.Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); status.Code(err) != codes.Unavailable || name == "http1" && !strings.Contains(err.Error(), "perhaps it has no TLS") {
			t.Errorf("%s with TLS: %v", name, err)
		}
		_ = secure.Close()
	}
}

// A closed connection makes no call.
func TestClosedConnection(t *testing.T) {
	to, conns := httpServer(t, func(http.ResponseWriter, *http.Request) {}, nil)
	h := NewHTTP1(HTTPConfig{Target: to})
	_ = h.Close()
	if err := h.Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); status.Code(err) != codes.Canceled || conns.Load() != 0 {
		t.Errorf("%v with %d connections", err, conns.Load())
	}
}

// Both protocols, with and without TLS, carry what the other carries, and count the
// bytes of their sockets.
func TestProtocols(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		tls        bool
	}{{"http1", "HTTP/1.1", false}, {"http1", "HTTP/1.1", true}, {"http2", "HTTP/2.0", false}, {"http2", "HTTP/2.0", true}} {
		to, _ := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s %s", r.Proto, r.Method, r.Header.Get("X-Key"), body)
		}, func(s *httptest.Server) {
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetHTTP2(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.EnableHTTP2 = true
			if tc.tls {
				s.StartTLS()
			} else {
				s.Start()
			}
		})
		h := protocols[tc.name](HTTPConfig{Target: to, TLS: &tls.Config{InsecureSkipVerify: true}})
		var out0, in0 int64
		for range 2 {
			in, out := request("POST", "/", "body"), new(Response)
			in.Header = []HeaderField{{"X-Key", []byte("v")}}
			if err := h.Invoke(t.Context(), "", in, out); err != nil || string(out.Body) != tc.want+" POST v body" {
				t.Fatalf("%s: %v, %s", tc.name, err, out.Body)
			}
			sent, read := h.Bytes()
			if sent <= out0 || read <= in0 {
				t.Errorf("%s: %d and %d bytes after %d and %d", tc.name, sent, read, out0, in0)
			}
			out0, in0 = sent, read
		}
		large := request("GET", "/", "")
		large.Statuses = Statuses{{201, 201}}
		if err := h.Invoke(t.Context(), "", large, new(Response)); !strings.HasPrefix(fmt.Sprint(err), "HTTP 200, want 201") {
			t.Errorf("%s: %v", tc.name, err)
		}
		_ = h.Close()
	}
}

// The bytes of HTTP/1.1 are exact.
func TestBytes(t *testing.T) {
	to := rawServer(t, func(_ int, c net.Conn) { answers(c, 5) })
	pool := NewPool(HTTPConfig{Target: to})
	defer pool.Close()
	h := NewHTTP1(HTTPConfig{Target: to})
	defer h.Close()
	caller := pool.Caller()
	want := int64(len("GET /x HTTP/1.1\r\nHost: " + to.Authority + "\r\n\r\n"))
	const back = int64(len("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	for n := range int64(3) {
		for name, conn := range map[string]interface {
			grpc.ClientConnInterface
			Bytes() (out, in int64)
		}{"connection": h, "pool": caller} {
			if err := conn.Invoke(t.Context(), "", request("GET", "/x", ""), new(Response)); err != nil {
				t.Fatal(err)
			}
			if out, in := conn.Bytes(); out != (n+1)*want || in != (n+1)*back {
				t.Errorf("%s: %d and %d bytes, want %d and %d", name, out, in, (n+1)*want, (n+1)*back)
			}
		}
	}
}

// A pool has as many connections as there were calls at once, however many callers
// there are, and none is opened once it is closed.
func TestPool(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	to, conns := httpServer(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			entered <- struct{}{}
			<-leave
		}
	}, nil)
	p := NewPool(HTTPConfig{Target: to})
	for range 20 {
		if err := p.Caller().Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); err != nil {
			t.Fatal(err)
		}
	}
	if conns.Load() != 1 || p.Len() != 1 {
		t.Errorf("%d connections for calls one after the other", conns.Load())
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := p.Caller().Invoke(t.Context(), "", request("GET", "/wait", ""), new(Response)); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		<-entered
	}
	close(leave)
	wg.Wait()
	if conns.Load() != 3 || p.Len() != 3 {
		t.Errorf("%d connections for 3 calls at once", conns.Load())
	}
	_ = p.Close()
	if err := p.Caller().Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); status.Code(err) != codes.Canceled {
		t.Errorf("after Close: %v", err)
	}
}

// HTTP/2 makes calls at once on one connection, and says when a server speaks
// something else.
func TestHTTP2(t *testing.T) {
	const n = 20
	var inside sync.WaitGroup
	inside.Add(n)
	to, conns := httpServer(t, func(w http.ResponseWriter, _ *http.Request) {
		inside.Done()
		inside.Wait() // for all others
		w.Write(bytes.Repeat([]byte("z"), 3000))
	}, func(s *httptest.Server) {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	})
	h := NewHTTP2(HTTPConfig{Target: to, MaxBody: 2000})
	defer h.Close()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := h.Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("a body over the limit: %v", err)
			}
		})
	}
	wg.Wait()
	if c := conns.Load(); c != 1 {
		t.Errorf("%d connections", c)
	}
	old := rawServer(t, func(_ int, c net.Conn) { answers(c, 1) })
	other := NewHTTP2(HTTPConfig{Target: old})
	defer other.Close()
	if err := other.Invoke(t.Context(), "", request("GET", "/", ""), new(Response)); status.Code(err) != codes.Unavailable {
		t.Errorf("a server of HTTP/1.1: %v", err)
	}
	if _, err := other.NewStream(t.Context(), nil, ""); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream: %v", err)
	}
}

func TestParseHTTP(t *testing.T) {
	for url, want := range map[string]string{
		"http://h":                      "h:80 h / false",
		"https://h?q={{x}}":             "h:443 h /?q={{x}} true",
		"HTTP://h:81/a b":               "h:81 h:81 /a b false",
		"http://[::1]:8080/x":           "[::1]:8080 [::1]:8080 /x false",
		"http://[::1]/x":                "[::1]:80 [::1] /x false",
		"http://h/{{id}}?a=%23&b={{c}}": "h:80 h /{{id}}?a=%23&b={{c}} false",
	} {
		to, err := ParseHTTP(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := fmt.Sprint(to.Host, " ", to.Authority, " ", to.Path, " ", to.TLS); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	for url, want := range map[string]string{
		"http://":          "no host",
		"http:///x":        "no host",
		"http://h:0/":      "port",
		"http://h:65536/":  "port",
		"http://u:p@h/":    "must not hold a password",
		"http://{{host}}/": "placeholders stand in the path",
		"http://h/#x":      "what follows # is not sent",
		"http://h:x/":      "no host",
	} {
		if _, err := ParseHTTP(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	if IsHTTP("grpc://h") || IsHTTP("jsonrpc+http://h") || IsHTTP("http") || !IsHTTP("HTTPS://h") {
		t.Error("IsHTTP")
	}
}
