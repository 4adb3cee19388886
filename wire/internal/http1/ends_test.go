package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestPanics(t *testing.T) {
	for _, c := range []struct {
		name string
		p    any
		logs bool
	}{{"a panic", "secret", true}, {"an abort", http.ErrAbortHandler, false}} {
		var log syncBuffer
		f := start(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "held back")
			panic(c.p)
		})})
		client := f.dial()
		client.send("GET /here HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if got, err := io.ReadAll(client.r); err == nil && len(got) > 0 {
			t.Errorf("%s: got %q", c.name, got)
		}
		text := log.String()
		if logged := strings.Contains(text, "panic=secret") && strings.Contains(text, "GET /here") && strings.Contains(text, "ends_test.go"); logged != c.logs {
			t.Errorf("%s: log %q", c.name, text)
		}
	}
}

// The answer of a handler that ends its goroutine gets to the client.
func TestGoexit(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/answered" {
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, "last words")
		}
		runtime.Goexit()
	})
	c := f.dial()
	c.send("GET /answered HTTP/1.1\r\nHost: x\r\n\r\n")
	if r := c.receive("GET"); r.status != http.StatusTeapot || r.body != "last words" || !r.Close {
		t.Errorf("%d %q, close %v", r.status, r.body, r.Close)
	}
	c.ended()
	c = f.dial()
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	checkRefusal(t, c.receive("GET"), 500, "without an answer")
	c.ended()
}

func TestHijack(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			<-time.After(5 * tick) // a standby reads by now
		}
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if _, _, err := w.(http.Hijacker).Hijack(); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("again: %v", err)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("Write: %v", err)
		}
		if err := r.Context().Err(); err != nil {
			t.Errorf("the context: %v", err)
		}
		go func() {
			defer conn.Close()
			line, err := buffered.ReadString('\n')
			if err != nil {
				t.Errorf("%q, %v", line, err)
			}
			fmt.Fprintf(buffered, "echo %s", line)
			_ = buffered.Flush()
		}()
	})
	head := func(path, fields string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + fields + "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n"
	}
	for _, c := range []struct{ name, first, then string }{
		{"with the head", head("/", "") + "hello\n", ""},
		{"behind it", head("/", ""), "hello\n"},
		{"in two", head("/", "") + "hel", "lo\n"},
		{"with a standby", head("/late", "") + "hel", "lo\n"},
		{"in place of a body", head("/", "Content-Length: 6\r\n") + "hello\n", ""},
		{"in place of some of a body", head("/", "Content-Length: 7\r\n") + "hel", "lo\n"},
	} {
		client := f.dial()
		client.send(c.first)
		client.send(c.then)
		if got := client.raw(); got != "echo hello\n" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// A connection that was taken over holds no shutdown up.
func TestShutdownLeavesHijacked(t *testing.T) {
	taken := make(chan net.Conn, 1)
	f := handle(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
		}
		taken <- conn
	})
	c := f.dial()
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	conn := <-taken
	if err := f.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := conn.Write([]byte("still here")); err != nil {
		t.Error(err)
	}
	conn.Close()
	if got := c.raw(); got != "still here" {
		t.Errorf("%q", got)
	}
}

func TestClientGoesAway(t *testing.T) {
	for name, request := range map[string]string{
		"no body":             "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"a body that is read": "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		"an unread body":      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		"chunks":              strings.Replace(chunkedPost, " /", " /read", 1) + "1\r\na\r\n0\r\n\r\n",
		"more behind it":      "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\n",
		"much more behind it": "GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n" + strings.Repeat("x", 3900),
	} {
		running, ended := make(chan struct{}), make(chan error, 2)
		f := handle(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/next" {
				return
			}
			if r.URL.Path == "/read" {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
			}
			// Nothing stops it: the handler may be back before the context comes to it.
			context.AfterFunc(r.Context(), func() { ended <- r.Context().Err() })
			derived, cancel := context.WithCancel(r.Context())
			defer cancel()
			close(running)
			<-derived.Done()
			ended <- derived.Err()
		})
		c := f.dial()
		c.send(request)
		<-running
		c.Close()
		for range 2 {
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
			case <-time.After(patience):
				t.Fatalf("%s: the context did not end", name)
			}
		}
	}
}

// What comes while a handler runs is kept for the next request, and the standby
// does not get in the way of the one after.
func TestPipeliningBehindSlowHandlers(t *testing.T) {
	begun := make(chan struct{})
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			begun <- struct{}{}
			<-time.After(5 * tick)
		}
		if err := r.Context().Err(); err != nil {
			t.Error(err)
		}
		tell(w, r)
	})
	c := f.dial()
	for range 3 {
		c.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
		<-begun
		c.send("POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("y", 2000))
		if r := c.receive("GET"); r.body != `GET /slow ""` {
			t.Error(r.body)
		}
		c.send(strings.Repeat("y", 3000))
		if r := c.receive("POST"); r.body != fmt.Sprintf("POST /next %q", strings.Repeat("y", 5000)) {
			t.Error(r.body)
		}
	}
}

// The context ends with the handler, too.
func TestContextAfterTheHandler(t *testing.T) {
	contexts := make(chan context.Context, 1)
	c := handle(t, func(_ http.ResponseWriter, r *http.Request) { contexts <- r.Context() }).dial()
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	c.receive("GET")
	ctx := <-contexts
	<-ctx.Done()
	called := make(chan struct{})
	context.AfterFunc(ctx, func() { close(called) })
	<-called
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Error(ctx.Err())
	}
}

func TestShutdown(t *testing.T) {
	begun, finish := make(chan struct{}, 2), make(chan struct{})
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			begun <- struct{}{}
			<-finish
		}
		fmt.Fprint(w, "ok")
	})
	fresh, used, busy := f.dial(), f.dial(), f.dial()
	used.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	used.receive("GET")
	busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	down := make(chan error, 2)
	for range 2 {
		go func() { down <- f.Shutdown(t.Context()) }()
	}
	fresh.ended()
	used.ended()
	select {
	case err := <-down:
		t.Fatalf("Shutdown has not waited: %v", err)
	default:
	}
	close(finish)
	if r := busy.receive("GET"); r.body != "ok" || !r.Close {
		t.Errorf("%q, close %v", r.body, r.Close)
	}
	busy.ended()
	for range 2 {
		if err := <-down; err != nil {
			t.Error(err)
		}
	}
	one, other := net.Pipe()
	f.ServeConn(one) // refused
	if _, err := other.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a connection after Shutdown: %v", err)
	}
}

func TestShutdownCuts(t *testing.T) {
	begun := make(chan struct{})
	f := handle(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	})
	c := f.dial()
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes", n)
	}
}

// The preface of HTTP/2 goes to who speaks it, with nothing lost.
func TestHTTP2Preface(t *testing.T) {
	got := make(chan string, 1)
	f := start(t, Config{Handler: http.HandlerFunc(tell), HTTP2: func(conn net.Conn) {
		defer conn.Close()
		b, err := bufio.NewReader(conn).ReadString('!')
		if err != nil {
			t.Error(err)
		}
		got <- b
	}})
	c := f.dial()
	const sent = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nand more!"
	c.send(sent[:20])
	c.send(sent[20:])
	if b := <-got; b != sent {
		t.Errorf("%q", b)
	}
	// Only a connection begins with it.
	c = f.dial()
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n" + sent)
	c.receive("GET")
	checkRefusal(t, c.receive("PRI"), 505, "HTTP/2.0")
}
