package http1

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var discard = slog.New(slog.DiscardHandler)

// patience is for what happens at once unless something is wrong.
const patience = 20 * time.Second

// A fixture is a server on a loopback address.
type fixture struct {
	*Server
	t    testing.TB
	lis  net.Listener
	done sync.WaitGroup
}

func start(t testing.TB, cfg Config) *fixture {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = discard
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Server: New(cfg), t: t, lis: lis}
	f.done.Go(func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			f.done.Go(func() { f.ServeConn(conn) })
		}
	})
	t.Cleanup(func() {
		lis.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := f.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		f.done.Wait()
	})
	return f
}

func handle(t testing.TB, h http.HandlerFunc) *fixture {
	return start(t, Config{Handler: h})
}

// A client is the other end of a connection.
type client struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func (f *fixture) dial() *client {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.lis.Addr().String())
	if err != nil {
		f.t.Fatal(err)
	}
	return newClient(f.t, conn)
}

func newClient(t testing.TB, conn net.Conn) *client {
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &client{conn, t, bufio.NewReader(conn)}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, s); err != nil {
		c.t.Fatalf("sending %.80q: %v", s, err)
	}
}

// An answer is a response, read to its end.
type answer struct {
	*http.Response
	status int
	body   string
}

// receive reads the response to a request with the given method.
func (c *client) receive(method string) answer {
	c.t.Helper()
	res, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("body of a response of %d after %q: %v", res.StatusCode, body, err)
	}
	return answer{res, res.StatusCode, string(body)}
}

// ended checks that the server has closed the connection, with nothing before.
func (c *client) ended() {
	c.t.Helper()
	rest, err := io.ReadAll(c.r)
	if err != nil || len(rest) > 0 {
		c.t.Errorf("the connection is to be closed: read %q, %v", rest, err)
	}
}

// raw reads the rest of a connection as it is.
func (c *client) raw() string {
	c.t.Helper()
	rest, err := io.ReadAll(c.r)
	if err != nil {
		c.t.Errorf("reading to the end: %q, %v", rest, err)
	}
	return string(rest)
}

// tell is a handler that says what it was asked.
func tell(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %q", r.Method, r.RequestURI, body)
	if err != nil {
		fmt.Fprintf(w, " %v", err)
	}
}
