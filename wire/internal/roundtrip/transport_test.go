package roundtrip

import (
	"bufio"
	"bytes"
	"context"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// newTransport makes a Transport to addr that counts its connections.
func newTransport(t testing.TB, addr string) (*Transport, *atomic.Int32) {
	t.Helper()
	var dials atomic.Int32
	tr := &Transport{
		Dial: func(ctx context.Context) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
		MaxIdle: 8, IdleTimeout: time.Minute, MaxHead: 16 << 10,
	}
	t.Cleanup(tr.Close)
	return tr, &dials
}

// script serves connections by f, which has read nothing yet, one after another.
func script(t testing.TB, f func(n int, conn net.Conn, in *bufio.Reader)) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			conn, err := lis.Accept()
			if err != nil {
				return // the test is over
			}
			_ = conn.SetDeadline(time.Now().Add(patience))
			f(n, conn, bufio.NewReader(conn))
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = lis.Close(); wg.Wait() })
	return lis.Addr().String()
}

// answer reads a request and writes a text.
func answer(t testing.TB, conn net.Conn, in *bufio.Reader, text string) bool {
	r, err := http.ReadRequest(in)
	if err != nil {
		return false // the client has gone
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Error(err)
	}
	_, err = io.WriteString(conn, text)
	return err == nil
}

func request(t testing.TB, ctx context.Context, method, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://h.example/p/%2F?q=1", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fetch makes a call and reads its body.
func fetch(t testing.TB, tr *Transport, method, body string) (*http.Response, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := tr.RoundTrip(request(t, ctx, method, body))
	if err != nil {
		return nil, "", err
	}
	data, err := io.ReadAll(res.Body)
	return res, string(data), errors.Join(err, res.Body.Close())
}

// TestAgainstNetHTTP: bodies of many lengths, both ways, on connections that are
// used again.
func TestAgainstNetHTTP(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "h.example" || r.URL.RawPath != "/p/%2F" || r.Header.Get("X-Two") != "a" {
			t.Errorf("%q %q %v", r.Host, r.URL.RawPath, r.Header)
		}
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header()["X-Two"] = []string{"b", "c"}
		_, _ = w.Write(data)
	}))
	defer srv.Close()
	tr, dials := newTransport(t, srv.Listener.Addr().String())
	for _, n := range []int{0, 1, 2000, 2049, separate - 1, separate, 1 << 20} {
		body := strings.Repeat("x", n)
		r := request(t, t.Context(), "POST", body)
		r.Header["X-Two"] = []string{"a", "b"}
		res, err := tr.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil || string(got) != body || res.StatusCode != http.StatusOK || fmt.Sprint(res.Header["X-Two"]) != "[b c]" {
			t.Errorf("%d bytes: %d back, %v, %v", n, len(got), err, res.Header)
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections for calls one after another", n)
	}
}

// TestResponses: what servers send, and what is made of it. A second call shows
// whether the connection is used again.
func TestResponses(t *testing.T) {
	for _, test := range []struct {
		name, method, text string
		body, fails        string
		reused             bool
	}{
		{name: "length", text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", body: "ab", reused: true},
		{name: "the same length twice", text: "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nab", body: "ab", reused: true},
		{name: "bare LF", text: "HTTP/1.1 200 OK\nContent-Length: 2\n\nab", body: "ab", reused: true},
		{name: "chunks", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n0001 \r\nb\r\n0\r\nT: 1\r\n\r\n", body: "ab", reused: true},
		{name: "chunks and a length", text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", body: "ab"},
		{name: "to the end", text: "HTTP/1.1 200 OK\r\n\r\nab", body: "ab"},
		{name: "HTTP/1.0", text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", body: "ab"},
		{name: "close", text: "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nab", body: "ab"},
		{name: "no reason", text: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", reused: true},
		{name: "204", text: "HTTP/1.1 204 No Content\r\n\r\n", reused: true},
		{name: "304 with a length", method: "GET", text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", reused: true},
		{name: "HEAD", method: "HEAD", text: "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", reused: true},
		{name: "interim", text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", body: "ab", reused: true},
		{name: "folded lines", text: "HTTP/1.1 200 OK\r\nX: a" + strings.Repeat("\r\n b", 3000) + "\r\nContent-Length: 0\r\n\r\n", reused: true},
		{name: "a folded line", text: "HTTP/1.1 200 OK\r\nX: a\r\n  b\r\nContent-Length: 0\r\n\r\n", reused: true},
		{name: "more than the body", text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", body: "a"},
		{name: "cut off", text: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", fails: "unexpected EOF"},
		{name: "cut off in chunks", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", fails: "unexpected EOF"},
		{name: "cut off between chunks", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", fails: "unexpected EOF"},
		{name: "cut off in the head", text: "HTTP/1.1 200 OK\r\nConte", fails: "within the head"},
		{name: "not HTTP", text: "SSH-2.0-x\r\n\r\n", fails: "not HTTP/1.1"},
		{name: "HTTP/2", text: "HTTP/2.0 200 OK\r\n\r\n", fails: "not HTTP/1.1"},
		{name: "two lengths", text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", fails: "lengths"},
		{name: "a signed length", text: "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab", fails: "length"},
		{name: "a coding", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", fails: "transfer coding"},
		{name: "a space before the colon", text: "HTTP/1.1 200 OK\r\nX : a\r\n\r\n", fails: "malformed"},
		{name: "a chunk's sign", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nab\r\n0\r\n\r\n", fails: "chunk"},
		{name: "an overlong chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", fails: "chunk"},
		{name: "a huge chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nab", fails: "chunk"},
		{name: "a head without end", text: "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 10_000), fails: "longer than the limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.method == "" {
				test.method = "POST"
			}
			addr := script(t, func(n int, conn net.Conn, in *bufio.Reader) {
				text := test.text
				if n > 0 {
					text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nn"
				}
				if !answer(t, conn, in, text) || test.fails != "" || strings.Contains(test.name, "end") {
					return
				}
				answer(t, conn, in, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\no")
			})
			tr, _ := newTransport(t, addr)
			_, body, err := fetch(t, tr, test.method, "")
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("error %v, want %q", err, test.fails)
				}
				return
			}
			if err != nil || body != test.body {
				t.Fatalf("%q, %v", body, err)
			}
			want := "n"
			if test.reused {
				want = "o"
			}
			if _, body, err := fetch(t, tr, "GET", ""); err != nil || body != want {
				t.Errorf("the next call had %q, %v; want %q", body, err, want)
			}
		})
	}
}

// TestBytesOneByOne: however the response is cut, it is the same.
func TestBytesOneByOne(t *testing.T) {
	const text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\nT: u\r\n\r\n"
	addr := script(t, func(_ int, conn net.Conn, in *bufio.Reader) {
		if !answer(t, conn, in, "") {
			return
		}
		for i := range len(text) {
			if _, err := conn.Write([]byte{text[i]}); err != nil {
				t.Error(err)
			}
		}
	})
	tr, _ := newTransport(t, addr)
	res, body, err := fetch(t, tr, "POST", "x")
	if err != nil || body != "abcd" || res.Header.Get("A") != "b" || res.Trailer.Get("T") != "u" {
		t.Errorf("%q, %v, %v", body, err, res)
	}
}

// TestStaleConnection: the server has closed a kept connection before the next
// call, or just when it comes.
func TestStaleConnection(t *testing.T) {
	t.Run("seen", func(t *testing.T) {
		closed := make(chan struct{})
		addr := script(t, func(n int, conn net.Conn, in *bufio.Reader) {
			answer(t, conn, in, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			_ = conn.Close()
			if n == 0 {
				close(closed)
			}
		})
		tr, dials := newTransport(t, addr)
		if _, _, err := fetch(t, tr, "POST", "a"); err != nil {
			t.Fatal(err)
		}
		<-closed
		time.Sleep(2 * restTime) // after which a connection is looked at
		if _, _, err := fetch(t, tr, "POST", "b"); err != nil || dials.Load() != 2 {
			t.Errorf("%v, %d connections", err, dials.Load())
		}
	})
	for _, test := range []struct {
		method string
		key    string
		fails  bool
	}{{"POST", "", true}, {"GET", "", false}, {"POST", "k", false}} {
		t.Run("unseen "+test.method+test.key, func(t *testing.T) {
			addr := script(t, func(n int, conn net.Conn, in *bufio.Reader) {
				if answer(t, conn, in, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") && n == 0 {
					answer(t, conn, in, "") // the second request is read, and nothing comes
				}
			})
			tr, _ := newTransport(t, addr)
			if _, _, err := fetch(t, tr, "GET", ""); err != nil {
				t.Fatal(err)
			}
			r := request(t, t.Context(), test.method, "b")
			if test.key != "" {
				r.Header["Idempotency-Key"] = []string{test.key}
			}
			res, err := tr.RoundTrip(r)
			if (err != nil) != test.fails {
				t.Errorf("%v, %v", res, err)
			}
		})
	}
}

// TestEarlyAnswer: a server that answers before it has read the body is heard.
func TestEarlyAnswer(t *testing.T) {
	done := make(chan struct{})
	addr := script(t, func(_ int, conn net.Conn, in *bufio.Reader) {
		if _, err := in.ReadString('\n'); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"); err != nil {
			t.Error(err)
		}
		<-done // without reading more: closing would reset the connection
	})
	defer close(done)
	tr, _ := newTransport(t, addr)
	res, body, err := fetch(t, tr, "POST", strings.Repeat("x", 32<<20))
	if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge || body != "no" {
		t.Errorf("%v, %q, %v", res, body, err)
	}
}

// TestCancel: the end of a call's context ends it at each point, and so does
// Close.
func TestCancel(t *testing.T) {
	for _, text := range []string{"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"} {
		for _, closing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%.20q %v", text, closing), func(t *testing.T) {
				arrived, done := make(chan struct{}), make(chan struct{})
				addr := script(t, func(_ int, conn net.Conn, in *bufio.Reader) {
					answer(t, conn, in, text)
					close(arrived)
					<-done
				})
				defer close(done)
				tr, _ := newTransport(t, addr)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					<-arrived
					if closing {
						tr.Close()
					} else {
						cancel()
					}
				}()
				res, err := tr.RoundTrip(request(t, ctx, "POST", "x"))
				if err == nil {
					_, err = io.ReadAll(res.Body)
				}
				want := context.Canceled
				if closing {
					want = ErrClosed
				}
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			})
		}
	}
}

func TestClosedTransport(t *testing.T) {
	tr, dials := newTransport(t, "127.0.0.1:1")
	tr.Close()
	if _, _, err := fetch(t, tr, "GET", ""); !errors.Is(err, ErrClosed) || dials.Load() != 0 {
		t.Errorf("%v, %d connections", err, dials.Load())
	}
}

// TestReaped: idle connections go.
func TestReaped(t *testing.T) {
	gone := make(chan struct{})
	addr := script(t, func(_ int, conn net.Conn, in *bufio.Reader) {
		answer(t, conn, in, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		if _, err := in.ReadByte(); err != io.EOF {
			t.Error(err)
		}
		close(gone)
	})
	tr, _ := newTransport(t, addr)
	tr.IdleTimeout = 5 * time.Millisecond
	if _, _, err := fetch(t, tr, "GET", ""); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("an idle connection was not closed")
	}
}

func TestPerCall(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !r.Close {
			t.Error("the request does not say that its connection is its own")
		}
	}))
	defer srv.Close()
	tr, dials := newTransport(t, srv.Listener.Addr().String())
	tr.MaxIdle = 0
	for range 3 {
		if _, _, err := fetch(t, tr, "POST", ""); err != nil {
			t.Fatal(err)
		}
	}
	if dials.Load() != 3 {
		t.Errorf("%d connections for 3 calls", dials.Load())
	}
}

func TestRefusedRequests(t *testing.T) {
	tr, _ := newTransport(t, "127.0.0.1:1")
	for name, change := range map[string]func(*http.Request){
		"method": func(r *http.Request) { r.Method = "A B" },
		"target": func(r *http.Request) { r.URL.Opaque = "/a b" },
		"host":   func(r *http.Request) { r.Host = "a\r\nb" },
		"name":   func(r *http.Request) { r.Header["A:"] = []string{""} },
		"value":  func(r *http.Request) { r.Header["A"] = []string{"a\nb"} },
		"length": func(r *http.Request) { r.ContentLength = -1 },
	} {
		r := request(t, t.Context(), "POST", "x")
		change(r)
		c := &conn{transport: tr}
		body, err := readBody(r)
		if err == nil {
			_, err = appendHead(nil, r, len(body), false)
		}
		if err == nil {
			t.Errorf("%s: %v was taken by %v", name, r, c)
		}
	}
}

// FuzzResponse: what this package reads as a response net/http reads as the
// same.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\nab"), "GET")
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\nab\r\n0\r\nT: u\r\n\r\n"), "POST")
	f.Add([]byte("HTTP/1.0 204\nA: b\n c\n\n"), "HEAD")
	f.Fuzz(func(t *testing.T, data []byte, method string) {
		c := &conn{Conn: &readConn{Reader: bytes.NewReader(data)}, transport: &Transport{MaxHead: 1 << 20, MaxIdle: 1}, in: make([]byte, 16)}
		r := &http.Request{Method: method}
		head, err := c.readHead()
		if err != nil {
			return
		}
		ours, err := c.response(r, head, true, nil, func() bool { return true })
		if err != nil {
			return
		}
		body, err := io.ReadAll(ours.Body)
		if err != nil {
			return
		}
		in := bufio.NewReader(bytes.NewReader(data))
		theirs, err := http.ReadResponse(in, r)
		for err == nil && theirs.StatusCode < 200 && theirs.StatusCode != http.StatusSwitchingProtocols {
			theirs, err = http.ReadResponse(in, r)
		}
		if err != nil || theirs.StatusCode == http.StatusSwitchingProtocols {
			return // it is stricter in places
		}
		want, err := io.ReadAll(theirs.Body)
		if err == nil && (theirs.StatusCode != ours.StatusCode || !bytes.Equal(want, body)) {
			t.Errorf("%d %q, net/http has %d %q", ours.StatusCode, body, theirs.StatusCode, want)
		}
	})
}

// A readConn is a connection that only reads.
type readConn struct {
	net.Conn
	io.Reader
}

func (c *readConn) Read(p []byte) (int, error)  { return c.Reader.Read(p) }
func (c *readConn) Close() error                { return nil }
func (c *readConn) SetDeadline(time.Time) error { return nil }
