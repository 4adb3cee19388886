package jsonrpc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/web"
)

// pipeListener accepts one connection.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// onHTTPPipe serves JSON-RPC over HTTP on one end of a pipe and returns the
// other; stop ends both.
func onHTTPPipe(t *testing.T, reg *everywire.Registry) (client net.Conn, stop func()) {
	t.Helper()
	srv, err := NewHTTPServer(serverConfig(reg, everywire.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	lis := &pipeListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	lis.conns <- server
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	return client, func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// A client that announces a body and does not send it is let go, whatever the
// server thinks of the request's head.
func TestHTTPBodyThatDoesNotCome(t *testing.T) {
	for name, head := range map[string]string{
		"good":       "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
		"other type": "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n",
		"other path": "POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
		"other verb": "PUT /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, stop := onHTTPPipe(t, newFixture().reg)
				defer stop()
				if _, err := io.WriteString(client, head+"Content-Length: 10\r\n\r\n{"); err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, client); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A handler may run for longer than a body may take to come in.
func TestHTTPSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := everywire.NewRegistry()
		everywire.Handle(reg, "t.Slow/Do", func(ctx context.Context, in *textMessage) (*textMessage, error) {
			select {
			case <-time.After(2 * web.BodyTimeout):
				return in, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		client, stop := onHTTPPipe(t, reg)
		defer stop()
		r := bufio.NewReader(client)
		for range 2 { // the connection is as good as before
			if _, err := io.WriteString(client, postJSON(`{"jsonrpc":"2.0","method":"t.Slow/Do","params":{"text":"x"},"id":1}`)); err != nil {
				t.Fatal(err)
			}
			wantBody(t, r, `{"jsonrpc":"2.0","result":{"text":"x"},"id":1}`)
		}
	})
}

func postJSON(body string, more ...string) string {
	return "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + strings.Join(more, "") +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
}

func wantBody(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != want {
		t.Errorf("got %d %s, %v, want %s", res.StatusCode, body, err, want)
	}
}

// What one reader takes for one request and another for two, or for another
// one, must not leave the connection open behind it.
func TestHTTPAmbiguousRequests(t *testing.T) {
	addr := serve(t, NewHTTPServer, serverConfig(newFixture().reg, everywire.Limits{}))
	const (
		typ     = "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		smuggle = "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n"
	)
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(sumRequestLine), sumRequestLine)
	for name, tc := range map[string]struct {
		send   string
		status int
	}{
		"length and chunks": {typ + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + "\r\n", 400},
		"two lengths":       {typ + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
		"two codings":       {typ + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", 400},
		"bad chunk size":    {typ + "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400},
		"HTTP/1.0":          {strings.Replace(postJSON(sumRequestLine), "HTTP/1.1", "HTTP/1.0", 1), 200},
		"two hosts":         {strings.Replace(postJSON(sumRequestLine), "Host: x\r\n", "Host: x\r\nHost: y\r\n", 1), 400},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, addr)
			c.send(tc.send + smuggle)
			res, err := http.ReadResponse(c.lines, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != tc.status {
				t.Errorf("got %d %s, %v, want %d", res.StatusCode, body, err, tc.status)
			}
			// A reset is an end too.
			if rest, _ := io.ReadAll(c.lines); len(rest) > 0 {
				t.Errorf("the server went on: %q", rest)
			}
		})
	}
}

// Where two values could be meant, none is.
func TestHTTPRepeatedHeaders(t *testing.T) {
	addr := serve(t, NewHTTPServer, serverConfig(newFixture().reg, everywire.Limits{}))
	for header, status := range map[string]int{
		"Grpc-Timeout: 1H\r\nGrpc-Timeout: 1n\r\n":           400,
		"Content-Type: text/plain\r\n":                       415,
		"Content-Encoding: br\r\nContent-Encoding: gzip\r\n": 415,
	} {
		c := dialRaw(t, addr)
		c.send(postJSON(sumRequestLine, header))
		res, err := http.ReadResponse(c.lines, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != status {
			t.Errorf("%q: got %d, want %d", header, res.StatusCode, status)
		}
	}
}

// Requests that come in ways which net/http supports, and ours must not break.
func TestHTTPForms(t *testing.T) {
	addr := serve(t, NewHTTPServer, serverConfig(newFixture().reg, everywire.Limits{}))
	const sum = `{"jsonrpc":"2.0","result":41,"id":1}`
	t.Run("pipelined", func(t *testing.T) {
		c := dialRaw(t, addr)
		c.send(strings.Repeat(postJSON(sumRequestLine), 10))
		for range 10 {
			wantBody(t, c.lines, sum)
		}
	})
	t.Run("absolute", func(t *testing.T) {
		c := dialRaw(t, addr)
		c.send(strings.Replace(postJSON(sumRequestLine), "/rpc", "http://other.example/rpc", 1))
		wantBody(t, c.lines, sum)
	})
	t.Run("expect", func(t *testing.T) {
		c := dialRaw(t, addr)
		head, body, _ := strings.Cut(postJSON(sumRequestLine, "Expect: 100-continue\r\n"), "\r\n\r\n")
		c.send(head + "\r\n\r\n")
		for _, want := range []string{"HTTP/1.1 100 Continue\r", "\r"} {
			c.wantLine(want)
		}
		c.send(body)
		wantBody(t, c.lines, sum)
	})
	t.Run("expect, refused", func(t *testing.T) {
		c := dialRaw(t, addr)
		c.send("POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
		res, err := http.ReadResponse(c.lines, nil)
		if err != nil || res.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("byte by byte", func(t *testing.T) {
		c := dialRaw(t, addr)
		for _, b := range []byte(postJSON(sumRequestLine)) {
			c.send(string(rune(b)))
		}
		wantBody(t, c.lines, sum)
	})
}
